"""The runner as it is called, with fake programs: whole campaigns, mistakes, interruptions."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from collections import Counter
from pathlib import Path

from harness.tests import fake_language

LAB = Path(__file__).resolve().parents[1]
FAKE = json.dumps([sys.executable, "-I", str(LAB / "tests" / "fake_peer.py")])
CONFIG = f"""
title = "Fakes"
[run]
pairs = 2
duration = "DURATION"
[tools]
delay = [{json.dumps(sys.executable)}, "-m", "lab.tests.fake_delay"]
certificate = "build/certificate"
[participant.us]
program = {FAKE}
bench = ["--fake-rate", "3000", "--latency", "10"]
[participant.slow]
program = {FAKE}
bench = ["--fake-rate", "1000"]
[participant.broken]
program = {FAKE}
bench = ["--errors", "2"]
[participant.mixed]
server = {FAKE}
client = {json.dumps([*json.loads(FAKE), "--named", "another 2.0"])}
[participant.absent]
program = "build/absent"
made_by = "make peers"

[[row]]
name = "closed"
subject = "us"
peers = ["slow"]
check = [{{ metric = "rate", against = "fastest", must = 2.5, goal = 3.5 }}]

[[row]]
name = "fixed"
kind = "open"
subject = "us"
peers = ["slow"]
fractions = [0.5]
capacity_pairs = 1
check = [{{ metric = "p99_us", against = "each", must = 1.0, lenient = true }}]

[[row]]
name = "failing"
subject = "us"
peers = ["broken"]
aa = false

[[row]]
name = "mixed"
subject = "us"
peers = ["mixed"]
aa = false

[[row]]
name = "far"
subject = "us"
peers = ["slow"]
delay = ["5ms", "25ms"]
rate = 1000000
aa = false

[[row]]
name = "secure"
subject = "us"
peers = ["slow"]
tls = true
aa = false

