"""The README's service of one's own: its files in an empty folder, and the commands beside them, as they stand there.

Left out is what only fetches what the tests have already, as languages/NAME.toml says."""

from __future__ import annotations

import re
import shutil
import tempfile
import unittest
from dataclasses import replace
from pathlib import Path

from harness import languages
from harness.languages import ROOT, Language, Step
from harness.processes import plain, run

from .languages import HUB, LANGUAGES, each_language

FILES = ROOT / "examples" / "hello"


def commands(language: Language, newcomer: languages.Newcomer) -> str:
    """The block of commands behind the words that begin with the language's name."""
    section = (ROOT / "README.md").read_text(encoding="utf-8").partition(f"**{language.name}.**")[2]
    block = re.search(r"^```sh\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)
    assert block, f"README.md has no commands behind **{language.name}.**"
    lines = [line for line in block[1].splitlines() if not re.search(newcomer.without, line)]
    text = "\n".join(lines).replace("REPOSITORY/", f"{ROOT}/")
    for word, instead in newcomer.instead.items():
        text = text.replace(word, instead.replace("{root}", str(ROOT)))
    return text


class InAnEmptyFolder(unittest.TestCase):
    def check(self, folder: Path, language: Language, newcomer: languages.Newcomer) -> None:
        tools = folder / "bin"
        tools.mkdir()
        for name in ("greeter.proto", *newcomer.files):
            shutil.copy(FILES / name, folder)
        own = {"TOOLS": str(tools), "PATH": f"{tools}:{languages.environment()['PATH']}"}
        for step in newcomer.before:
            for where in step.folders:
                self.run_all(language.words(step.command), ROOT / where, languages.environment(step) | own)
        out = self.run_all(("sh", "-e", "-c", commands(language, newcomer)), folder, languages.environment() | own)
        self.assertEqual(out.splitlines(), list(newcomer.answers))

    def run_all(self, words: languages.Words, folder: Path, variables: dict[str, str]) -> str:
        done = run(words, cwd=folder, env=variables, patience=600)
        self.assertEqual(done.status, 0, done.stdout + done.stderr)
        return plain(done.stdout)


@each_language([key for key, language in LANGUAGES.items() if language.newcomer])
class Newcomer(InAnEmptyFolder):
    language: str

    def test_the_lines_for_a_language_give_a_service_that_answers(self) -> None:
        language = LANGUAGES[self.language]
        assert language.newcomer
        with tempfile.TemporaryDirectory() as folder:
            self.check(Path(folder), language, language.newcomer)


class Commands(InAnEmptyFolder):
    def test_what_comes_before_has_its_folders_and_variables(self) -> None:
        step = Step(("sh", "-c", 'echo "$WORD" >"$TOOLS/${PWD##*/}"'), ("conformance", "spec"), {"WORD": "{root}/x"})
        newcomer = languages.Newcomer(files=(), answers=(), without="", before=(step,))
        with tempfile.TemporaryDirectory() as folder:
            self.check(Path(folder), LANGUAGES[HUB], newcomer)
            for name in step.folders:
                self.assertEqual((Path(folder) / "bin" / name).read_text(encoding="utf-8"), f"{ROOT}/x\n")

    def test_a_language_that_the_readme_does_not_have_is_told(self) -> None:
        with self.assertRaisesRegex(AssertionError, r"README.md has no commands behind \*\*Ada\.\*\*"):
            commands(replace(LANGUAGES[HUB], name="Ada"), languages.Newcomer(files=(), answers=()))


if __name__ == "__main__":
    unittest.main()
