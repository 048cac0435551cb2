"""The examples of production, each client with each server: TLS, tokens, metrics, and an end that loses no call."""

from __future__ import annotations

import os
import sys
import tempfile
import unittest
import urllib.request
from pathlib import Path
from typing import ClassVar

from harness.certificates import Authority
from harness.processes import PATIENCE, Process, run

ROOT = Path(__file__).resolve().parent.parent
PYTHON = ROOT / "examples" / "python" / "production"
GO = ROOT / "build" / "examples"


def environment(token: str) -> dict[str, str]:
    return {**os.environ, "TOKEN": token, "DRAIN_DELAY": "2"}


class Production:
    """What holds for each pair. `serve` and `call` are the commands."""

    serve: list[str]
    call: list[str]

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        authority = Authority(Path(folder.name))
        self.authority, identity = str(authority.file), authority.server("localhost")
        command = [*self.serve, str(identity.cert), str(identity.key)]
        if self.serve[0] == str(GO / "server"):
            command = [*self.serve, "-drain-delay=2s", f"-cert={identity.cert}", f"-key={identity.key}"]
        self.server = Process(command, env=environment("right"))
        self.addCleanup(self.server.kill)
        _, address, *_, web = self.server.line().split()
        self.target = "localhost:" + address.rpartition(":")[2]
        self.web = "127.0.0.1:" + web.rpartition(":")[2]

    def called(self, token: str) -> tuple[int, str, str]:
        command = [*self.call, self.authority, self.target]
        if self.call[0] == str(GO / "client"):
            command = [*self.call, f"-ca={self.authority}", f"-target={self.target}"]
        done = run(command, env=environment(token))
        return done.status, done.stdout, done.stderr

    def test_calls_are_served_measured_and_ended_in_order(self) -> None:
        said = "user-7, asked for by front\nlisted 3\nINVALID_ARGUMENT: ids begin at 1 user_id\n"
        self.assertEqual(self.called("right"), (0, said, ""))
        with urllib.request.urlopen(f"http://{self.web}/metrics", timeout=PATIENCE) as answer:
            metrics = answer.read().decode()
        self.assertRegex(metrics, r'rpc_server_seconds_count\{code="OK",method="/.*/ListUsers"\} 1')
        done = self.server.stop()
        self.assertEqual((done.status, done.stdout), (0, "stopped\n"))

    def test_a_wrong_token_is_refused(self) -> None:
        self.assertEqual(self.called("wrong"), (1, "", "UNAUTHENTICATED: a valid token is needed (refused)\n"))


class ServerInGo(Production):
    serve: ClassVar = [str(GO / "server")]


class ServerInPython(Production):
    serve: ClassVar = [sys.executable, "-W", "error", str(PYTHON / "server.py")]


class ClientInGo(Production):
    call: ClassVar = [str(GO / "client")]


class ClientInPython(Production):
    call: ClassVar = [sys.executable, "-W", "error", str(PYTHON / "client.py")]


class GoAndGo(ServerInGo, ClientInGo, unittest.TestCase):
    pass


class GoAndPython(ServerInGo, ClientInPython, unittest.TestCase):
    pass


class PythonAndGo(ServerInPython, ClientInGo, unittest.TestCase):
    pass


class PythonAndPython(ServerInPython, ClientInPython, unittest.TestCase):
    pass


if __name__ == "__main__":
    unittest.main()
