"""A folder in which servers are published (spec/registry.md 7)."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterable, Mapping

from harness.registries.base import Store, new_folder


class Folder(Store):
    """No process stands behind it: it is killed by taking it away."""

    scheme = "file"

    def __init__(self) -> None:
        self.folder = new_folder(self.scheme)
        self.here, self.away = self.folder / "here", self.folder / "away"
        self.here.mkdir()
        self.address = str(self.here)

    def start(self) -> None:
        self.away.rename(self.here)

    def kill(self) -> None:
        self.here.rename(self.away)

    def recover(self) -> None:
        if self.away.exists():
            self.start()
        self.empty()

    def close(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)

    def entries(self, service: str) -> Mapping[str, bytes]:
        found: dict[str, bytes] = {}
        for ending in (".lease", ".json"):  # what is written by hand counts
            for path in (self.here / service).glob(f"[!.]*{ending}"):
                with contextlib.suppress(FileNotFoundError, IsADirectoryError):
                    found[path.name.removesuffix(ending)] = path.read_bytes()
        return found

    def put(self, service: str, id: str, data: bytes) -> None:
        """In the place of a lease, or as if by hand."""
        lease = self.here / service / f"{id}.lease"
        lease.parent.mkdir(exist_ok=True)
        (lease if lease.exists() else lease.with_suffix(".json")).write_bytes(data)

    def spoil(self, service: str, ids: Iterable[str], rubbish: bytes) -> None:
        """And what is no file at all."""
        super().spoil(service, ids, rubbish)
        for name in ("no-file.lease", "no-file.json", "no name"):
            (self.here / service / name).mkdir(exist_ok=True)

    def empty(self) -> None:
        """Servers may write meanwhile."""
        for path in self.here.iterdir():
            while path.exists():
                shutil.rmtree(path, ignore_errors=True)
