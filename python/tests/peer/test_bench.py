"""The bench command."""

from __future__ import annotations

import json
import socket
import tempfile
from pathlib import Path

from harness.certificates import Authority
from harness.programs import ProgramTest, run

from .own import PYTHON

KEYS = "calls errors seconds rate mean_us p50_us p90_us p95_us p99_us p999_us max_us cpu_us".split()
KEYS += ["answered_p50_us", "answered_p99_us"]
FEW = ("--async", "--calls", "200", "--warmup", "0s")


class Measuring(ProgramTest):
    def measure(self, target: str, *flags: str) -> None:
        """Measures a few calls and checks the line that it prints."""
        got = run(PYTHON, "bench", "--target", target, *FEW, *flags)
        slow = "--rate" in flags and "fell behind: " in got.stderr  # on a busy machine
        self.assertEqual((got.status, got.stderr if not slow else "", got.stdout.count("\n")), (0, "", 1), (flags, got))
        figures = json.loads(got.stdout)
        self.assertEqual(list(figures), KEYS)
        self.assertEqual((figures["calls"], figures["errors"]), (200, 0))

    def test_every_method_with_every_codec(self) -> None:
        for served, called in (
            ("protobuf", "protobuf"),
            ("protobuf-stock", "protobuf-stock"),
            ("protobuf", "protobuf-stock"),
        ):
            target = self.serve(PYTHON, "--listen", "127.0.0.1:0", "--codec", served).address
            for method in ("Say", "Echo", "EchoStream", "Emit"):
                with self.subTest(served=served, called=called, method=method):
                    self.measure(target, "--codec", called, "--method", method, "--connections", "2", "--callers", "5")

    def test_settings(self) -> None:
        target = self.serve(PYTHON, "--listen", "127.0.0.1:0", "--inline", "--uvloop").address
        for flags in (
            ("--uvloop", "--callers", "20"),
            ("--method", "/trunkcall.bench.v1.BenchService/Say"),
            ("--method", "Echo", "--size", "70000"),
            ("--method", "Echo", "--size", "0"),
            ("--method", "Echo", "--size", "70000", "--compression", "gzip"),
            ("--method", "EchoStream", "--size", "70000", "--compression", "gzip"),
            ("--method", "Echo", "--size", "70000", "--compression", "gzip", "--codec", "protobuf-stock"),
            ("--connection-per-call", "--callers", "4"),
            ("--rate", "2000", "--callers", "10"),
        ):
            with self.subTest(flags):
                self.measure(target, *flags)

    def test_unix_sockets_and_mutual_tls(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            authority, path = Authority(Path(folder)), str(Path(folder) / "s")
            words = ["--listen", "127.0.0.1:0", "--unix", path, *authority.server().flags()]
            target = self.serve(PYTHON, *words, "--tls-client-ca", str(authority.file)).address
            tls = ("--tls-ca", str(authority.file), *authority.client().flags())
            self.measure(target, *tls)
            self.measure(target, *tls, "--connection-per-call")
            self.measure(f"unix:{path}", *tls, "--method", "EchoStream")

    def test_it_tells_that_it_fell_behind(self) -> None:
        target = self.serve(PYTHON).address
        got = run(PYTHON, "bench", "--target", target, *FEW, "--rate", "1e8")
        self.assertEqual((got.status, got.stderr.count("\n")), (0, 1), got)
        self.assertRegex(got.stderr, r"fell behind: \d+/s of 100000000/s\n$")

    def test_it_names_why_it_cannot_begin(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as taken:
            closed = f"127.0.0.1:{taken.getsockname()[1]}"
        for flags in ((), ("--connection-per-call",)):
            with self.subTest(flags):
                got = run(PYTHON, "bench", "--target", closed, "--async", "--warmup", "0s", "--calls", "2", *flags)
                self.assertEqual(got.status, 1, got)
                self.assertIn(f"cannot reach {closed}", got.stderr)
