"""What a server says of itself when it is published decides where the calls of clients in another language go: its
weight, its zone, its version and its attributes, through each registry that every language has."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

from harness.processes import Process, Server
from harness.programs import BENCH, ProgramTest

from .languages import PROGRAMS, bench_words, each_pair, having

SERVICE = BENCH.rstrip("/")
HERE = [language.key for language in having("registries", "faults", "random-policies")]
# What each server says of itself.
INSTANCES: dict[str, dict[str, Any]] = {
    "light": {"weight": 1, "zone": "west", "version": "1.0", "attributes": {"tier": "gold"}},
    "heavy": {"weight": 4, "zone": "east", "version": "2.0", "attributes": {"tier": "plain"}},
}
# So slow that all connections are there long before the end.
SLOWLY = ("--rate", "100", "--duration", "3s")
SOME = ("--calls", "50")


def events(ledger: Path) -> list[dict[str, Any]]:
    found = (json.loads(line) for line in ledger.read_text(encoding="utf-8").splitlines())
    return [one for one in found if one["event"] == "begin"]


@each_pair((client, HERE[(at + 1) % len(HERE)]) for at, client in enumerate(HERE))
class Steering(ProgramTest):
    """Each language is the client of the next one's servers, and a third keeps the registry where there is one."""

    client: str
    server: str

    def setUp(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def test_through_a_folder(self) -> None:
        published = self.folder / "published"
        published.mkdir()
        self.steers(f"file:{published}")

    def test_through_an_embedded_registry(self) -> None:
        keeper = next((key for key in HERE if key not in (self.client, self.server)), self.server)
        keeping = Server([*PROGRAMS[keeper], "registry", "--unix", str(self.folder / "socket")])
        self.steers(f"trunkcall:{self.enterContext(keeping).address}")

    def steers(self, registry: str) -> None:
        policies = self.folder / "zones.yaml"
        policies.write_text("policy: 1\ndefaults:\n  zones: {}\n...\n", encoding="utf-8")
        for name, instance in INSTANCES.items():
            flags = ("--faults", "--ledger", str(self.folder / name), "--registry", registry)
            words = ("--listen", "127.0.0.1:0", *flags, "--instance", json.dumps(instance))
            self.serve(PROGRAMS[self.server], *words)
        loads = {
            "weight": SLOWLY,
            "zone west": (*SLOWLY, "--policy-file", str(policies), "--zone", "west"),
            "zone east": (*SLOWLY, "--policy-file", str(policies), "--zone", "east"),
            "version": (*SOME, "--only", "version=2.0"),
            "attribute": (*SOME, "--only", "tier=gold"),
        }
        called = self.calls(registry, loads)
        # Turns by weight, once both are connected.
        begun = max(min(at for name, at in called["weight"] if name == one) for one in INSTANCES)
        light, heavy = (sum(name == one and at > begun for name, at in called["weight"]) for one in INSTANCES)
        self.assertGreater(light, 5)
        self.assertLessEqual(abs(heavy - 4 * light), 5)
        # Calls stay in the zone, once its server is connected.
        for load, stays in (("zone west", "light"), ("zone east", "heavy")):
            begun = min(at for name, at in called[load] if name == stays)
            self.assertEqual({name for name, at in called[load] if at >= begun}, {stays}, load)
        self.assertEqual({name for name, _ in called["version"]}, {"heavy"})
        self.assertEqual({name for name, _ in called["attribute"]}, {"light"})

    def calls(self, registry: str, loads: dict[str, tuple[str, ...]]) -> dict[str, list[tuple[str, int]]]:
        """Puts loads on the servers, all at once, of which no call may fail. Who executed the calls of each, and
        when."""
        words = bench_words(self.client, f"registry:{SERVICE}", "--registry", registry, "--mix", "Say")
        running: dict[str, Process] = {}
        for load, flags in loads.items():
            more = ("--ledger", str(self.folder / load), *flags)
            running[load] = self.enterContext(Process([*PROGRAMS[self.client], *words, *more]))
        for load, process in running.items():
            got = process.finish()
            self.assertEqual((got.status, json.loads(got.stdout or "{}").get("errors")), (0, 0), (load, got))
        executed = {one["call"]: (name, one["at"]) for name in INSTANCES for one in events(self.folder / name)}
        return {load: [executed[one["call"]] for one in events(self.folder / load)] for load in loads}
