"""Policy files that are watched, of clients and servers (spec/policy.md 5.6)."""

from __future__ import annotations

import asyncio
import logging
import os
import stat
from collections.abc import Callable, Iterator
from contextvars import Context
from typing import Any

from .balancer import Balancer, is_ours
from .checking import wrong_type
from .cores import now as time_now
from .governance import Governance, Rules
from .observer import Told
from .policies import Policies, Policy
from .policy import MAX_FILE, BadFile, Budget, Fault, File, Holds, parse
from .repeating import Repeating

FilePath = str | os.PathLike[str]
LOOK = 1.0  # seconds between two looks at a file


class PolicyFile:
    """A policy file that is watched. It belongs to one event loop."""

    def __init__(
        self,
        path: FilePath,
        logger: logging.Logger,
        told: Told,
        lacks: Callable[[Holds], list[str]] = lambda holds: [],
    ) -> None:
        """`lacks` names what of a file cannot be done. Raises TypeError; ValueError with all faults of the file, or
        why it cannot be read."""
        if not isinstance(path, (str, os.PathLike)):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise wrong_type("policy_file", path, "a path")
        self._path = os.fspath(path)
        self._log = logger
        self._told = told
        self._lacks = lacks
        self._fault = ""
        self._watching: asyncio.Task[None] | None = None
        try:
            self._read = self._seen = self._stamp()
            self.current = Governance(self._parsed(self._data()), None)  # in place, as all options are judged
        except (OSError, ValueError) as error:
            raise ValueError(f"option policy_file: {self._path}: {_said(error)}") from error

    def begin(self, loop: asyncio.AbstractEventLoop) -> None:
        """Has the file watched, for a server. A second time does nothing."""
        if self._watching is None:
            self._watching = loop.create_task(self.watch(), context=Context())

    def end(self) -> None:
        """It is watched no more."""
        if self._watching is not None:
            self._watching.cancel()

    async def watch(self) -> None:
        """Looks at the file until it is cancelled."""
        while True:
            await asyncio.sleep(LOOK)
            await self.look()

    async def look(self) -> None:
        """Reads the file if it has changed, and has stayed as it is since the last look and until it was read. That is
        done in a thread: a large file takes seconds, which calls do not wait for."""
        try:
            stamp = self._stamp()
            stays, self._seen = stamp == self._seen, stamp
            if not stays or stamp == self._read:
                return
            data = await asyncio.to_thread(self._data)
            if self._stamp() != stamp:
                return
            self._read = stamp
            self.current = Governance(await asyncio.to_thread(self._parsed, data), self.current)
        except OSError as error:
            self._read = self._seen = None
            self._refused(_said(error))
        except ValueError as error:
            self._refused(_said(error))
        else:
            self._fault = ""
            self._log.info("policy file taken: %s", self._path)
            self._told.tell("policy_taken", self._path)

    def _refused(self, why: str) -> None:
        if why != self._fault:  # else it was said before
            self._fault = why
            self._log.warning("policy file not taken: %s: %s", self._path, why)
            self._told.tell("policy_refused", self._path, why)

    def _stamp(self) -> tuple[int, ...] | None:
        status = os.stat(self._path)
        return status.st_mtime_ns, status.st_size, status.st_ino, status.st_dev

    def _data(self) -> bytes:
        """What is in it, or enough to tell that it is too long."""
        _want_regular(os.stat(self._path))
        with open(self._path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK)) as file:
            _want_regular(os.fstat(file.fileno()))  # it may be a pipe by now
            return file.read(MAX_FILE + 1)

    def _parsed(self, data: bytes) -> File:
        file = parse(data)
        lacking = list(self._lacking(file))
        if lacking:
            raise BadFile(lacking)
        return file

    def _lacking(self, file: File) -> Iterator[Fault]:
        for line, path, holds in file.scopes():
            for part in self._lacks(holds):
                yield Fault(line, path, f"{part} is not done by this version")


def _want_regular(status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise OSError("want a file, not a folder or the like")


def _said(error: Exception) -> str:
    if isinstance(error, OSError):
        return error.strerror or str(error)
    return str(error).replace("\n", "; ")


class FilePolicies(Policies):
    """The policies of a client that a file says. It belongs to the client's loop."""

    def __init__(self, file: PolicyFile) -> None:
        super().__init__()
        self.file = self._file = file
        self.watch = file.watch

    def __bool__(self) -> bool:
        return True

    @property
    def quick(self) -> bool:
        return False

    @property
    def timeout(self) -> float | None:
        return None

    def of(self, name: str) -> Policy:
        return self._file.current.of(name).policy

    def of_stream(self, name: str) -> float | None:
        timeout = self._file.current.of(name).holds.stream_timeout
        return None if timeout is None else timeout / 1e9

    def rules(self, name: str) -> Rules | None:
        return self._file.current.of(name)

    @property
    def budget(self) -> Budget:
        """That of the file as it is now."""
        return self._file.current.budget


def _unplaceable(own: Balancer | None) -> Callable[[Holds], list[str]]:
    """Names the rules that would have to choose before a balancer of the user's."""

    def lacks(holds: Holds) -> list[str]:
        if own is None or is_ours(own) or holds.balancer is not None:
            return []
        said = {"outliers": holds.outliers, "zones": holds.zones}
        return [f"{part} before the balancer {type(own).__name__}" for part in said if said[part] is not None]

    return lacks


class Drawing(Repeating):
    """The budget of a client with a file: what it repeats by itself and what its policies have it make again draw on
    the one that the file says."""

    __slots__ = ("_made", "_policies")

    def __init__(self, policies: FilePolicies) -> None:
        self._policies = policies
        self._made = 0
        super().__init__()

    @property
    def calls(self) -> int:
        """Ever begun; each that is added is counted in the budget."""
        return self._made

    @calls.setter
    def calls(self, made: int) -> None:
        if made > self._made:
            self._policies.budget.made(time_now(), made - self._made)
        self._made = made

    def take(self, now: int, allowed: bool | None = None) -> bool:
        return allowed is not False and self._policies.budget.take(time_now())


def chosen_policies(
    policies: Any,
    timeout: float | None,
    repeat: bool,
    path: FilePath | None,
    logger: logging.Logger,
    told: Told,
    balancer: Balancer | None,
) -> tuple[Policies, Repeating]:
    """The policies of a client by its options, and its budget. Raises ValueError, TypeError."""
    if path is None:
        return Policies(policies, timeout), Repeating(repeat)
    if Policies(policies, timeout) or not repeat:
        raise ValueError("options policy_file and policies, timeout or repeat contradict each other")
    found = FilePolicies(PolicyFile(path, logger, told, _unplaceable(balancer)))
    return found, Drawing(found)
