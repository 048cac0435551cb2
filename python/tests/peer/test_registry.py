"""The registry command: the embedded registry as a process of its own."""

from __future__ import annotations

import tempfile
from pathlib import Path

from harness.processes import Process
from harness.programs import USER_7, USERS, ProgramTest, run

from .own import PYTHON, carried_out

SERVICE = USERS.rstrip("/")


class Keeping(ProgramTest):
    def setUp(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def keep(self, *words: str) -> tuple[Process, str]:
        kept = Process([*PYTHON, "registry", *words])
        self.addCleanup(kept.end)
        said, _, where = kept.line().partition(" ")
        self.assertEqual(said, "listening")
        return kept, f"trunkcall:{where}"

    def test_a_server_is_found_through_it_and_known_after_a_restart(self) -> None:
        state = self.folder / "state"
        kept, name = self.keep("--listen", "127.0.0.1:0", "--state", str(state), "--lease", "5s")
        self.serve(PYTHON, "--listen", "127.0.0.1:0", "--registry", name)
        words = ("--target", f"registry:{SERVICE}", "--timeout", "60s", USERS + "GetUser", '{"userId":7}')
        self.assertEqual(run(PYTHON, "call", "--registry", name, *words).stdout, USER_7)
        self.assertEqual(kept.stop().status, 0)
        self.assertIn(f'"service":"{SERVICE}"', state.read_text())
        kept, again = self.keep("--unix", str(self.folder / "s"), "--state", str(state))
        self.assertEqual(again, f"trunkcall:unix:{self.folder / 's'}")
        self.assertEqual(run(PYTHON, "call", "--registry", again, *words).stdout, USER_7)
        self.assertEqual(kept.stop().status, 0)

    def test_what_cannot_be_is_refused(self) -> None:
        for words, text in (
            ((), "--listen or --unix is needed, and not both"),
            (("--listen", "127.0.0.1:0", "--unix", "x"), "--listen or --unix is needed, and not both"),
            (("--listen", "nowhere"), "--listen nowhere: want HOST:PORT"),
            (("--unix", "x", "--lease", "1ms"), "--lease 0.001s: want 1s to 1h"),
        ):
            self.assert_usage(carried_out("registry", *words), text)
        failed = run(PYTHON, "registry", "--listen", "127.0.0.1:0", "--state", str(self.folder))
        self.assertEqual((failed.status, failed.stdout), (1, ""))
        self.assertIn(str(self.folder), failed.stderr)
