"""One case while it is carried out."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import grpc.aio
from calling import Call
from google.protobuf import json_format
from lines import from_lines, request_of

from conformance.v1 import conformance_pb2 as pb
from conformance.v1.conformance_pb2_grpc import ConformanceServiceStub


@dataclass
class Carried:
    """One of its calls."""

    line: dict[str, Any]
    requests: list[pb.Request | bytes]
    answered: asyncio.Event = field(default_factory=asyncio.Event)
    task: asyncio.Task[dict[str, Any]] = field(init=False)

    @property
    def id(self) -> str:
        """That of its plan."""
        first = self.requests[0] if self.requests else None
        return first.plan.id if isinstance(first, pb.Request) else ""


class Carrying:
    """`do` has the runner do something."""

    def __init__(self, channel: grpc.aio.Channel, do: Callable[[str], Awaitable[None]]) -> None:
        self._channel = channel
        self._do = do
        self._released = asyncio.Event()

    async def carry_out(self, lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
        calls: list[Carried] = []
        try:
            for line in lines:
                one = Carried(line, [request_of(request) for request in line.get("requests", ())])
                await self._turn_of(one, calls[-1] if calls else None)
                one.task = asyncio.ensure_future(self._make(one))
                calls.append(one)
            for one in calls:
                if not one.line.get("hold"):
                    await asyncio.wait([one.task])
            self._released.set()
            return [await one.task for one in calls]
        finally:
            for one in calls:
                one.task.cancel()

    async def _turn_of(self, one: Carried, before: Carried | None) -> None:
        """Waits until a call may begin, and has done what is to be done before."""
        if before is not None:
            if one.line.get("begin") == "beside":
                await self._started(before)
            else:
                await asyncio.wait([before.task])
        if "do" in one.line:
            await self._do(one.line["do"])

    async def _started(self, one: Carried) -> None:
        """Waits until the handler of a call has started."""
        if one.line.get("hold"):
            await one.answered.wait()
        else:
            await self._observe(one, "STARTED")

    async def _observe(self, one: Carried, until: str) -> pb.Observed:
        if not one.id:
            raise ValueError("the call has no plan with an id")
        wanted = pb.ObserveRequest(id=one.id, until=until)
        return await ConformanceServiceStub(self._channel).Observe(wanted)

    async def _make(self, one: Carried) -> dict[str, Any]:
        """Makes a call, gives it up when its line says so, and looks what became of it."""
        line = one.line
        call = Call(
            self._channel,
            line["method"],
            one.requests,
            from_lines(line.get("metadata", ())),
            line["timeoutMs"] / 1_000 if "timeoutMs" in line else None,
            self._released if line.get("hold") else None,
            one.answered.set,
        )
        if line.get("cancel") == "before":
            call.give_up.set()
        watching = asyncio.ensure_future(self._watch(one, call.give_up))
        try:
            told = await call.make()
        finally:
            watching.cancel()
        if "observe" in line:
            told["observed"] = json_format.MessageToDict(await self._observe(one, line["observe"]))
        return told

    async def _watch(self, one: Carried, give_up: asyncio.Event) -> None:
        match one.line.get("cancel"):
            case "started":
                await self._started(one)
            case "answered":
                await one.answered.wait()
            case _:
                return
        give_up.set()
