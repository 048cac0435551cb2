import tempfile
import unittest
from pathlib import Path

from lab.runner import targets
from lab.runner.campaign import commands, runs_and_seconds
from lab.runner.config import ConfigError, compared, load

LAB = Path(__file__).resolve().parents[1]
HEAD = """
[run]
duration = "2s"
quick_duration = "500ms"
warmup = "250ms"
[participant.a]
program = "build/a"
serve = ["--codec", "x"]
[participant.b]
server = ["java", "-jar", "b.jar"]
client = "build/b"
bench = ["--tuned"]
"""
TOOLS = '[tools]\ndelay = "build/delay"\ncertificate = "build/certificate"\n'
ROW = '[[row]]\nname = "r"\nsubject = "a"\npeers = ["b"]\n'


def loaded(text, **options):
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "some.toml"
        path.write_text(text, encoding="utf-8")
        return load(path, **options)


class Targets(unittest.TestCase):
    def test_every_row_that_answers_a_target_is_there_with_a_must(self):
        known = {}
        for name in ("go.toml", "distance.toml", "python.toml", "java.toml"):
            known |= {(name, case.name): case for case in load(LAB / name, brief=True).cases}
        for line in (line for each in targets.load(LAB / "targets.toml") for line in each.lines):
            for row in line.rows:
                with self.subTest(row=row):
                    self.assertTrue(any(check.must is not None for check in known[row].checks))


class Reading(unittest.TestCase):
    def test_a_varied_row_is_a_case_for_each_value(self):
        config = loaded(HEAD + ROW + 'vary = { flag = "--callers", values = [1, 20] }\n')
        self.assertEqual([case.name for case in config.cases], ["r/1", "r/20"])
        self.assertEqual(config.cases[1].bench, ["--callers", "20"])

    def test_an_open_row_is_a_case_for_each_fraction(self):
        config = loaded(HEAD + ROW + 'kind = "open"\n')
        self.assertEqual([case.name for case in config.cases], ["r/30", "r/50", "r/70"])

    def test_a_far_row_is_a_case_for_each_delay_named_by_the_round_trip(self):
        text = HEAD + TOOLS + ROW + 'delay = ["5ms", "100ms"]\nquick_delay = ["100ms"]\njitter = "1ms"\nrate = 1000\n'
        cases = loaded(text).cases
        self.assertEqual([(case.name, case.delay) for case in cases], [("r/10ms", 0.005), ("r/200ms", 0.1)])
        self.assertEqual((cases[0].jitter, cases[0].bandwidth, cases[0].tools()), (0.001, 1000, ["delay"]))
        self.assertEqual([case.name for case in loaded(text, quick=True).cases], ["r/200ms"])
        self.assertEqual(loaded(HEAD + TOOLS + ROW + 'delay = "7ms"\n').cases[0].delay, 0.007)

    def test_quick_keeps_the_peers_and_the_warm_up_that_it_is_told(self):
        text = HEAD.replace("[participant.b]", '[participant.c]\nprogram = "build/c"\n[participant.b]')
        text += ROW.replace('["b"]', '["b", "c"]') + 'quick_peers = ["c"]\nquick_warmup = "3s"\n'
        self.assertEqual((loaded(text).cases[0].peers, loaded(text).cases[0].warmup), (["b", "c"], 0.25))
        quick = loaded(text, quick=True).cases[0]
        self.assertEqual((quick.peers, quick.warmup), (["c"], 3.0))

    def test_brief_is_short_and_keeps_the_peers_that_its_targets_need(self):
        text = HEAD.replace("[participant.b]", '[participant.c]\nprogram = "build/c"\n[participant.b]')
        row = ROW.replace('["b"]', '["b", "c"]')
        check = 'check = [{ metric = "rate", against = "c", must = 1 }]\n'
        for more, peers in ((check, ["b", "c"]), ('brief_peers = ["c"]\n', ["c"]), ("", ["b"])):
            case = loaded(text + row + more, brief=True).cases[0]
            self.assertEqual((case.peers, case.duration, case.pairs, case.aa), (peers, 0.5, 10, False))
        case = loaded(text + row, brief=True).cases[0]
        self.assertEqual(case.left_out, ["c"])

    def test_two_builds_differ_in_one_program_and_nothing_else(self):
        check = 'check = [{ metric = "rate", against = "fastest", must = 2 }]\nflags.a = { serve = ["--x"] }\n'
        config = loaded(HEAD + ROW + check)
        (case,) = compared(config, config.cases, "build/a=/old/a")
        old = config.participants["old a"]
        self.assertEqual((case.peers, case.aa, [c.against for c in case.checks]), (["old a"], False, ["old a"] * 2))
        self.assertEqual((old.server, old.client, old.serve), (["/old/a"], ["/old/a"], ["--codec", "x"]))
        ours, theirs = (commands(case, config.participants[n], None, "measure") for n in ("a", "old a"))
        self.assertEqual([w.replace("/old/a", "build/a") for w in theirs[0] + theirs[1]], ours[0] + ours[1])
        with self.assertRaisesRegex(ConfigError, "no row has build/z"):
            compared(config, config.cases, "build/z=/old/z")
        with self.assertRaisesRegex(ConfigError, "PROGRAM=OTHER"):
            compared(config, config.cases, "/old/a")

    def test_builds_in_several_layouts_are_taken_from_a_directory(self):
        with tempfile.TemporaryDirectory() as made:
            config = loaded(HEAD + ROW)
            with self.assertRaisesRegex(ConfigError, "no new-1 and old-1"):
                compared(config, config.cases, f"build/a={made}")
            for name in ("old-1", "new-1", "old-2", "new-2", "old-3"):
                (Path(made) / name).touch()
            compared(config, config.cases, f"build/a={made}")
        self.assertEqual(config.layouts, 2)
        ours, theirs = (config.participants[name].of_layout(2) for name in ("a", "old a"))
        self.assertEqual((ours.server, theirs.client), ([f"{made}/new-2"], [f"{made}/old-2"]))
        self.assertEqual(ours.serve, ["--codec", "x"])

    def test_quick_is_short_and_few_and_pairs_can_be_said(self):
        self.assertEqual((loaded(HEAD + ROW).cases[0].pairs, loaded(HEAD + ROW).cases[0].duration), (10, 2.0))
        quick = loaded(HEAD + ROW, quick=True).cases[0]
        self.assertEqual((quick.pairs, quick.duration), (3, 0.5))
        self.assertEqual(loaded(HEAD + ROW, quick=True, pairs=7).cases[0].pairs, 7)

    def test_command_lines_join_row_participant_and_exception(self):
        text = HEAD + ROW + 'serve = ["-s"]\nbench = ["-b"]\nflags.b = { serve = ["-S"], bench = ["-B"] }\n'
        config = loaded(text)
        case = config.cases[0]
        serve, client = commands(case, config.participants["b"], 500, "measure")
        self.assertEqual(serve, ["java", "-jar", "b.jar", "serve", "--listen", "127.0.0.1:0", "-s", "-S"])
        self.assertEqual(
            client,
            "build/b bench --target {target} -b --tuned -B --duration 2000ms --warmup 250ms --rate 500".split(),
        )
        serve, client = commands(case, config.participants["a"], 500, "capacity")
        self.assertEqual(serve[-2:], ["--codec", "x"])
        self.assertNotIn("--rate", client)

    def test_flags_that_mean_nothing_to_a_program_are_left_out_with_their_values(self):
        text = HEAD.replace("[participant.b]", '[participant.b]\nwithout = ["--codec"]')
        text += ROW + 'serve = ["--codec", "x"]\nbench = ["--codec", "x", "--callers", "2"]\n'
        config = loaded(text)
        serve, client = commands(config.cases[0], config.participants["b"], None, "measure")
        self.assertNotIn("--codec", [*serve, *client])
        self.assertNotIn("x", [*serve, *client])
        self.assertIn("--callers", client)


