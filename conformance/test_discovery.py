"""The example of discovery: servers in all languages, found through each registry and restarted in turn while clients
in all languages call them. No call fails, each is executed once, and each server answers each client before its restart
and after."""

from __future__ import annotations

import re
import signal
import sys
import tempfile
import time
import unittest
from pathlib import Path

from harness import registries
from harness.languages import ROOT
from harness.prerequisites import here
from harness.processes import Outcome, Process, is_listening, run
from harness.tests import fake_language

RUN = (sys.executable, str(ROOT / "examples" / "discovery" / "run.py"))
PATIENCE = 300.0
GONE = 60.0  # seconds within which what was made for a run that was killed is gone
LANGUAGES = [language for language in here().values() if language.discovery]


def shown(*words: str) -> Outcome:
    return run([*RUN, *words], patience=PATIENCE)


class Discovery(unittest.TestCase):
    def no_call_fails_in(self, registry: str) -> None:
        if registry in registries.SERVERS and (why := registries.missing(registry)):
            self.skipTest(f"{registry} is left out: {why}")
        done = shown(registry)
        self.assertEqual((done.status, done.stderr), (0, ""), done.stdout)
        rows = re.findall(r"(?m)^ *by (\w+-\d)((?: +[\d,]+)+)$", done.stdout)
        names = [f"{language.key}-{start}" for language in LANGUAGES for start in (1, 2)]
        self.assertEqual([name for name, _ in rows], names, done.stdout)
        for name, counts in rows:
            calls = [int(count.replace(",", "")) for count in counts.split()]
            self.assertEqual(len(calls), len(LANGUAGES), name)
            self.assertGreater(min(calls), 0, name)
        self.assertRegex(done.stdout, r"none of [\d,]+ calls failed, and each was executed once\n$")

    def test_in_the_embedded_registry(self) -> None:
        self.no_call_fails_in("trunkcall")

    def test_in_a_folder(self) -> None:
        self.no_call_fails_in("file")

    def test_in_etcd(self) -> None:
        self.no_call_fails_in("etcd")

    def test_in_zookeeper(self) -> None:
        self.no_call_fails_in("zookeeper")

    def test_in_consul(self) -> None:
        self.no_call_fails_in("consul")

    def test_in_keys_of_consul(self) -> None:
        self.no_call_fails_in("consul-keys")


class BadUse(unittest.TestCase):
    def test_a_registry_that_there_is_not(self) -> None:
        done = shown("nowhere")
        self.assertEqual((done.status, done.stdout), (2, ""))
        self.assertIn("there is no registry 'nowhere'; there are trunkcall, file, etcd", done.stderr)

    def test_a_scheme_that_there_is_not(self) -> None:
        """The programs say it."""
        done = shown("nowhere:127.0.0.1:1")
        self.assertEqual(done.status, 1, done)
        self.assertIn('registry "nowhere:127.0.0.1:1": ', done.stderr)

    def test_a_registry_that_cannot_be_reached(self) -> None:
        done = shown("trunkcall:127.0.0.1:1")
        self.assertEqual(done.status, 1, done)
        self.assertIn("cannot be published in trunkcall:127.0.0.1:1: ", done.stderr)

    def test_a_program_that_is_not_there(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            done = run(RUN, env=fake_language.add(Path(folder)), patience=PATIENCE)
        self.assertEqual((done.status, done.stdout), (1, ""))
        self.assertEqual(done.stderr, f"{folder}/ada/discovery is not there: `make discovery` builds it\n")


class Interrupted(unittest.TestCase):
    def test_everything_that_was_started_ends(self) -> None:
        with Process([*RUN, "trunkcall"]) as process:
            addresses = [process.line(PATIENCE).partition(": ")[0].removeprefix("trunkcall:")]
            while len(addresses) <= len(LANGUAGES):
                addresses.append(process.line(PATIENCE).rpartition(" ")[2])
            process.signal(signal.SIGINT)
            done = process.finish(PATIENCE)
        self.assertEqual((done.status, done.stderr), (128 + signal.SIGINT, ""))
        self.assertEqual([address for address in addresses if is_listening(address)], [])

    def test_the_folder_goes_with_whoever_made_it(self) -> None:
        with Process([*RUN, "file"]) as process:
            folder = Path(process.line(PATIENCE).partition(": ")[0].removeprefix("file:"))
            self.assertTrue(folder.is_dir())
            process.kill()
        deadline = time.monotonic() + GONE
        while folder.exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        self.assertFalse(folder.exists())


if __name__ == "__main__":
    unittest.main()
