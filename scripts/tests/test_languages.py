"""The files of languages: what is wrong with one is told with the file and the key."""

import json
import os
import re
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from harness import languages as module
from harness import prerequisites, processes
from harness.languages import ROOT, Prerequisite, Wrong, languages, named

GOOD = """
name = "Ada"
folder = "ada"
hub = true
[peer]
program = ["build/peer-ada"]
[lacks.suites]
production = "there is no example"
discovery = "there is no example of that either"
newcomer = "the README has no lines"
random-sessions = "there is no program"
random-policies = "there is no program"
connect-server = "there is no HTTP"
h2spec = "there is no HTTP"
interop = "there are no stubs of gRPC"
"""


class Folder(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def write(self, text: str, name: str = "ada") -> None:
        (self.folder / f"{name}.toml").write_text(text, encoding="utf-8")

    def read(self) -> dict[str, module.Language]:
        module.load.cache_clear()
        with mock.patch.dict(os.environ, TRUNKCALL_LANGUAGES=str(self.folder)):
            return languages()


class Files(Folder):
    def assert_wrong(self, text: str, *words: str) -> None:
        self.write(text)
        with self.assertRaises(Wrong) as caught:
            self.read()
        for word in (str(self.folder), *words):
            self.assertIn(word, str(caught.exception))

    def test_a_language_is_called_by_its_file(self) -> None:
        self.write(GOOD)
        (ada,) = self.read().values()
        self.assertEqual((ada.key, ada.name, ada.program), ("ada", "Ada", (str(ROOT / "build/peer-ada"),)))
        self.assertEqual(ada.peer.protocols, ("native",))

    def test_a_key_that_there_is_not(self) -> None:
        self.assert_wrong(GOOD.replace("hub", "hubb"), "ada.toml", "hubb: there is no such key", "hub")
        self.assert_wrong(GOOD.replace("program", "programs"), "ada.toml", "peer.programs: there is no such key")
        self.assert_wrong(GOOD + '[[checks]]\nname = "x"\ncomand = []', "checks[0].comand")

    def test_a_key_that_is_missing(self) -> None:
        self.assert_wrong(GOOD.replace('name = "Ada"', ""), "ada.toml", "name is missing")
        self.assert_wrong(GOOD + '[[tests]]\nname = "x"\ncommand = ["x"]', "tests[0].result is missing")

    def test_a_value_of_another_type(self) -> None:
        self.assert_wrong(GOOD.replace('"Ada"', "7"), "ada.toml", "name has to be a text, and is 7")
        self.assert_wrong(GOOD.replace("hub = true", 'hub = "yes"'), "hub has to be true or false")
        self.assert_wrong(GOOD.replace('["build/peer-ada"]', '"build/peer-ada"'), "peer.program has to be a list")
        self.assert_wrong(GOOD.replace('["build/peer-ada"]', '["x", 1]'), "peer.program[1] has to be a text")
        self.assert_wrong("peer = 1\n" + GOOD.partition("[peer]")[0], "peer has to be a table")
        self.assert_wrong(GOOD.replace('"there is no example"', "true"), "lacks.suites.production has to be a text")

    def test_a_value_that_means_nothing(self) -> None:
        self.assert_wrong(GOOD.replace('["build/peer-ada"]', '["x"]\ntransports = ["quic"]'), "peer.transports", "'quic'")
        self.assert_wrong(GOOD + 'dance = "why"', "lacks.suites", "'dance'", "faults")
        self.assert_wrong(GOOD + '[lacks.connect]\nput = "why"', "lacks.connect has 'put'", "half-duplex")
        self.assert_wrong(GOOD + '[fails.faults]\nx = "why"', "fails has 'faults'", "h2spec")
        for side in ("client", "server"):
            self.assert_wrong(GOOD + f'[lacks.{side}]\nzsdt = "why"', f"lacks.{side} has 'zsdt'", "zstd")
        self.assert_wrong(GOOD + '[[tests]]\nname = "x"\ncommand = ["x"]\nresult = "tap"', "tests[0].result", "'tap'")
        self.assert_wrong(GOOD + '[[checks]]\nname = "x"\ncommand = []', "checks[0].command is empty")

    def test_a_name_that_is_there_twice(self) -> None:
        check = '[[checks]]\nname = "x"\ncommand = ["x"]\n'
        self.assert_wrong(GOOD + check + check, "ada.toml", "checks: x is there twice")

    def test_what_is_not_there_has_a_reason(self) -> None:
        self.assert_wrong(GOOD.replace("production", "faults"), "production has to be there, or lacks.suites.production")

    def test_what_is_made_of_files_names_both(self) -> None:
        build = '[[build]]\npart = "x"\ncommand = ["x"]\n'
        for key in ("inputs", "outputs"):
            self.assert_wrong(GOOD + build + f'{key} = ["x"]', "build[0].inputs and outputs have to be there both")

    def test_what_was_made_is_no_source(self) -> None:
        self.write(GOOD.replace("hub", 'clean = ["conformance/faults"]\nhub'))
        (ada,) = self.read().values()
        found = ada.files(("conformance/**/kit.py", "conformance/**/schemas.py"))
        self.assertEqual(found, [ROOT / "conformance/schemas.py"])

    def test_cases_of_grpc_are_unit_tests_of_that_name_or_lacking(self) -> None:
        lacking = 'interop = "there are no stubs of gRPC"\n'
        row = '[[tests]]\nname = "interop"\ncommand = ["x"]\nresult = "go-json"\n'
        for text in (GOOD.replace(lacking, ""), GOOD + row):
            self.assert_wrong(text, "interop has to be there, or lacks.suites.interop with the reason, and not both")
        self.write(GOOD.replace(lacking, "") + row)
        self.assertIn("ada", self.read())

    def test_results_of_junit_are_written_somewhere(self) -> None:
        for more in ('command = ["x"]', 'command = ["x", "{junit}"]\nresult = "go-json"', 'command = ["x"]\nreports = ["x"]\nresult = "go-json"'):
            result = "" if "result" in more else '\nresult = "junit"'
            self.assert_wrong(GOOD + f'[[tests]]\nname = "x"\n{more}{result}', "tests[0].{junit} in the command, or reports")

    def test_who_speaks_one_protocol_has_no_part_in_what_asks_for_others(self) -> None:
        for suite in ("h2spec", "connect-server"):
            text = GOOD.replace(f'{suite} = "there is no HTTP"\n', "")
            self.assert_wrong(text, f"peer.protocols has none that {suite} asks for: lacks.suites.{suite} has to be there")
            self.write(text.replace("]\n[lacks", ']\nprotocols = ["native", "connect"]\n[lacks'))
            self.assertIn("ada", self.read())

    def test_a_file_that_is_no_toml(self) -> None:
        self.assert_wrong(GOOD + "[", "ada.toml")

    def test_one_language_is_the_hub(self) -> None:
        self.assert_wrong(GOOD.replace("true", "false"), "hub", "no file")
        self.write(GOOD, "bob")
        self.assert_wrong(GOOD, "ada, bob")

    def test_the_name_of_a_file_is_a_word(self) -> None:
        self.write(GOOD, "Ada-2")
        self.assert_wrong(GOOD, "Ada-2")

    def test_a_language_that_there_is_not(self) -> None:
        with self.assertRaisesRegex(Wrong, "no language cobol; there are go"):
            named("cobol")


    def test_the_one_that_the_readme_has_is_right(self) -> None:
        readme = (ROOT / "languages/README.md").read_text(encoding="utf-8")
        (example,) = re.findall(r"^```toml\n(.*?)^```$", readme, re.MULTILINE | re.DOTALL)
        self.write("hub = true\n" + example, "java")
        self.assertEqual(self.read()["java"].name, "Java")


class Variables(Folder):
    def found(self, table: str, **before: str) -> dict[str, str]:
        self.write(GOOD + table)
        module.load.cache_clear()
        whole = {"TRUNKCALL_LANGUAGES": str(self.folder), "HOME": str(self.folder)} | before
        with mock.patch.dict(os.environ, whole, clear=True):
            return module.environment()

    def test_what_languages_set(self) -> None:
        found = self.found('[variables]\nA = "{root}/x"\nB = ""\nC = "{C} -new"', B="old", C="-old", D="kept")
        self.assertEqual((found["A"], found["C"], found["D"]), (f"{ROOT}/x", "-old -new", "kept"))
        self.assertNotIn("B", found)

    def test_what_is_added_is_added_once(self) -> None:
        self.assertEqual(self.found('[variables]\nC = "{C} -new"', C="-old -new")["C"], "-old -new")

    def test_caches_without_a_home(self) -> None:
        table = '[without_home]\nCACHE = "{root}/build/.cache/x"\n'
        self.assertNotIn("CACHE", self.found(table))
        self.assertEqual(self.found(table, HOME="/there/is/none")["CACHE"], f"{ROOT}/build/.cache/x")
        self.assertEqual(self.found(table, HOME="", CACHE="")["CACHE"], f"{ROOT}/build/.cache/x")
        self.assertEqual(self.found(table, HOME="", CACHE="mine")["CACHE"], "mine")


class Commands(Folder):
    def test_the_first_word_is_a_file_or_a_command(self) -> None:
        self.write(GOOD + '[[prerequisites]]\nwhat = "Ada"\ncommand = "gnat"\nvariable = "GNAT"\n')
        ada = self.read()["ada"]
        with mock.patch.dict(os.environ, GNAT="gnat-13"):
            self.assertEqual(ada.words(("gnat", "make")), ("gnat-13", "make"))
            self.assertEqual(ada.words(("sh", "gnat")), ("sh", "gnat"))
        with mock.patch.dict(os.environ, GNAT=""):
            self.assertEqual(ada.words(("gnat", "make")), ("gnat", "make"))
        self.assertEqual(ada.words(("build/tool", "--at={root}/x")), (str(ROOT / "build/tool"), f"--at={ROOT}/x"))


class Prerequisites(unittest.TestCase):
    def lacks(self, said: str, least: str = "", status: int = 0) -> str:
        one = Prerequisite("Ada", "sh", ("-c", f"echo {said}; exit {status}"), least=least)
        return prerequisites.lacks(one, "sh")

    def test_versions_are_compared_by_number(self) -> None:
        self.assertEqual(self.lacks("go1.26.3", "1.26"), "")
        self.assertEqual(self.lacks("javac 17", "17"), "")
        self.assertEqual(self.lacks("v20.1.0", "9.9"), "")
        self.assertEqual(self.lacks("go1.9", "1.10"), "Ada 1.10 or later: sh is go1.9")
        self.assertEqual(self.lacks("nothing", "1"), "Ada 1 or later: sh is nothing")

    def test_what_a_machine_of_java_says_of_its_options_is_no_version(self) -> None:
        picked = "Picked up JAVA_TOOL_OPTIONS: -Xmx512m"
        self.assertEqual(self.lacks(f"{picked} >&2; echo javac 17.0.15", "17"), "")
        self.assertEqual(self.lacks(f"{picked} >&2; echo openjdk version 17 >&2", "17"), "")
        self.assertEqual(self.lacks(f"{picked} >&2; echo javac 11.0.2", "17"), "Ada 17 or later: sh is javac 11.0.2")

    def test_colours_of_what_a_tool_says_are_no_version(self) -> None:
        coloured = r"printf '\033[1mApache Maven 3.8.7\033[m\nHome: /usr\n\033[0m'"
        self.assertEqual(self.lacks(f"; {coloured}", "3.8"), "")
        self.assertEqual(
            self.lacks(f"; {coloured}", "3.9"), "Ada 3.9 or later: sh is Apache Maven 3.8.7\nHome: /usr"
        )

    def test_one_that_does_not_answer_is_told(self) -> None:
        one = Prerequisite("Ada", "sh", ("-c", "sleep 1000"))
        with mock.patch.object(prerequisites, "PATIENCE", 1.0):
            self.assertIn("Ada: sh", prerequisites.lacks(one, "sh"))

    def test_a_command_that_is_not_there_or_fails(self) -> None:
        one = Prerequisite("Ada", "no-such-command")
        self.assertEqual(prerequisites.lacks(one, one.command), "Ada: the command no-such-command is not there")
        self.assertEqual(self.lacks("broken", status=1), "Ada: sh says broken")


class Here(unittest.TestCase):
    """The languages of this tree."""

    def setUp(self) -> None:
        module.load.cache_clear()

    def test_go_is_as_old_as_its_module_allows(self) -> None:
        (least,) = (one.least for one in named("go").prerequisites if one.command == "go")
        self.assertEqual(re.findall(r"^go (\S+)$", (ROOT / "go/go.mod").read_text(encoding="utf-8"), re.MULTILINE), [least])

    def test_needs_are_those_of_the_cases(self) -> None:
        schema = json.loads((ROOT / "conformance/cases/schema.json").read_text(encoding="utf-8"))
        (needs,) = re.findall(r"'needs': {.*?'enum': \[(.*?)\]", str(schema))
        self.assertEqual(sorted(module.NEEDS), sorted(re.findall(r"[\w-]+", needs)))

    def test_gofmt_is_that_of_the_go_that_is_named(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            for name, text in (("go", f"echo {folder}"), ("bin/gofmt", 'echo formats "$@"')):
                path = Path(folder) / name
                path.parent.mkdir(exist_ok=True)
                path.write_text(f"#!/bin/sh\n{text}\n", encoding="ascii")
                path.chmod(0o755)
            go = named("go")
            for step in (*go.format, *(row for row in go.checks if row.name == "gofmt")):
                with mock.patch.dict(os.environ, GO=f"{folder}/go"):
                    done = processes.run(go.words(step.command), cwd=ROOT)
                self.assertRegex(done.stdout, "^formats -[wl] go ")

    def test_what_they_name_is_there(self) -> None:
        for language in languages().values():
            steps = [*language.checks, *language.tests, *language.format, *language.lint, *language.generate]
            for folder in [language.folder, *(folder for step in steps for folder in step.folders)]:
                self.assertTrue((ROOT / folder).is_dir(), f"{language.key}: {folder}")
            for pattern in (*language.sources, *language.test_sources):
                self.assertTrue(any(ROOT.glob(pattern)), f"{language.key}: {pattern}")

    def test_make_in_the_folder_of_a_language_is_for_it_alone(self) -> None:
        for key, language in languages().items():
            for target in ("build", "test", "lint", "fmt"):
                planned = processes.run(["make", "-C", ROOT / language.folder, "--dry-run", target]).stdout
                self.assertRegex(planned, rf"(--only|prerequisites.sh( --tests)?) {key}\b", f"{language.folder}: {target}")


if __name__ == "__main__":
    unittest.main()