class Mistakes(unittest.TestCase):
    def assert_refused(self, text, *words):
        with self.assertRaises(ConfigError) as caught:
            loaded(text)
        message = str(caught.exception)
        self.assertNotIn("\n", message)
        for word in ("some.toml", *words):
            self.assertIn(word, message)

    def test_each_is_named_in_one_line(self):
        self.assert_refused("title = ", "TOML")
        self.assert_refused(HEAD, "[[row]]")
        self.assert_refused(HEAD + ROW.replace('"b"', '"c"'), "row r", "'c'")
        self.assert_refused(HEAD + ROW + 'speed = "fast"\n', "row r", "'speed'")
        self.assert_refused(HEAD + ROW + 'kind = "odd"\n', "'odd'")
        self.assert_refused(HEAD + ROW + 'duration = "2 s"\n', "'2 s'")
        self.assert_refused(HEAD + ROW + ROW, "two rows")
        self.assert_refused(HEAD + ROW + '[[row.check]]\nmetric = "joy"\nmust = 1\n', "'joy'")
        self.assert_refused(HEAD + ROW + '[[row.check]]\nmetric = "rate"\n', "neither must nor goal")
        self.assert_refused(HEAD + ROW + '[[row.check]]\nmetric = "rate"\nagainst = "z"\nmust = 1\n', "'z'")
        self.assert_refused(HEAD + ROW + '[[row.check]]\nmetric = "rate"\nagainst = "b"\ngoal_of = "z"\n', "goal_of")
        self.assert_refused(HEAD + ROW + "tls = true\n", "row r", "[tools]", "`certificate`")
        self.assert_refused(HEAD + ROW + 'delay = "5ms"\n', "row r", "[tools]", "`delay`")
        self.assert_refused(HEAD + TOOLS + ROW + 'delay = "5ms"\nkind = "bytes"\n', "row r", "'bytes'")
        self.assert_refused(HEAD + "[tools]\nhammer = 1\n" + ROW, "'hammer'")

    def test_a_missing_file_too(self):
        with self.assertRaisesRegex(ConfigError, "nowhere.toml: No such file"):
            load(Path("nowhere.toml"))


class Shipped(unittest.TestCase):
    """The configurations in the folder are sound and keep to the time they promise."""

    def test_all_load(self):
        for path in LAB.glob("*.toml"):
            if path.name == "targets.toml":
                continue  # no configuration
            with self.subTest(path.name):
                self.assertTrue(load(path).cases)

    def test_they_take_the_time_they_say(self):
        for name, least, most, quick in (
            ("go.toml", 90, 150, 20),
            ("python.toml", 30, 50, 9),
            ("java.toml", 180, 240, 40),
            ("distance.toml", 90, 150, 12),
        ):
            with self.subTest(name):
                self.assertTrue(least <= self.minutes(name) <= most, f"{self.minutes(name):.0f} minutes")
                self.assertLess(self.minutes(name, quick=True), quick)

    def test_brief_runs_are_brief(self):
        self.assertLess(self.minutes("go.toml", brief=True) + self.minutes("distance.toml", brief=True), 60)

    def minutes(self, name, **options):
        return sum(runs_and_seconds(case)[1] for case in load(LAB / name, **options).cases) / 60


if __name__ == "__main__":
    unittest.main()
