"""Servers of one language are found by clients of another, by what stands in a registry that both know."""

from __future__ import annotations

import tempfile
from pathlib import Path

from harness.prerequisites import pairs_here
from harness.processes import Server
from harness.programs import USER_7, USERS, ProgramTest, run
from trunkcall.registry import parse

from .languages import PAIRS, PROGRAMS, each_language, each_pair, having

SERVICE = USERS.rstrip("/")
HERE = [language.key for language in having("registries")]


class RegistryTest(ProgramTest):
    def setUp(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.registry = f"file:{self.folder}"

    def files(self) -> list[Path]:
        return sorted(self.folder.glob("*/*"))


@each_pair((client, server) for client, server in PAIRS if client in HERE and server in HERE)
class Finding(RegistryTest):
    client: str
    server: str

    def call(self, language: str) -> str:
        words = ("--timeout", "60s", USERS + "GetUser", '{"userId":7}')
        target = ("--registry", self.registry, "--target", f"registry:{SERVICE}")
        got = run(PROGRAMS[language], "call", *target, *words)
        self.assertEqual(got.status, 0, got)
        return got.stdout

    def test_a_server_is_found_and_forgotten(self) -> None:
        server = self.serve(PROGRAMS[self.server], "--listen", "127.0.0.1:0", "--registry", self.registry)
        self.assertEqual(self.call(self.client), USER_7)
        self.assertEqual(server.stop().status, 0)
        self.assertEqual(self.files(), [])

    def test_servers_of_both_stand_beside_each_other(self) -> None:
        for language in (self.server, self.client):
            self.serve(PROGRAMS[language], "--listen", "127.0.0.1:0", "--registry", self.registry)
        self.assertEqual(len(list((self.folder / SERVICE).glob("*.lease"))), 2)
        self.assertEqual([self.call(self.client) for _ in range(3)], [USER_7] * 3)

    def test_a_record_by_hand_is_found_and_rubbish_beside_it_is_left_out(self) -> None:
        server = self.serve(PROGRAMS[self.server], "--listen", "127.0.0.1:0")
        place = self.folder / SERVICE
        place.mkdir()
        text = f'{{"id": "by-hand", "service": "{SERVICE}", "addresses": ["{server.address}"], "later": null}}'
        (place / "by-hand.json").write_text(text)
        (place / "half.json").write_text(text[:30])
        self.assertEqual(self.call(self.client), USER_7)


@each_language(HERE)
class Alone(RegistryTest):
    language: str

    def test_records_are_the_bytes_that_any_language_writes(self) -> None:
        self.serve(PROGRAMS[self.language], "--listen", "127.0.0.1:0", "--registry", self.registry)
        self.assertIn(SERVICE, {path.parent.name for path in self.files()})
        for path in self.files():
            record = parse(path.read_bytes())
            self.assertEqual(
                (record.to_bytes(), f"{record.key}.lease"), (path.read_bytes(), f"{path.parent.name}/{path.name}")
            )

    def test_that_nobody_is_there_is_said(self) -> None:
        flags = ("--registry", self.registry, "--target", f"registry:{SERVICE}", "--timeout", "60s")
        got = run(PROGRAMS[self.language], "call", *flags, USERS + "GetUser", "{}")
        self.assertEqual((got.status, got.stdout), (1, ""), got)
        self.assertIn(f"no instance of {SERVICE} is registered", got.stderr)

    def test_a_registry_that_cannot_be_is_a_fault_of_the_command_line(self) -> None:
        for words in (("serve", "--listen", "127.0.0.1:0"), ("call", "--target", f"registry:{SERVICE}", "X/Y", "{}")):
            got = run(PROGRAMS[self.language], *words, "--registry", "nowhere:at all")
            self.assertEqual(got.status, 2, got)
            self.assertIn('registry "nowhere:at all": no package for "nowhere" is in this program', got.stderr)


@each_pair((a.key, b.key) for a, b in pairs_here() if a.key in HERE and b.key in HERE)
class Embedded(RegistryTest):
    """A registry that the server keeps, for servers and clients of the other language."""

    client: str
    server: str

    def setUp(self) -> None:
        super().setUp()
        if run(PROGRAMS[self.server], "registry", "--help").status == 2:
            self.skipTest(f"{self.server} serves no registry")

    def keep(self) -> Server:
        words = ("--unix", str(self.folder / "socket"), "--state", str(self.folder / "state"))
        return self.enterContext(Server([*PROGRAMS[self.server], "registry", *words]))

    def test_a_server_is_found_and_forgotten(self) -> None:
        keeper = self.keep()
        name = f"trunkcall:{keeper.address}"
        server = self.serve(PROGRAMS[self.client], "--listen", "127.0.0.1:0", "--registry", name)
        self.assertEqual(self.call(name), USER_7)
        self.assertEqual(server.stop().status, 0)
        self.assertEqual(keeper.stop().status, 0)
        self.assertEqual((self.folder / "state").read_text(), "trunkcall registry 1\nend 0\n")

    def test_a_server_is_found_when_its_registry_was_started_again(self) -> None:
        keeper = self.keep()
        name = f"trunkcall:{keeper.address}"
        self.serve(PROGRAMS[self.client], "--listen", "127.0.0.1:0", "--registry", name)
        self.assertEqual(keeper.stop().status, 0)
        self.keep()
        self.assertEqual(self.call(name), USER_7)

    def call(self, name: str) -> str:
        words = ("--registry", name, "--target", f"registry:{SERVICE}", "--timeout", "60s")
        got = run(PROGRAMS[self.client], "call", *words, USERS + "GetUser", '{"userId":7}')
        self.assertEqual(got.status, 0, got)
        return got.stdout
