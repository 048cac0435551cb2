"""Servers of one language are found by clients of another in real etcd, ZooKeeper and Consul, those that are here."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TypeVar
from unittest import SkipTest

from harness import registries
from harness.languages import Language
from harness.prerequisites import pairs_here
from harness.processes import Process
from harness.programs import USER_7, USERS, ProgramTest, run
from harness.registries import RegistryServer
from trunkcall.registry import parse

from .languages import LANGUAGES, having

SERVICE = USERS.rstrip("/")
RUBBISH = b"rubbish"

Test = TypeVar("Test", bound=type[ProgramTest])


def each_registry() -> Callable[[Test], Test]:
    """Makes a class of tests for each registry."""

    def make(test: Test) -> Test:
        for kind in registries.SERVERS:
            more = {"kind": kind, "__module__": test.__module__, "__test__": True}
            name = f"{test.__name__}{kind.title().replace('-', '')}"
            setattr(sys.modules[test.__module__], name, type(name, (test,), more))
        test.__test__ = False  # type: ignore[attr-defined]
        return test

    return make


@each_registry()
class Elsewhere(ProgramTest):
    kind: str
    store: RegistryServer

    @classmethod
    def setUpClass(cls) -> None:
        if why := registries.missing(cls.kind):
            raise SkipTest(f"{cls.kind} is left out: {why}")
        cls.store = registries.SERVERS[cls.kind]()
        cls.addClassCleanup(cls.store.close)

    def setUp(self) -> None:
        self.here = [language for language in having("registries") if self.kind not in language.lacks.suites]
        self.addCleanup(self.store.empty)

    def call(self, client: Language, name: str = "") -> str:
        words = ("--timeout", "60s", USERS + "GetUser", '{"userId":7}')
        target = ("--registry", name or self.store.name, "--target", f"registry:{SERVICE}")
        got = run(client.with_registries, "call", *target, *words)
        self.assertEqual(got.status, 0, got)
        return got.stdout

    def pairs(self) -> list[tuple[Language, Language]]:
        """Those that meet; each meets itself."""
        met = [(client, server) for client, server in pairs_here() if client in self.here and server in self.here]
        return met if any(a is b for a, b in met) else [*met, *((one, one) for one in self.here)]

    def test_a_server_is_found_and_forgotten(self) -> None:
        for client, server in self.pairs():
            with self.subTest(client=client.key, server=server.key):
                there = self.serve(server.with_registries, "--listen", "127.0.0.1:0", "--registry", self.store.name)
                self.assertEqual(self.call(client), USER_7)
                self.assertEqual(there.stop().status, 0)
                self.assertEqual(self.store.entries(SERVICE), {})

    def test_records_are_the_bytes_that_any_language_writes(self) -> None:
        for server in self.here:
            with self.subTest(server.key):
                there = self.serve(server.with_registries, "--listen", "127.0.0.1:0", "--registry", self.store.name)
                ((id, data),) = self.store.entries(SERVICE).items()
                record = parse(data)
                self.assertEqual((record.to_bytes(), record.key), (data, f"{SERVICE}/{id}"))
                there.stop()

    def test_a_record_by_hand_is_found_beside_rubbish(self) -> None:
        there = self.serve(self.here[0].program, "--listen", "127.0.0.1:0")
        text = f'{{"id": "by-hand", "service": "{SERVICE}", "addresses": ["{there.address}"], "zone": "{"ä" * 60}"}}'
        self.store.put(SERVICE, "by-hand", text.encode())
        self.store.put(SERVICE, "half", text.encode()[:30])
        self.store.put(SERVICE, "rubbish", RUBBISH)
        for client in self.here:
            with self.subTest(client.key):
                self.assertEqual(self.call(client), USER_7)

    def test_a_long_record_is_found(self) -> None:
        """Longer than what Consul's metadata takes in one piece, and with characters of several bytes at each edge."""
        there = self.serve(self.here[0].program, "--listen", "127.0.0.1:0")
        attributes = ",".join(f'"{number}":"{"€" * 300}"' for number in range(10))
        text = f'{{"addresses":["{there.address}"],"attributes":{{{attributes}}},"id":"long","service":"{SERVICE}"}}'
        self.store.put(SERVICE, "long", text.encode())
        for client in self.here:
            with self.subTest(client.key):
                self.assertEqual(self.call(client), USER_7)

    def test_two_live_servers_under_one_key_are_a_mistake_of_which_the_first_stays(self) -> None:
        there = self.serve(self.here[0].with_registries, "--listen", "127.0.0.1:0", "--registry", self.store.name)
        ((id, data),) = self.store.entries(SERVICE).items()
        there.stop()
        other = data.replace(f'"{there.address}"'.encode(), b'"127.0.0.1:1"')
        self.store.put(SERVICE, id, other)
        for server in self.here:
            with self.subTest(server.key):
                port = there.address
                words = ("serve", "--listen", port, "--registry", self.store.name)
                with registries_process(server, words) as second:
                    second.wait_said(f"{SERVICE}/{id}: another server is published under this id, at 127.0.0.1:1")
                    self.assertEqual(self.store.entries(SERVICE), {id: other})
                    self.store.remove(SERVICE, id)
                    self.assertTrue(second.line().startswith("listening "))
                    self.assertEqual(self.store.entries(SERVICE), {id: data})
                self.store.put(SERVICE, id, other)

    def test_a_name_that_cannot_be_is_a_fault_of_the_command_line(self) -> None:
        kind = self.store.scheme
        several = kind != "consul"
        want = f"want {kind}:HOST:PORT{',…' if several else ''}/ROOT?lease=SECONDS"
        wrong = [
            "",
            "nowhere",
            "a:0",
            "a:70000",
            "a:1?lease=0",
            "a:1?lease=3601",
            "a:1?lease=15s",
            "a:1?x=1",
            "a:1/x/",
            "::1:1",
            "a:1 ",
        ]
        wrong += ["a:1,", ",".join(["a:1"] * 10), "a:1//b", "a:1/-", *([] if several else ["a:1,b:2"])]
        for language in self.here:
            for rest in wrong:
                with self.subTest(language.key, rest=rest):
                    name = f"{kind}:{rest}"
                    got = run(
                        language.with_registries,
                        "call",
                        "--target",
                        f"registry:{SERVICE}",
                        "--registry",
                        name,
                        "X/Y",
                        "{}",
                    )
                    self.assertEqual(got.status, 2, got)
                    self.assertIn(f'registry "{name}": {want}', got.stderr)
            with self.subTest(language.key):
                name = self.store.name_at(self.store.address, lease=3)
                if several:
                    name = f"{kind}:{self.store.address},[::1]:1/{self.store.root}?lease=3"
                self.serve(language.with_registries, "--listen", "127.0.0.1:0", "--registry", name).stop()


def registries_process(server: Language, words: tuple[str, ...]) -> Process:
    return Process([*server.with_registries, *words])


def test_all_languages_say_whether_they_have_them() -> None:
    """The names of suites and of registries are the same."""
    for language in LANGUAGES.values():
        if "registries" in language.lacks.suites:
            assert set(registries.SERVERS) <= set(language.lacks.suites), language.key
