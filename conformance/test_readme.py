"""The README's service of one's own: its files in an empty folder, and the commands beside them, as they stand there.

Left out is what only fetches what the tests have already, as languages/NAME.toml says."""

from __future__ import annotations

import re
import shutil
import tempfile
import unittest
from pathlib import Path

from harness import languages
from harness.languages import ROOT, Language
from harness.processes import run

from .languages import LANGUAGES

FILES = ROOT / "examples" / "hello"


def commands(language: Language, newcomer: languages.Newcomer) -> str:
    """The block of commands behind the words that begin with the language's name."""
    section = (ROOT / "README.md").read_text(encoding="utf-8").split(f"**{language.name}.**", 1)[1]
    block = re.search(r"^```sh\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)
    assert block
    lines = [line for line in block[1].splitlines() if not re.search(newcomer.without, line)]
    text = "\n".join(lines).replace("REPOSITORY/", f"{ROOT}/")
    for word, instead in newcomer.instead.items():
        text = text.replace(word, instead.replace("{root}", str(ROOT)))
    return text


class Newcomer(unittest.TestCase):
    def test_the_lines_for_a_language_give_a_service_that_answers(self) -> None:
        for key, language in LANGUAGES.items():
            if language.newcomer:
                with self.subTest(key), tempfile.TemporaryDirectory() as folder:
                    self.check(Path(folder), language, language.newcomer)

    def check(self, folder: Path, language: Language, newcomer: languages.Newcomer) -> None:
        tools = folder / "bin"
        tools.mkdir()
        for name in ("greeter.proto", *newcomer.files):
            shutil.copy(FILES / name, folder)
        variables = languages.environment() | {"TOOLS": str(tools)}
        variables["PATH"] = f"{tools}:{variables['PATH']}"
        for step in newcomer.before:
            self.run_all(language.words(step.command), ROOT, variables)
        out = self.run_all(("sh", "-e", "-c", commands(language, newcomer)), folder, variables)
        self.assertEqual(out.splitlines(), list(newcomer.answers))

    def run_all(self, words: languages.Words, folder: Path, variables: dict[str, str]) -> str:
        done = run(words, cwd=folder, env=variables, patience=600)
        self.assertEqual(done.status, 0, done.stdout + done.stderr)
        return done.stdout


if __name__ == "__main__":
    unittest.main()
