import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from lab.runner import results, rows
from lab.tests.made_rows import case, head, run

LAB = Path(__file__).resolve().parents[1]
CHECKS = [{"metric": "rate", "against": "fastest", "must": 2, "goal": 4}]


def rounds(name, count=10, **rates):
    return [run(name, n, who, rate=r, mean_us=1.0) for n in range(count) for who, r in rates.items()]


def started(date, commit, config="lab/go.toml", command=("lab/run.py", "lab/go.toml"), **environment):
    machine, campaign = head(config=config, command=list(command))
    return [machine | {"date": date, "commit": commit, "environment": environment}, campaign]


class Collecting(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.root = Path(directory.name)
        (self.root / "lab").mkdir()
        (self.root / "README.md").write_text(f"above\n{results.BEGIN}\nold\n{results.END}\nbelow\n", encoding="utf-8")
        self.left_out = []

    def keep(self, name, *content):
        directory = self.root / "build" / "lab" / name
        directory.mkdir(parents=True)
        text = "".join(json.dumps(row) + "\n" for row in content)
        (directory / rows.FILE).write_text(text, encoding="utf-8")
        return directory

    def collected(self, *directories):
        found = results.collect(directories, self.left_out.append)
        results.write(found, self.root)
        return (self.root / "lab" / "RESULTS.md").read_text(encoding="utf-8")

    def readme(self):
        return (self.root / "README.md").read_text(encoding="utf-8")

    def test_the_newest_measurement_of_each_case_counts_with_its_date_and_tree(self):
        early = self.keep(
            "1", *started("2025-01-01 10:00:00 +0000", "aaa"),
            case("c", checks=CHECKS, duration=1.0), *rounds("c", a=3, b=1),
            case("d", checks=CHECKS, duration=1.0), *rounds("d", a=5, b=1),
        )  # fmt: skip
        late = self.keep(
            "2", *started("2025-01-02 10:00:00 +0000", "bbb", GOGC="200"),
            case("c", checks=CHECKS, duration=1.0), *rounds("c", a=7, b=1),
        )  # fmt: skip
        for order in ((early, late), (late, early)):
            text = self.collected(*order)
            self.assertIn("| c | rate ÷ b (fastest) | 7.00 [7.00–7.00] | ≥ 2 | met | ≥ 4 | met | R2 |", text)
            self.assertIn("| d | rate ÷ b (fastest) | 5.00 [5.00–5.00] | ≥ 2 | met | ≥ 4 | met | R1 |", text)
            self.assertNotIn("3.00 [", text)
            self.assertIn("\nR2: 10 pairs, 1 s a run.\n", text)
            self.assertIn("| R2 | 2025-01-02 10:00:00 +0000 | bbb | a CPU, 2 cores, Linux 6 |", text)
            self.assertEqual(text.count("python3 lab/run.py"), 2)  # once for each run
            self.assertIn("`GOGC=200 python3 lab/run.py lab/go.toml`", text)

    def test_too_few_pairs_are_left_out_and_do_not_displace_older_ones(self):
        early = self.keep(
            "1", *started("2025-01-01", "aaa"), case("c", checks=CHECKS, duration=1.0), *rounds("c", a=3, b=1)
        )
        late = self.keep(
            "2", *started("2025-01-02", "bbb"), case("c", checks=CHECKS, duration=1.0), *rounds("c", 9, a=7, b=1)
        )
        text = self.collected(early, late)
        self.assertIn("3.00 [3.00–3.00]", text)
        self.assertNotIn("bbb", text)
        self.assertEqual(self.left_out, [f"{late}: c is left out: 9 valid runs of a"])

    def test_rows_of_the_same_name_in_two_configurations_are_kept_apart(self):
        directories = [
            self.keep(
                config, *started("2025-01-01", config, f"/x/{config}"), case("c", duration=1.0), *rounds("c", a=1, b=1)
            )
            for config in ("go.toml", "python.toml")
        ]
        self.assertEqual(self.collected(*directories).count("### c\n"), 2)

    def test_where_rows_are_kept_is_not_told(self):
        command = ["lab/run.py", "lab/go.toml", "--out", "/secret", "--pairs", "10", "--root", "/secret"]
        kept = self.keep(
            "1", *started("2025-01-01", "a", command=command), case("c", duration=1.0), *rounds("c", a=1, b=1)
        )
        text = self.collected(kept)
        self.assertIn("`python3 lab/run.py lab/go.toml --pairs 10`", text)
        self.assertNotIn("/secret", text)

    def test_a_short_run_names_the_peers_that_it_went_without(self):
        short = case("c", checks=CHECKS, duration=1.0, left_out=["slowpoke"])
        text = self.collected(self.keep("1", *started("2025-01-01", "a"), short, *rounds("c", a=3, b=1)))
        self.assertIn("rate ÷ b (fastest of those run)", text)
        self.assertIn("A short run, without slowpoke", text)

    def test_each_line_of_the_lists_of_targets_is_met_or_not_or_not_measured(self):
        (self.root / "lab" / "targets.toml").write_text(
            """
            [[list]]
            name = "a"
            title = "The list"
            lines = [
                { title = "both", rows = ["go.toml:c", "go.toml:d"] },
                { title = "one", rows = ["go.toml:c"] },
                { title = "half", rows = ["go.toml:c", "go.toml:e"] },
                { title = "another file", rows = ["python.toml:c"] },
                { title = "nobody", rows = [] },
            ]
            """,
            encoding="utf-8",
        )
        text = self.collected(
            self.keep(
                "1", *started("2025-01-01", "a"), case("c", checks=CHECKS, duration=1.0), *rounds("c", a=5, b=1),
                case("d", checks=CHECKS, duration=1.0), *rounds("d", a=3, b=1),
            )
        )  # fmt: skip
        self.assertIn("## The list\n", text)
        for line in (
            "| both | met | not met | c, d |", "| one | met | met | c |",
            "| half | not measured | not measured | c, e; not measured: e |",
            "| another file | not measured | not measured | c |", "| nobody | not measured | not measured | none |",
        ):  # fmt: skip
            self.assertIn(line, text)

    def test_a_comparison_of_two_builds_is_no_result(self):
        machine, campaign = started("2025-01-01", "a")
        kept = self.keep("1", machine, campaign | {"against": "x=y"}, case("c", duration=1.0), *rounds("c", a=3, b=1))
        self.assertIn(results.NOTHING, self.collected(kept))
        self.assertIn("two builds of ours", self.left_out[0])

    def test_the_readme_shows_the_rows_that_are_to_be_shown(self):
        (self.root / "lab" / "targets.toml").write_text('summary = ["go.toml:c"]\nlist = []\n', encoding="utf-8")
        shown = case("c", checks=CHECKS, duration=1.0, title="Shown")
        hidden = case("d", checks=CHECKS, duration=1.0, title="Hidden")
        self.collected(
            self.keep("1", *started("2025-01-01", "a"), shown, *rounds("c", a=3, b=1), hidden, *rounds("d", a=3, b=1))
        )
        text = self.readme()
        self.assertIn("| Shown | rate ÷ b (fastest) | 3.00 [3.00–3.00] |", text)
        self.assertIn("2025-01-01, a CPU, 2 cores, Linux 6, tree a", text)
        self.assertNotIn("Hidden", text)
        self.assertTrue(text.startswith("above\n") and text.endswith("\nbelow\n"))

    def test_nothing_kept_is_said(self):
        self.assertIn(results.NOTHING, self.collected())
        self.assertIn(results.NOTHING, self.readme())
        self.assertNotIn("old", self.readme())

    def test_the_command_takes_all_runs_that_are_kept(self):
        self.keep("1", *started("2025-01-01", "a"), case("c", duration=1.0), *rounds("c", a=3, b=1))
        (self.root / "build" / "lab" / "empty").mkdir()
        command = [sys.executable, str(LAB / "results.py"), "--root", str(self.root)]
        subprocess.run(command, check=True, capture_output=True)
        self.assertIn("### c\n", (self.root / "lab" / "RESULTS.md").read_text(encoding="utf-8"))
        done = subprocess.run([*command, str(self.root)], capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1))


if __name__ == "__main__":
    unittest.main()
