"""Messages up to the limit, and above it."""

from __future__ import annotations

import json

from tests.peer.programs import ProgramTest, run

from .languages import PAIRS, PROGRAMS, bench_words

LIMIT = 64 << 20
# A field of bytes of that size has one byte of tag and four of length.
LARGEST = LIMIT - 5


class Sizes(ProgramTest):
    def test_up_to_the_limit_and_above(self) -> None:
        for client, server in PAIRS:
            served = self.serve(PROGRAMS[server])
            for method in ("Echo", "EchoStream"):
                for size in (0, 1, 65_535, 65_536, 70_000, 1 << 20, LARGEST):
                    with self.subTest(client=client, server=server, method=method, size=size):
                        flags = ("--method", method, "--size", str(size), "--calls", "2")
                        got = run(PROGRAMS[client], *bench_words(client, served.address, *flags))
                        self.assertEqual((got.stderr, got.status), ("", 0))
                        self.assertEqual(json.loads(got.stdout)["errors"], 0)
            with self.subTest(client=client, server=server, size=LARGEST + 1):
                flags = ("--method", "Echo", "--size", str(LARGEST + 1), "--calls", "1")
                got = run(PROGRAMS[client], *bench_words(client, served.address, *flags))
                self.assertEqual(got.status, 1)
                self.assertRegex(got.stderr, rf"RESOURCE_EXHAUSTED: .*{LIMIT}.* \(not_sent\)")
