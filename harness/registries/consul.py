"""An agent of Consul that is a server of its own, asked by its API over HTTP."""

from __future__ import annotations

import hashlib
import json
from base64 import b64decode
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from harness.registries import programs
from harness.registries.base import RegistryServer
from harness.registries.http import ask

PIECE = 512  # the longest value of Consul's metadata, in bytes


def pieces(data: bytes) -> dict[str, str]:
    """The metadata of a record (spec/registry.md 3)."""
    found: list[bytes] = []
    piece = b""
    for character in data.decode():
        if len(piece) + len(character.encode()) > PIECE:
            found.append(piece)
            piece = b""
        piece += character.encode()
    return {f"trunkcall-{number}": one.decode() for number, one in enumerate([*found, piece])}


def joined(meta: Mapping[str, str]) -> bytes:
    """The record that metadata holds."""
    found: list[str] = []
    while (piece := meta.get(f"trunkcall-{len(found)}")) is not None:
        found.append(piece)
    return "".join(found).encode()


class Consul(RegistryServer):
    scheme = "consul"
    ports = 3  # HTTP; the servers' and the agents' own

    @classmethod
    def program(cls) -> str:
        return programs.consul()

    def prepare(self) -> None:
        http, server, serf = (port.number for port in self._ports)
        off = {"dns": -1, "grpc": -1, "https": -1, "serf_wan": -1}
        settings = {
            **{"server": True, "bootstrap_expect": 1, "node_name": "test", "datacenter": "test"},
            **{"bind_addr": "127.0.0.1", "client_addr": "127.0.0.1", "data_dir": str(self.folder / "data")},
            "ports": {"http": http, "server": server, "serf_lan": serf, **off},
            # It is alone: it need not wait for others to be gone before it leads.
            "performance": {"raft_multiplier": 1},
            **{"disable_update_check": True, "leave_on_terminate": False, "log_level": "warn"},
        }
        (self.folder / "consul.json").write_text(json.dumps(settings), encoding="ascii")

    def words(self) -> list[str]:
        return [self.program(), "agent", f"-config-file={self.folder / 'consul.json'}"]

    def answers(self) -> bool:
        """Once it leads, has told itself of its own node, and has carried out all of its log."""
        return bool(self.ask("GET", "status/leader")) and bool(self.ask("GET", "catalog/node/test?consistent"))

    def ask(self, method: str, what: str, body: object = None, none: object = None) -> Any:
        """The answer; of what is not found, `none` if there is one."""
        return ask(method, f"http://{self.address}/v1/{what}", body, none)

    def instances(self) -> dict[str, Any]:
        """All services at the agent, by their ids there."""
        found: dict[str, Any] = self.ask("GET", "agent/services")
        return found

    def entries(self, service: str) -> Mapping[str, bytes]:
        """Those that are not critical."""
        found = self.ask("GET", f"health/service/{quote(service)}?passing&consistent")
        return {one["Service"]["ID"].removeprefix(f"{service}/"): joined(one["Service"]["Meta"] or {}) for one in found}

    def put(self, service: str, id: str, data: bytes) -> None:
        """Without a check. Data that is no text is a record of one byte that is none."""
        try:
            meta = pieces(data)
        except UnicodeDecodeError:
            meta = {"trunkcall-0": "?"}
        body = {"Name": service, "ID": f"{service}/{id}", "Meta": meta}
        self.ask("PUT", "agent/service/register?replace-existing-checks", body)

    def remove(self, service: str, id: str) -> None:
        if f"{service}/{id}" in self.instances():
            self.ask("PUT", f"agent/service/deregister/{quote(f'{service}/{id}')}")

    def empty(self) -> None:
        for id in self.instances():
            self.ask("PUT", f"agent/service/deregister/{quote(id)}")

    def expire(self) -> None:
        """Makes all checks critical."""
        for id in self.ask("GET", "agent/checks"):
            self.ask("PUT", f"agent/check/fail/{quote(id)}")


class ConsulKeys(Consul):
    """The same, where records stand as keys under the root (spec/registry.md 10.5)."""

    kind = "consul-keys"

    def name_at(self, address: str, **options: int) -> str:
        return super().name_at(f"{address}/{self.root}", **options)

    def key(self, service: str, id: str, end: str = "") -> str:
        return "kv/" + quote(f"{self.root}/{service}/{id}/{end}")

    def entries(self, service: str) -> Mapping[str, bytes]:
        """Of several of one id the first."""
        prefix = f"{self.root}/{service}/"
        found: dict[str, bytes] = {}
        for one in self.ask("GET", f"kv/{quote(prefix)}?recurse&consistent", none=[]):
            found.setdefault(one["Key"].removeprefix(prefix).partition("/")[0], b64decode(one["Value"] or ""))
        return found

    def put(self, service: str, id: str, data: bytes) -> None:
        name = hashlib.sha256(data).hexdigest()[:16]
        self.remove(service, id)
        self.ask("PUT", self.key(service, id, name), data)

    def remove(self, service: str, id: str) -> None:
        self.ask("DELETE", f"{self.key(service, id)}?recurse")

    def empty(self) -> None:
        self.ask("DELETE", f"kv/{quote(self.root)}/?recurse")

    def expire(self) -> None:
        """Destroys all sessions."""
        for one in self.ask("GET", "session/list"):
            self.ask("PUT", f"session/destroy/{one['ID']}")
