"""Reference programs as processes: a server that can be stopped, killed and started again, and load on it."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.programs import Program

# Bounds a test in which something hangs, in seconds.
LIMIT = 120.0

# About how many bytes the two lines of an execution have.
LINES = 330

FAULTS = "trunkcall.fault.v1.FaultService/"


@dataclass(frozen=True)
class Held:
    """What a process holds, as seen from outside."""

    descriptors: int
    threads: int
    resident: int  # bytes


def held(pid: int) -> Held:
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii", errors="replace")
    fields = dict(line.split(":", 1) for line in status.splitlines())
    descriptors = len(os.listdir(f"/proc/{pid}/fd"))
    return Held(descriptors, int(fields["Threads"]), int(fields["VmRSS"].split()[0]) * 1024)


class Server:
    """The serve command of a program, with a ledger. Started again, it takes the same address."""

    def __init__(self, program: Program, log: Path, ledger: Path, flags: tuple[str, ...]) -> None:
        self.program = program
        self.ledger = ledger
        self.address = "127.0.0.1:0"
        self._log = log
        self._flags = flags
        self._process: asyncio.subprocess.Process | None = None

    async def start(self) -> None:
        path = self.address.removeprefix("unix:")
        where = ("--listen", self.address) if path == self.address else ("--unix", path)
        words = ("serve", *where, "--faults", "--ledger", str(self.ledger), *self._flags)
        self._process = await spawn(self.program, words, self._log)
        assert self._process.stdout
        async with asyncio.timeout(LIMIT):
            line = (await self._process.stdout.readline()).decode()
        if not line.startswith("listening "):
            await self._process.wait()
            raise AssertionError(f"serve announced {line!r}; it said: {self.log()}")
        self.address = line.removeprefix("listening ").rstrip("\n")

    @property
    def process(self) -> asyncio.subprocess.Process:
        assert self._process
        return self._process

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.returncode is None

    def log(self) -> str:
        return self._log.read_text(encoding="utf-8", errors="replace")

    def held(self) -> Held:
        return held(self.pid)

    def executed(self) -> int:
        """About how many calls it has executed, by the size of its ledger."""
        return self.ledger.stat().st_size // LINES if self.ledger.exists() else 0

    def signal(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    async def end(self) -> int:
        """Waits for the end; the exit status."""
        async with asyncio.timeout(LIMIT):
            return await self.process.wait()

    async def kill(self) -> None:
        self.signal(signal.SIGKILL)
        await self.end()

    async def stop(self) -> int:
        """SIGTERM, and the end."""
        self.signal(signal.SIGTERM)
        return await self.end()


class Load:
    """The bench command of a program while it runs."""

    def __init__(self, process: asyncio.subprocess.Process, ledger: Path) -> None:
        self.process = process
        self.ledger = ledger

    @property
    def pid(self) -> int:
        return self.process.pid

    async def end(self) -> dict[str, float]:
        """Waits for the end; what was measured."""
        async with asyncio.timeout(LIMIT + 1000):
            out, _ = await self.process.communicate()
        if self.process.returncode != 0:
            raise AssertionError(f"bench ended with {self.process.returncode} and printed {out.decode()!r}")
        result: dict[str, float] = json.loads(out)
        return result

    async def stop(self) -> dict[str, float]:
        """Has no more calls made, and waits for the end."""
        self.process.terminate()
        return await self.end()


async def spawn(program: Program, words: tuple[str, ...], log: Path | int | None = None) -> asyncio.subprocess.Process:
    """Starts a command; its stderr goes to a file, to a pipe, or where ours goes."""
    streams = {"stdin": asyncio.subprocess.DEVNULL, "stdout": asyncio.subprocess.PIPE}
    if not isinstance(log, Path):
        return await asyncio.create_subprocess_exec(*program, *words, **streams, stderr=log)
    descriptor = os.open(log, os.O_APPEND | os.O_CREAT | os.O_WRONLY, 0o644)
    try:
        return await asyncio.create_subprocess_exec(*program, *words, **streams, stderr=descriptor)
    finally:
        os.close(descriptor)


async def call(program: Program, target: str, method: str, request: str, *flags: str) -> str:
    """Makes one call that must succeed; its answers, a line each."""
    process = await spawn(program, ("call", "--target", target, method, request, *flags))
    async with asyncio.timeout(LIMIT):
        out, _ = await process.communicate()
    if process.returncode != 0:
        raise AssertionError(f"{method} {request} at {target} ended with {process.returncode}")
    return out.decode()


async def attempt(program: Program, target: str, method: str, request: str, *flags: str) -> dict[str, Any]:
    """Makes one call; how it failed, or nothing."""
    process = await spawn(program, ("call", "--target", target, method, request, *flags), asyncio.subprocess.PIPE)
    async with asyncio.timeout(LIMIT):
        _, err = await process.communicate()
    failure: dict[str, Any] = json.loads(err) if err else {}
    return failure
