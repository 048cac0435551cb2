"""One case while it is carried out, whoever makes its calls."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from lines import Pairs, from_lines, request_of

from conformance.v1 import conformance_pb2 as pb


@dataclass
class Call:
    """A call to be made. Requests are messages, or bytes to be sent as they stand; `arguments` stand in their place."""

    method: str
    requests: list[pb.Request | bytes]
    arguments: list[Any] | None
    metadata: Pairs
    timeout: float | None
    wait_for_ready: bool
    answered: asyncio.Event = field(default_factory=asyncio.Event)
    """Is set at the first answer."""
    held: asyncio.Event | None = None
    """Is set when the requests behind the first may be sent."""
    give_up: asyncio.Event = field(default_factory=asyncio.Event)
    """Is set when the caller gives up."""

    @property
    def id(self) -> str:
        """That of its plan."""
        first = self.requests[0] if self.requests else None
        return first.plan.id if isinstance(first, pb.Request) else ""


class Caller(Protocol):
    """What makes calls."""

    async def call(self, call: Call) -> dict[str, Any]:
        """Makes a call, waits for its end, and gives its outcome."""

    async def observe(self, plan: str, until: str) -> dict[str, Any]:
        """What Observe answers, in JSON."""

    async def close(self) -> None: ...


@dataclass
class Carried:
    """A call of the case that is made."""

    line: dict[str, Any]
    call: Call
    task: asyncio.Task[dict[str, Any]]


class Carrying:
    """`do` has the runner do something."""

    def __init__(self, caller: Caller, do: Callable[[str], Awaitable[None]]) -> None:
        self._caller = caller
        self._do = do
        self._released = asyncio.Event()

    async def carry_out(self, lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
        calls: list[Carried] = []
        try:
            for line in lines:
                call = self._prepared(line)
                await self._turn_of(line, calls[-1] if calls else None)
                calls.append(Carried(line, call, asyncio.ensure_future(self._make(line, call))))
            for one in calls:
                if not one.line.get("hold"):
                    await asyncio.wait([one.task])
            self._released.set()
            return [await one.task for one in calls]
        finally:
            for one in calls:
                one.task.cancel()

    def _prepared(self, line: dict[str, Any]) -> Call:
        call = Call(
            line["method"],
            [request_of(request) for request in line.get("requests", ())],
            line.get("arguments"),
            from_lines(line.get("metadata", ())),
            line["timeoutMs"] / 1_000 if "timeoutMs" in line else None,
            line.get("waitForReady", False),
        )
        if line.get("hold"):
            call.held = self._released
        return call

    async def _turn_of(self, line: dict[str, Any], before: Carried | None) -> None:
        """Waits until a call may begin, and has done what is to be done before."""
        match line.get("begin", "then"):
            case "beside" if before is not None:
                await self._started(before.line, before.call)
            case "then" if before is not None:
                await asyncio.wait([before.task])
        if "do" in line:
            await self._do(line["do"])

    async def _started(self, line: dict[str, Any], call: Call) -> None:
        """Waits until the handler of a call has started."""
        if line.get("hold"):
            await call.answered.wait()
        else:
            await self._observe(call, "STARTED")

    async def _observe(self, call: Call, until: str) -> dict[str, Any]:
        if not call.id:
            raise ValueError("the call has no plan with an id")
        return await self._caller.observe(call.id, until)

    async def _make(self, line: dict[str, Any], call: Call) -> dict[str, Any]:
        """Makes a call, gives it up when its line says so, and looks what became of it."""
        if line.get("cancel") == "before":
            call.give_up.set()
        watching = asyncio.ensure_future(self._watch(line, call))
        try:
            told = await self._caller.call(call)
        finally:
            watching.cancel()
        if "observe" in line:
            told["observed"] = await self._observe(call, line["observe"])
        return told

    async def _watch(self, line: dict[str, Any], call: Call) -> None:
        match line.get("cancel"):
            case "started":
                await self._started(line, call)
            case "answered":
                await call.answered.wait()
            case _:
                return
        call.give_up.set()
