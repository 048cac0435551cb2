"""etcd, of one node, asked by its gateway to HTTP."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Mapping
from typing import Any

from harness.registries import programs
from harness.registries.base import RegistryServer
from harness.registries.http import ask


def text(data: bytes | str) -> str:
    return b64encode(data.encode() if isinstance(data, str) else data).decode()


def after(beginning: str) -> str:
    """The first key that is behind all that begin so."""
    return beginning[:-1] + chr(ord(beginning[-1]) + 1)


class Etcd(RegistryServer):
    scheme = "etcd"
    ports = 2  # the second is for other nodes

    @classmethod
    def program(cls) -> str:
        return programs.etcd()

    def words(self) -> list[str]:
        here, peers = f"http://{self.address}", f"http://127.0.0.1:{self._ports[1]}"
        return [
            self.program(),
            *("--name", "test", "--data-dir", str(self.folder / "data"), "--initial-cluster", f"test={peers}"),
            *("--listen-client-urls", here, "--advertise-client-urls", here),
            # It is alone: it need not wait for others to be gone before it leads.
            *("--heartbeat-interval", "10", "--election-timeout", "100"),
            *("--listen-peer-urls", peers, "--initial-advertise-peer-urls", peers),
        ]

    def answers(self) -> bool:
        self.ask("kv/range", key=text("/"))
        return True

    def ask(self, what: str, **body: object) -> dict[str, Any]:
        """Carries out an operation of its API v3."""
        answer: dict[str, Any] = ask("POST", f"http://{self.address}/v3/{what}", body)
        return answer

    def key(self, service: str, id: str = "") -> str:
        return f"/{self.root}/{service}/{id}"

    def entries(self, service: str) -> Mapping[str, bytes]:
        beginning = self.key(service)
        found = self.ask("kv/range", key=text(beginning), range_end=text(after(beginning))).get("kvs", [])
        return {
            b64decode(one["key"]).decode().removeprefix(beginning): b64decode(one.get("value", "")) for one in found
        }

    def put(self, service: str, id: str, data: bytes) -> None:
        self.ask("kv/put", key=text(self.key(service, id)), value=text(data))

    def remove(self, service: str, id: str) -> None:
        self.ask("kv/deleterange", key=text(self.key(service, id)))

    def empty(self) -> None:
        self.ask("kv/deleterange", key=text(f"/{self.root}/"), range_end=text(after(f"/{self.root}/")))

    def leases(self) -> list[int]:
        return [int(one["ID"]) for one in self.ask("lease/leases").get("leases", [])]

    def expire(self) -> None:
        for lease in self.leases():
            self.ask("lease/revoke", ID=lease)
