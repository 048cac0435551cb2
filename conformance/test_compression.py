"""Compression between sides that accept it and sides that do not."""

from __future__ import annotations

import json

from tests.peer.programs import ProgramTest, run

from .languages import BENCH_FLAGS, PROGRAMS, bench_words

# What each program can compress with.
COMPRESSIONS = {"go": ("gzip", "zstd"), "python": ("gzip",)}


class Compression(ProgramTest):
    def check(self, client: str, target: str, *flags: str) -> None:
        for method in ("Echo", "EchoStream"):
            for size in ("0", "1024", "70000", "1000000"):
                with self.subTest(client=client, method=method, size=size, flags=flags):
                    words = ("--method", method, "--size", size, "--calls", "20", *flags)
                    got = run(PROGRAMS[client], *bench_words(client, target, *words))
                    self.assertEqual((got.stderr, got.status), ("", 0))
                    self.assertEqual(json.loads(got.stdout)["errors"], 0)

    def test_a_client_that_compresses_is_understood_by_every_server(self) -> None:
        for program in PROGRAMS.values():
            served = self.serve(program)
            for client, compressions in COMPRESSIONS.items():
                for compression in compressions:
                    self.check(client, served.address, "--compression", compression)

    def test_a_server_that_compresses_is_understood_by_every_client(self) -> None:
        for server, compressions in COMPRESSIONS.items():
            for compression in compressions:
                served = self.serve(PROGRAMS[server], "--listen", "127.0.0.1:0", "--compression", compression)
                for client in BENCH_FLAGS:
                    self.check(client, served.address)
