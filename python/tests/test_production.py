"""The examples of production run together: a server with TLS and tokens, its client, and an end that is announced."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import unittest
import urllib.error
import urllib.request
from pathlib import Path

from .peer.certificates import Authority

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "python" / "production"
PATIENCE = 60


def python(name: str, *arguments: str, token: str) -> list[str]:
    return ["env", f"TOKEN={token}", "DRAIN_DELAY=2", sys.executable, "-W", "error", str(EXAMPLE / name), *arguments]


class TestProduction(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        authority = Authority(Path(folder.name))
        self.authority, server = str(authority.file), authority.server("localhost")
        self.server = subprocess.Popen(
            python("server.py", str(server.cert), str(server.key), token="right"),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self.addCleanup(self.end)
        assert self.server.stdout
        _, address, *_, self.http = self.server.stdout.readline().split()
        self.target = "localhost:" + address.rpartition(":")[2]

    def end(self) -> None:
        self.server.kill()
        self.server.communicate(timeout=PATIENCE)

    def call(self, token: str) -> subprocess.CompletedProcess[str]:
        command = python("client.py", self.authority, self.target, token=token)
        return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)

    def get(self, path: str) -> tuple[int, str]:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.http}{path}", timeout=PATIENCE) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, ""

    def test_calls_are_served_measured_and_ended_in_order(self) -> None:
        done = self.call("right")
        self.assertEqual(done.stderr, "")
        self.assertEqual(
            done.stdout, "user-7, asked for by front\nlisted 3\nINVALID_ARGUMENT: ids begin at 1 user_id\n"
        )
        self.assertIn('method="/trunkcall.example.v1.UserService/ListUsers"} 1.0', self.get("/metrics")[1])
        self.assertEqual(self.get("/healthz")[0], 200)
        self.server.terminate()
        out, _ = self.server.communicate(timeout=PATIENCE)
        self.assertEqual((self.server.returncode, out), (0, "stopped\n"))

    def test_a_wrong_token_is_refused(self) -> None:
        done = self.call("wrong")
        self.assertEqual((done.returncode, done.stderr), (1, "UNAUTHENTICATED: a valid token is needed (refused)\n"))
