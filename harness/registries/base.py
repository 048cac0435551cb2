"""What the servers of all registries have in common."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

from harness import guard
from harness.ports import Port
from harness.processes import PATIENCE, Failed, Process

LOOK = 0.02  # how often a server that starts is asked whether it answers
ASKED = 10.0  # for how long a server that runs may take to answer


MEMORY = Path("/dev/shm")  # where a file system in memory is
ROOM = 2 << 30  # what must be free there, in bytes: etcd and ZooKeeper take some hundred MB ahead


def new_folder(scheme: str) -> Path:
    """A folder for the data of one server: in memory, where no other process has the disk busy for seconds while a
    change is written through. It is gone with this process; so is what was left where a guard was killed as well."""
    memory = MEMORY.is_dir() and os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free > ROOM
    above = MEMORY if memory else Path(tempfile.gettempdir())
    for left in above.glob("trunkcall-registry-*-*"):
        if not Path("/proc", left.name.split("-")[2]).exists():
            shutil.rmtree(left, ignore_errors=True)
    folder = Path(tempfile.mkdtemp(prefix=f"trunkcall-registry-{os.getpid()}-{scheme}-", dir=above))
    guard.removing(folder)
    return folder


class Store(ABC):
    """Where servers are published and found, in a folder of its own: what a test does to it, whatever it is."""

    scheme: str  # of its name in spec/registry.md 4
    kind: str = ""  # what it is called, by default its scheme
    address: str

    def __init_subclass__(cls) -> None:
        if "scheme" in vars(cls) and "kind" not in vars(cls):
            cls.kind = cls.scheme

    @property
    def name(self) -> str:
        """Its name for --registry."""
        return self.name_at(self.address)

    def name_at(self, address: str, **options: int) -> str:
        """Its name by another address, such as a proxy's, with options such as lease=2."""
        query = "&".join(f"{key}={value}" for key, value in options.items())
        return f"{self.scheme}:{address}{'?' if query else ''}{query}"

    def spoil(self, service: str, ids: Iterable[str], rubbish: bytes) -> None:
        """Has rubbish stand where entries stood."""
        for id in ids:
            self.put(service, id, rubbish)

    @abstractmethod
    def start(self) -> None:
        """It is there again, with its data."""

    @abstractmethod
    def kill(self) -> None:
        """Nobody reaches it, until it is started again."""

    @abstractmethod
    def recover(self) -> None:
        """Whatever was done to it, it is there and empty."""

    @abstractmethod
    def close(self) -> None:
        """Its end, and that of its data."""

    @abstractmethod
    def entries(self, service: str) -> Mapping[str, bytes]:
        """What stands there of a service, by id. Raises OSError."""

    @abstractmethod
    def put(self, service: str, id: str, data: bytes) -> None:
        """Puts an entry there that stays, in place of what there was under that key."""

    @abstractmethod
    def empty(self) -> None:
        """Removes all entries of all services."""


class RegistryServer(Store):
    """A registry's own server on the loopback interface, with a data folder of its own.

    It runs from the begin of the block, and is gone with all its data at the end, as after an interrupt. It keeps its
    ports and its data while it is stopped, killed and started again. Raises Missing where its program is not there.
    What stands in it is read and written by a client of the tests' own, not by one that is tested.
    """

    ports: int = 1  # that it listens on; the first is for clients

    def __init__(self, root: str = "trunkcall/v1") -> None:
        self.root = root
        self.program()
        self.folder = new_folder(self.scheme)
        self._ports = [Port() for _ in range(self.ports)]
        self.address = f"127.0.0.1:{self._ports[0]}"
        self.process: Process | None = None
        try:
            self.prepare()
            self.start()
        except BaseException:
            self.close()
            raise

    # What a test does to it.

    def start(self, patience: float = PATIENCE) -> None:
        """Returns once it answers."""
        assert self.process is None, "it runs"
        with open(self.folder / "log", "a", encoding="utf-8") as log:
            self.process = Process(self.words(), stdout=log, merged=True)
        self.wait(patience)

    def wait(self, patience: float = PATIENCE) -> None:
        """Returns once it answers. Raises Failed if it does not, or has ended."""
        assert self.process is not None
        deadline = time.monotonic() + patience
        while True:
            status = self.process.ended()
            if status is not None:
                raise Failed(f"{self.scheme} ended with status {status}", self.log())
            with contextlib.suppress(OSError, ValueError):
                if self.answers():
                    return
            if time.monotonic() > deadline:
                self.kill()
                raise Failed(f"{self.scheme} does not answer after {patience:g} s", self.log())
            self.process.read(LOOK)

    def log(self) -> str:
        """The last that it logged."""
        with contextlib.suppress(OSError):
            return (self.folder / "log").read_text(encoding="utf-8", errors="replace")[-3000:]
        return ""

    def stop(self) -> None:
        """SIGTERM, and its end."""
        self._end(5.0)

    def kill(self) -> None:
        """SIGKILL."""
        self._end(0)

    def pause(self) -> None:
        """SIGSTOP: its connections stay, and nothing is answered."""
        assert self.process is not None
        self.process.signal(signal.SIGSTOP)

    def resume(self) -> None:
        """SIGCONT."""
        assert self.process is not None
        self.process.signal(signal.SIGCONT)

    def recover(self) -> None:
        if self.process is None:
            self.start()
        self.resume()
        self.wait()
        self.empty()

    def _end(self, patience: float) -> None:
        if self.process is not None:
            process, self.process = self.process, None
            if patience and process.ended() is None:
                process.signal(signal.SIGCONT)
            process.end(patience)

    def close(self) -> None:
        """Its end, and that of its data."""
        self.kill()
        for port in self._ports:
            port.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    # What each registry has of its own.

    @classmethod
    @abstractmethod
    def program(cls) -> object:
        """What is started. Raises Missing."""

    def prepare(self) -> None:
        """Writes what it is to find in its folder."""

    @abstractmethod
    def words(self) -> list[str]:
        """The command that starts it."""

    @abstractmethod
    def answers(self) -> bool:
        """Whether it serves clients by now."""

    @abstractmethod
    def remove(self, service: str, id: str) -> None:
        """Removes an entry if it is there, whoever has published it."""

    @abstractmethod
    def expire(self) -> None:
        """Ends the leases or sessions of all who publish, as if they had not been renewed."""
