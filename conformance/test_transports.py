"""Calls and load over every transport, between languages."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from harness.certificates import Authority
from harness.processes import Outcome
from harness.programs import USER_7, USERS, ProgramTest, run

from .languages import LANGUAGES, PAIRS, PROGRAMS, bench_words, each_pair

TCP = ("--listen", "127.0.0.1:0")


@each_pair(PAIRS)
class Transports(ProgramTest):
    client: str
    server: str

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.authority = Authority(self.folder)
        self.trust = ("--tls-ca", str(self.authority.file))

    def needs(self, *transports: str) -> None:
        for key in (self.client, self.server):
            if lacking := sorted(set(transports) - set(LANGUAGES[key].peer.transports)):
                self.skipTest(f"{LANGUAGES[key].name} has not {', '.join(lacking)}")

    def check(self, client: str, target: str, *tls: str) -> None:
        """Every kind of call, then some load with all methods that can be driven, through both codecs."""
        program = PROGRAMS[client]
        for method, request, answers in (
            ("GetUser", '{"userId":7}', 1),
            ("ListUsers", '{"count":3}', 3),
            ("ImportUsers", "[{},{}]", 1),
            ("WatchUsers", '[{"userId":7},{"userId":7}]', 2),
        ):
            got = run(program, "call", "--target", target, USERS + method, request, *tls)
            self.assertEqual((got.stdout.count("\n"), got.stderr, got.status), (answers, "", 0), (method, got))
        for flags in (
            ("--method", "Say", "--connections", "5", "--callers", "50", "--calls", "2000"),
            ("--method", "Echo", "--size", "100000", "--callers", "5", "--calls", "100"),
            ("--method", "EchoStream", "--callers", "3", "--calls", "1000", "--codec", "protobuf-stock"),
        ):
            got = run(program, *bench_words(client, target, *flags, *tls))
            self.assertEqual((got.stderr, got.status), ("", 0), (flags, got))
            figures = json.loads(got.stdout)
            self.assertEqual((figures["errors"], figures["calls"]), (0, int(flags[flags.index("--calls") + 1])))

    def test_tcp(self) -> None:
        self.needs("tcp")
        self.check(self.client, self.serve(PROGRAMS[self.server]).address)

    def test_unix_sockets(self) -> None:
        self.needs("unix")
        self.check(self.client, self.serve(PROGRAMS[self.server], "--unix", str(self.folder / self.server)).address)

    def test_tls(self) -> None:
        self.needs("tls")
        served = self.serve(PROGRAMS[self.server], *TCP, *self.authority.server().flags())
        self.check(self.client, served.address, *self.trust)
        refused = run(PROGRAMS[self.client], "call", "--target", served.address, USERS + "GetUser", "{}")
        self.assert_failure(refused, "UNAVAILABLE", "not_sent", "TLS")

    def test_mutual_tls(self) -> None:
        self.needs("tls")
        flags = (*self.authority.server().flags(), "--tls-client-ca", str(self.authority.file))
        served = self.serve(PROGRAMS[self.server], *TCP, *flags)
        self.check(self.client, served.address, *self.trust, *self.authority.client().flags())
        words = ("call", "--target", served.address, USERS + "GetUser", "{}", *self.trust)
        self.assert_failure(run(PROGRAMS[self.client], *words), "UNAVAILABLE", "not_sent", served.address)

    def test_cleartext_beside_tls(self) -> None:
        self.needs("tcp", "tls")
        flags = (*self.authority.server().flags(), "--allow-cleartext")
        served = self.serve(PROGRAMS[self.server], *TCP, *flags)
        for tls in ((), self.trust):
            words = ("call", "--target", served.address, USERS + "GetUser", '{"userId":7}', *tls)
            self.assertEqual(run(PROGRAMS[self.client], *words), Outcome(USER_7))

    def test_websockets(self) -> None:
        self.needs("websocket")
        self.check(self.client, f"ws://{self.serve(PROGRAMS[self.server]).address}/any/path")

    def test_websockets_in_tls(self) -> None:
        self.needs("websocket", "tls")
        served = self.serve(PROGRAMS[self.server], *TCP, *self.authority.server().flags())
        self.check(self.client, f"wss://{served.address}", *self.trust)
        for scheme, told in (("wss", "certificate"), ("ws", "400")):
            words = ("call", "--target", f"{scheme}://{served.address}", USERS + "GetUser", "{}")
            self.assert_failure(run(PROGRAMS[self.client], *words), "UNAVAILABLE", "not_sent", told)