[[row]]
name = "absent"
subject = "us"
peers = ["absent"]
"""


class Campaigns(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = Path(directory.name)
        self.pids = self.directory / "pids"
        self.pids.mkdir()

    def command(self, *flags, duration="100ms"):
        config = self.directory / "fake.toml"
        config.write_text(CONFIG.replace("DURATION", duration), encoding="utf-8")
        return [sys.executable, str(LAB / "run.py"), str(config), "--root", str(self.directory), *flags]

    def run_lab(self, *flags):
        return subprocess.run(
            self.command(*flags), env=self.environment(), capture_output=True, text=True, timeout=60, check=False
        )

    def environment(self):
        return os.environ | {"FAKE_PEER_PIDS": str(self.pids), "PYTHONPATH": str(LAB.parent), "GOGC": "150"}

    def kept(self):
        (directory,) = (self.directory / "build" / "lab").iterdir()
        return directory, [json.loads(line) for line in (directory / "rows.jsonl").read_text().splitlines()]

    def started(self):
        return [int(path.name.rpartition("-")[2]) for path in self.pids.iterdir()]

    def assert_nothing_left(self):
        for pid in self.started():
            deadline = time.monotonic() + 60
            while os.path.exists(f"/proc/{pid}") and time.monotonic() < deadline:
                os.sched_yield()
            self.assertFalse(os.path.exists(f"/proc/{pid}"), f"process {pid} is left behind")

    def test_rows_and_report(self):
        done = self.run_lab("--only", "closed", "--only", "fixed", "--seed", "5")
        self.assertEqual(done.returncode, 0, done.stderr)
        directory, rows = self.kept()
        self.assertEqual(rows[0]["programs"], {"us": "fake 1.0", "slow": "fake 1.0"})
        runs = [row for row in rows if row["type"] == "run"]
        self.assertEqual(
            Counter((r["case"], r["phase"], r["label"]) for r in runs),
            Counter(
                [(c, "measure", label) for c in ("closed", "fixed/50") for label in ("us", "us#2", "slow")] * 2
                + [("fixed", "capacity", "slow")]
            ),
        )
        offered = next(row["rate"] for row in rows if row["type"] == "case" and row["name"] == "fixed/50")
        self.assertAlmostEqual(offered, 500, delta=10)
        text = (directory / "report.md").read_text()
        self.assertIn("| closed | rate ÷ slow (fastest) | ", text)
        self.assertIn("| fixed/50 | p99_us ÷ slow (least favourable of all) | 0.100 [0.100–0.100] |", text)
        self.assertIn("us#2 (A/A)", text)
        (directory / "report.md").unlink()
        subprocess.run([sys.executable, str(LAB / "report.py"), str(directory)], check=True, capture_output=True)
        self.assertEqual((directory / "report.md").read_text(), text)
        self.assert_nothing_left()

    def test_another_build_stands_in_for_the_peers(self):
        other = self.directory / "other"
        words = " ".join(json.loads(FAKE))
        other.write_text(f'#!/bin/sh\nshift 2\nexec {words} "$@"\n', encoding="ascii")
        other.chmod(0o755)
        done = self.run_lab(
            "--only", "closed", "--only", "fixed", "--pairs", "1", "--against", f"{sys.executable}={other}"
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        directory, rows = self.kept()
        labels = {row["label"] for row in rows if row["type"] == "run" and row["ok"]}
        self.assertEqual(labels, {"us", "old us"})
        text = (directory / "report.md").read_text()
        self.assertIn("| closed | rate ÷ old us | ", text)
        self.assertIn(f"**Two builds: the peer `old …` is {sys.executable}={other}.**", text)

    def test_the_rows_of_a_list_of_targets(self):
        (self.directory / "lab").mkdir()
        text = (
            '[[list]]\nname = "a"\ntitle = "A"\nlines = [{ title = "t", rows = ["fake.toml:far/50ms", "x.toml:y"] }]\n'
        )
        (self.directory / "lab" / "targets.toml").write_text(text, encoding="utf-8")
        done = self.run_lab("--targets", "a", "--list")
        self.assertEqual([line.split()[0] for line in done.stdout.splitlines()], ["far/50ms", "all"])
        done = self.run_lab("--targets", "b", "--list")
        self.assertEqual(done.returncode, 2)
        self.assertIn("no list 'b'; there are a", done.stderr)

    def test_a_client_and_a_server_of_different_programs(self):
        done = self.run_lab("--only", "mixed", "--pairs", "1")
        self.assertEqual(done.returncode, 0, done.stderr)
        directory, rows = self.kept()
        named = {"us": "fake 1.0", "mixed": "another 2.0", "mixed, server": "fake 1.0"}
        self.assertEqual(rows[0]["programs"], named)
        (run,) = [row for row in rows if row["type"] == "run" and row["participant"] == "mixed"]
        self.assertEqual(("--named" in run["server"], "--named" in run["client"]), (False, True))
        self.assertIn("- mixed, server: fake 1.0", (directory / "report.md").read_text())

    def test_a_way_that_is_long_lies_between_client_and_server(self):
        done = self.run_lab("--only", "far/5*", "--pairs", "1")
        self.assertEqual(done.returncode, 0, done.stderr)
        _, rows = self.kept()
        (case,) = [row for row in rows if row["type"] == "case"]
        self.assertEqual((case["name"], case["delay"], case["bandwidth"]), ("far/50ms", 0.025, 1_000_000))
        self.assertEqual(len([row for row in rows if row["type"] == "run" and row["ok"]]), 2)
        between = [path.name for path in self.pids.iterdir() if path.name.startswith("delay")]
        self.assertEqual(len(between), 2)  # one for each run
        self.assertEqual(rows[0]["environment"]["GOGC"], "150")
        self.assert_nothing_left()

    def test_rows_over_tls_get_a_certificate_that_goes_with_the_campaign(self):
        done = self.run_lab("--only", "secure", "--pairs", "1")
        self.assertEqual((done.returncode, done.stderr), (2, "build/certificate is missing: run `make peers`\n"))
        (self.directory / "build").mkdir()
        made = self.directory / "build" / "certificate"
        made.write_text('#!/bin/sh\ntouch "$1/certificate.pem" "$1/key.pem"; echo "$1" >made\n', encoding="ascii")
        made.chmod(0o755)
        done = self.run_lab("--only", "secure", "--pairs", "1")
        self.assertEqual(done.returncode, 0, done.stderr)
        _, rows = self.kept()
        folder = (self.directory / "made").read_text(encoding="ascii").strip()
        run = next(row for row in rows if row["type"] == "run")
        self.assertIn(f"--tls-cert {folder}/certificate.pem --tls-key {folder}/key.pem", " ".join(run["server"]))
        self.assertIn(f"--tls-ca {folder}/certificate.pem", " ".join(run["client"]))
        self.assertFalse(os.path.exists(folder))

    def test_a_certificate_that_cannot_be_made_ends_the_campaign(self):
        (self.directory / "build").mkdir()
        made = self.directory / "build" / "certificate"
        made.write_text("#!/bin/sh\nexit 3\n", encoding="ascii")
        made.chmod(0o755)
        done = self.run_lab("--only", "secure")
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("no certificate", done.stderr)

    def test_a_client_with_errors_makes_invalid_rows(self):
        done = self.run_lab("--only", "failing")
        self.assertEqual(done.returncode, 1, done.stderr)
        directory, rows = self.kept()
        invalid = [row for row in rows if row["type"] == "run" and not row["ok"]]
        self.assertEqual([row["participant"] for row in invalid], ["broken", "broken"])
        self.assertIn("client reports 2 errors", invalid[0]["reason"])
        self.assertIn("invalid: broken, round 1", (directory / "report.md").read_text())

    def test_missing_programs_and_unknown_rows_run_nothing(self):
        done = self.run_lab("--only", "absent")
        self.assertEqual((done.returncode, done.stderr), (2, "build/absent is missing: run `make peers`\n"))
        done = self.run_lab("--only", "nonsense")
        self.assertEqual(done.returncode, 2)
        self.assertIn("no row 'nonsense'; there are closed, fixed, failing, mixed, far, secure, absent", done.stderr)
        self.assertFalse((self.directory / "build").exists())

    def test_what_measures_a_language_that_is_left_out_is_left_out_where_that_may_be(self):
        folder = self.directory / "with"
        folder.mkdir()
        variables = fake_language.add(folder, absent=True) | self.environment()
        command = [*self.command("--only", "absent"), "--where-possible"]
        (self.directory / "fake.toml").rename(self.directory / "ada.toml")
        command[2] = str(self.directory / "ada.toml")
        done = subprocess.run(command, env=variables, capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("ada.toml: Ada is left out, for this machine has not GNAT 99", done.stdout)
        done = subprocess.run(command[:-1], env=variables, capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual((done.returncode, done.stderr), (2, "build/absent is missing: run `make peers`\n"))

    def interrupted(self, signum):
        """Start a campaign of long runs, and signal it once a client is at work; returns its exit status."""
        running = subprocess.Popen(
            self.command("--only", "closed", duration="60000ms"),
            env=self.environment(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            deadline = time.monotonic() + 60
            while not any(path.name.startswith("bench") for path in self.pids.iterdir()):
                self.assertLess(time.monotonic(), deadline, "no client was started")
                os.sched_yield()
            running.send_signal(signum)
            return running.wait(60)
        finally:
            running.kill()
            running.wait()

    def test_interrupts_end_every_process_and_keep_the_rows(self):
        for signum in (signal.SIGINT, signal.SIGTERM):
            with self.subTest(signum.name):
                self.setUp()
                self.assertEqual(self.interrupted(signum), 128 + signum)
                self.assertGreaterEqual(len(self.started()), 2)
                self.assert_nothing_left()
                directory, rows = self.kept()
                self.assertEqual(rows[-1], {"type": "interrupted", "signal": signum.name})
                self.assertIn(f"Interrupted by {signum.name}", (directory / "report.md").read_text())

    def test_even_a_killed_runner_leaves_nothing(self):
        self.interrupted(signal.SIGKILL)
        self.assert_nothing_left()


if __name__ == "__main__":
    unittest.main()
