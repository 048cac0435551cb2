"""Every peer answers what it should, by each method and in each of its settings."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent.parent
MODULES = {"grpcio_aio", "grpcio_blocking", "apache_thrift", "echo", "fastapi_uvicorn"}


def program(module: str, *words: str) -> list[str]:
    return [sys.executable, "-P", "-m", module, *words]


class Answers(unittest.TestCase):
    def check(self, module: str, method: str, serve: tuple[str, ...] = (), bench: tuple[str, ...] = ()) -> None:
        """Fifty calls by four callers; the call functions check what comes back."""
        server = subprocess.Popen(
            program(module, "serve", "--listen", "127.0.0.1:0", *serve), stdout=subprocess.PIPE, text=True
        )
        try:
            assert server.stdout
            first = server.stdout.readline()
            self.assertRegex(first, r"^listening 127\.0\.0\.1:\d+\n$")
            flags = ["--target", first.split()[1], "--method", method, "--callers", "4", "--connections", "4"]
            load = ["--calls", "50", "--warmup", "0", "--size", "3000"]
            done = subprocess.run(
                program(module, "bench", *flags, *load, *bench), capture_output=True, text=True, timeout=60
            )
        finally:
            server.send_signal(signal.SIGTERM)
            server.stdout.close()
            status = server.wait(20)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        figures = json.loads(done.stdout)
        self.assertEqual((figures["calls"], figures["errors"]), (50, 0))
        self.assertEqual(status, 0)

    def test_grpcio_aio(self) -> None:
        for method in ("Say", "Echo", "EchoStream", "Emit"):
            for flags in ((), ("--uvloop",)):
                with self.subTest(method=method, flags=flags):
                    self.check("grpcio_aio", method, flags, flags)

        self.check("grpcio_aio", "Echo", bench=("--connection-per-call",))

    def test_grpcio_blocking(self) -> None:
        for method in ("Say", "Echo", "EchoStream"):
            with self.subTest(method):
                self.check("grpcio_blocking", method)

    def test_fastapi(self) -> None:
        for flags in ((), ("--uvloop",)):
            with self.subTest(flags=flags):
                self.check("fastapi_uvicorn", "Say", flags)

    def test_thrift(self) -> None:
        for transport in ("framed", "buffered"):
            flags = ("--transport", transport)
            with self.subTest(transport):
                self.check("apache_thrift", "Say", flags, flags)
        self.check("apache_thrift", "Say", bench=("--connections", "2"))

    def test_echo(self) -> None:
        for method in ("Say", "Echo", "EchoStream"):
            for flags in ((), ("--uvloop",)):
                with self.subTest(method=method, flags=flags):
                    self.check("echo", method, flags, flags)
        self.check("echo", "Say", bench=("--connections", "2"))
        self.check("echo", "Echo", bench=("--blocking",))

    def test_versions_name_what_is_measured(self) -> None:
        named = {
            module: subprocess.run(program(module, "version"), capture_output=True, text=True, check=True).stdout
            for module in sorted(MODULES)
        }
        self.assertRegex(named["apache_thrift"], r"^python-thrift thrift \d+\.\d+\.\d+, CPython 3\.")
        self.assertRegex(named["grpcio_aio"], r"^python-grpcio-aio grpcio \d+\.\d+\.\d+, ")
        self.assertRegex(named["fastapi_uvicorn"], r"^python-fastapi fastapi \d+\.\d+\.\d+, ")
        self.assertRegex(named["echo"], r"^python-echo, ")


class Mistakes(unittest.TestCase):
    def refused(self, module: str, *words: str) -> tuple[int, str]:
        done = subprocess.run(program(module, *words), capture_output=True, text=True, timeout=60)
        self.assertEqual(done.stdout, "")
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        return done.returncode, done.stderr

    def test_each_is_one_line_and_a_status(self) -> None:
        self.assertEqual(self.refused("echo", "bench")[0], 2)
        self.assertEqual(self.refused("echo", "dance")[0], 2)
        self.assertEqual(self.refused("echo", "serve", "--listen", "somewhere")[0], 2)
        status, text = self.refused("apache_thrift", "bench", "--target", "127.0.0.1:1", "--method", "Echo")
        self.assertEqual((status, text), (2, "python-thrift: --method Echo is not there, Say is\n"))
        self.assertEqual(self.refused("echo", "bench", "--target", "127.0.0.1:1")[0], 1)
        status, text = self.refused("echo", "bench", "--target", "127.0.0.1:1", "--blocking", "--callers", "2")
        self.assertEqual(status, 2)
        self.assertIn("--blocking wants a connection for each caller", text)


if __name__ == "__main__":
    unittest.main()
