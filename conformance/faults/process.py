"""Reference programs as processes: a server that can be stopped, killed and started again, and load on it."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.processes import Outcome, Process
from harness.programs import Program

# Bounds a test in which something hangs, in seconds.
LIMIT = 120.0
# How often somebody who waits looks, in seconds.
PAUSE = 0.01

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
        self._process: Process | None = None

    async def start(self) -> None:
        path = self.address.removeprefix("unix:")
        where = ("--listen", self.address) if path == self.address else ("--unix", path)
        words = ("serve", *where, "--faults", "--ledger", str(self.ledger), *self._flags)
        self._process = process = Process([*self.program, *words], log=self._log)
        end = time.monotonic() + LIMIT
        while not process.lines and process.stdout_open:
            if time.monotonic() > end:
                raise process.failure(f"said nothing for {LIMIT:g} s")
            process.read(0)
            await asyncio.sleep(PAUSE)
        line = process.line()
        if not line.startswith("listening "):
            raise process.failure(f"announced {line!r}")
        self.address = line.removeprefix("listening ")

    @property
    def process(self) -> Process:
        assert self._process
        return self._process

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.ended() is None

    def log(self) -> str:
        return self._log.read_text(encoding="utf-8", errors="replace")

    def close(self) -> None:
        """Ends it, unless somebody has."""
        if self._process:
            self._process.end()

    def held(self) -> Held:
        return held(self.pid)

    def executed(self) -> int:
        """About how many calls it has executed, by the size of its ledger."""
        return self.ledger.stat().st_size // LINES if self.ledger.exists() else 0

    def signal(self, number: signal.Signals) -> None:
        self.process.signal(number)

    async def end(self) -> int:
        """Waits for the end; the exit status."""
        return (await finished(self.process)).status

    async def kill(self) -> None:
        self.signal(signal.SIGKILL)
        await self.end()

    async def stop(self) -> int:
        """SIGTERM, and the end."""
        self.signal(signal.SIGTERM)
        return await self.end()


class Load:
    """The bench command of a program while it runs."""

    def __init__(self, process: Process, ledger: Path) -> None:
        self.process = process
        self.ledger = ledger

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def running(self) -> bool:
        return self.process.ended() is None

    async def end(self) -> dict[str, float]:
        """Waits for the end; what was measured."""
        done = await finished(self.process, LIMIT + 1000)
        if done.status != 0:
            raise self.process.failure(f"ended with status {done.status} and printed {done.stdout!r}")
        result: dict[str, float] = json.loads(done.stdout)
        return result

    async def stop(self) -> dict[str, float]:
        """Has no more calls made, and waits for the end."""
        self.process.signal(signal.SIGTERM)
        return await self.end()


async def finished(process: Process, limit: float = LIMIT) -> Outcome:
    """Waits for the end of a process while other tasks go on. Raises Failed if it does not come in time."""
    end = time.monotonic() + limit
    while process.ended() is None:
        if time.monotonic() > end:
            raise process.failure(f"did not end within {limit:g} s")
        process.read(0)
        await asyncio.sleep(PAUSE)
    return process.finish()


async def call(program: Program, target: str, method: str, request: str, *flags: str) -> str:
    """Makes one call that must succeed; its answers, a line each."""
    with Process([*program, "call", "--target", target, method, request, *flags]) as process:
        done = await finished(process)
        if done.status != 0:
            raise process.failure(f"ended with status {done.status}")
    return done.stdout


async def attempt(program: Program, target: str, method: str, request: str, *flags: str) -> dict[str, Any]:
    """Makes one call; how it failed, or nothing."""
    with Process([*program, "call", "--target", target, method, request, *flags]) as process:
        done = await finished(process)
    failure: dict[str, Any] = json.loads(done.stderr) if done.stderr else {}
    return failure
