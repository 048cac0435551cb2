"""The examples of production, each client with each server: TLS, tokens, metrics, and an end that loses no call."""

from __future__ import annotations

import os
import tempfile
import unittest
import urllib.request
from pathlib import Path

from harness.certificates import Authority
from harness.prerequisites import pairs_here
from harness.processes import PATIENCE, Process, run

from .languages import LANGUAGES, each_pair


def environment(token: str) -> dict[str, str]:
    return {**os.environ, "TOKEN": token, "DRAIN_DELAY": "2"}


# Client and server.
PAIRS = [(a.key, b.key) for a, b in pairs_here() if a.production and b.production]


@each_pair(PAIRS)
class TheExamples(unittest.TestCase):
    client: str
    server: str

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        authority = Authority(Path(folder.name))
        identity = authority.server("localhost")
        self.serving = Process(
            self.words(self.server, "server", cert=identity.cert, key=identity.key), env=environment("right")
        )
        self.addCleanup(self.serving.kill)
        _, address, *_, web = self.serving.line().split()
        self.web = "127.0.0.1:" + web.rpartition(":")[2]
        target = "localhost:" + address.rpartition(":")[2]
        self.calling = self.words(self.client, "client", ca=authority.file, target=target)

    def words(self, language: str, which: str, **texts: object) -> list[str]:
        command = getattr(LANGUAGES[language].production, which)
        return [word.format(delay="2s", **texts) for word in LANGUAGES[language].words(command)]

    def called(self, token: str) -> tuple[int, str, str]:
        done = run(self.calling, env=environment(token))
        return done.status, done.stdout, done.stderr

    def test_calls_are_served_measured_and_ended_in_order(self) -> None:
        said = "user-7, asked for by front\nlisted 3\nINVALID_ARGUMENT: ids begin at 1 user_id\n"
        self.assertEqual(self.called("right"), (0, said, ""))
        with urllib.request.urlopen(f"http://{self.web}/metrics", timeout=PATIENCE) as answer:
            metrics = answer.read().decode()
        self.assertRegex(metrics, r'rpc_server_seconds_count\{code="OK",method="/.*/ListUsers"\} 1')
        done = self.serving.stop()
        self.assertEqual((done.status, done.stdout), (0, "stopped\n"))

    def test_a_wrong_token_is_refused(self) -> None:
        self.assertEqual(self.called("wrong"), (1, "", "UNAUTHENTICATED: a valid token is needed (refused)\n"))


if __name__ == "__main__":
    unittest.main()
