import json
import tempfile
import unittest
from pathlib import Path

from lab.runner import report, rows
from lab.tests.made_rows import case, head, run

FIGURES = {"cpu_client_us": 3.0, "cpu_server_us": 4.0, "cpu_both_us": 7.0, "mean_us": 50.0, "p50_us": 40.0}
FIGURES |= {"p99_us": 90.0, "p999_us": 200.0}


def ten_rounds(name="c", **rates):
    return [run(name, n, who, rate=r, **FIGURES) for n in range(10) for who, r in rates.items()]


class Rendering(unittest.TestCase):
    def test_ratios_verdicts_and_where_they_come_from(self):
        runs = ten_rounds(a=300_000, b=100_000)
        checks = [{"metric": "rate", "against": "fastest", "must": 2.5, "goal": 4}]
        text = report.render([*head(), case(checks=checks), *runs])
        self.assertIn("| c | rate ÷ b (fastest) | 3.00 [3.00–3.00] | ≥ 2.5 | met | ≥ 4 | not met |", text)
        self.assertIn("| a | 300,000 | 3.00 | 4.00 | 7.00 | 50.0 | 40.0 | 90.0 | 200 | – |", text)
        ids = " ".join(f"#{row['id']}" for row in runs if row["label"] == "b")
        self.assertIn(f"- c, b: {ids}", text)
        self.assertNotIn("orientation", text)

    def test_a_goal_can_be_the_ratio_of_another_case(self):
        checks = [{"metric": "rate", "against": "b", "must": 4, "goal_of": "plain"}]
        rows = [*head(), case("plain"), *ten_rounds("plain", a=6, b=1), case("tls", checks=checks)]
        text = report.render([*rows, *ten_rounds("tls", a=5, b=1)])
        self.assertIn("| tls | rate ÷ b | 5.00 [5.00–5.00] | ≥ 4 | met | ≥ 6 (as plain) | not met |", text)
        text = report.render([*head(), case("tls", checks=checks), *ten_rounds("tls", a=5, b=1)])
        self.assertIn("| ≥ 4 | met | – (as plain) | – |", text)

    def test_few_pairs_are_no_claim(self):
        runs = ten_rounds(a=3, b=1)[:6]
        checks = [{"metric": "rate", "against": "b", "must": 2.5}]
        text = report.render([*head(), case(checks=checks, pairs=3), *runs])
        self.assertIn("orientation only", text)
        self.assertIn("met (3 pairs)", text)

    def test_invalid_runs_are_named_and_their_pairs_missing(self):
        runs = [row for row in ten_rounds(a=3, b=1) if (row["round"], row["label"]) != (4, "b")]
        runs.append(run("c", 4, "b", ok=False))
        text = report.render([*head(), case(), *runs])
        self.assertIn(f"invalid: b, round 5 (#{runs[-1]['id']}): client reports 3 errors", text)
        self.assertIn("b: 9 valid runs of 10", text)
        self.assertIn("3.00 [3.00–3.00] (n=9)", text)

    def test_doubts_are_told(self):
        seen = {"others_share": 0.3, "stolen_share": 0.0, "cpu_client_outside_us": 9.0}
        runs = [run("c", n, who, seen=seen, rate=900, **FIGURES) for n in range(10) for who in "ab"]
        text = report.render([*head(), case(rate=1000), *runs])
        self.assertIn("20 of 20 runs shared the machine", text)
        self.assertIn("a: states 3.00 µs client CPU per call, seen from outside 9.00", text)
        self.assertIn("b: fell behind, 900 of 1,000 calls/s", text)

    def test_a_case_without_runs_and_an_interruption_are_reported(self):
        text = report.render([*head(among="b"), case(), {"type": "interrupted", "signal": "SIGINT"}])
        self.assertIn("Interrupted by SIGINT", text)
        self.assertIn("a: 0 valid runs of 10", text)
        self.assertIn("Only b were measured", text)


class FromFile(unittest.TestCase):
    def test_same_rows_same_report_and_a_torn_last_line_is_passed_over(self):
        with tempfile.TemporaryDirectory() as name:
            kept = [json.dumps(row) for row in [*head(), case(), *ten_rounds(a=3, b=1)]]
            Path(name, rows.FILE).write_text("\n".join(kept) + "\n", encoding="utf-8")
            first = report.write(Path(name)).read_text(encoding="utf-8")
            with open(Path(name, rows.FILE), "a", encoding="utf-8") as file:
                file.write('{"type": "run", "id"')
            self.assertEqual(report.write(Path(name)).read_text(encoding="utf-8"), first)

    def test_what_is_no_run_directory_is_refused_in_one_line(self):
        with tempfile.TemporaryDirectory() as name:
            with self.assertRaisesRegex(rows.RowsError, "No such file"):
                report.write(Path(name))
            Path(name, rows.FILE).write_text("not json\n{}\n", encoding="utf-8")
            with self.assertRaisesRegex(rows.RowsError, "rows.jsonl:1: not JSON"):
                report.write(Path(name))
            Path(name, rows.FILE).write_text("", encoding="utf-8")
            with self.assertRaisesRegex(rows.RowsError, "nothing to report"):
                report.write(Path(name))


if __name__ == "__main__":
    unittest.main()
