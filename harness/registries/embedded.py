"""The embedded registry, kept by a reference program (conformance/peer.md 11), read by the file that it writes."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterable, Mapping
from pathlib import Path

from harness.programs import Program
from harness.registries.base import ASKED, RegistryServer

HEAD = "trunkcall registry 1"


class Embedded(RegistryServer):
    """Nothing can be put there but by a server that lives, and only time ends a lease: what is done to it is done to
    the file of its records, while it is not there."""

    scheme = "trunkcall"

    def __init__(self, program: Program, lease: int = 15) -> None:
        self._words = (*program, "registry", "--lease", f"{lease}s")
        super().__init__()

    @classmethod
    def program(cls) -> None:
        """Each language has its own."""

    @property
    def state(self) -> Path:
        """The file of its records."""
        return self.folder / "state"

    def words(self) -> list[str]:
        return [*self._words, "--listen", self.address, "--state", str(self.state)]

    def answers(self) -> bool:
        host, _, port = self.address.rpartition(":")
        socket.create_connection((host, int(port)), ASKED).close()
        return True

    def entries(self, service: str) -> Mapping[str, bytes]:
        """Of a second ago. A file that is not whole, as after spoil, is one that it has not written yet."""
        head, *lines = self.state.read_text(encoding="utf-8", errors="replace").split("\n")
        if head != HEAD or lines[-2:] != [f"end {len(lines) - 2}", ""]:
            raise OSError(f"{self.state} is not whole")
        records = [(json.loads(line), line.encode()) for line in lines[:-2]]
        return {record["id"]: data for record, data in records if record["service"] == service}

    def put(self, service: str, id: str, data: bytes) -> None:
        raise NotImplementedError

    def remove(self, service: str, id: str) -> None:
        raise NotImplementedError

    def expire(self) -> None:
        raise NotImplementedError

    def empty(self) -> None:
        self.kill()
        self.state.unlink(missing_ok=True)
        self.start()

    def spoil(self, service: str, ids: Iterable[str], rubbish: bytes) -> None:
        """Of its file only the first half is left, with rubbish behind it."""
        self.kill()
        whole = self.state.read_bytes() if self.state.exists() else b""
        self.state.write_bytes(whole[: len(whole) // 2] + rubbish)
        self.start()
