"""One case while it is carried out."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from conformance.v1 import conformance_pb2 as pb

from .calling import Outgoing, Result
from .data import from_lines
from .lines import request_of
from .methods import OBSERVE, method_of


@dataclass
class Carried:
    """One of its calls."""

    line: dict[str, Any]
    requests: list[Any]
    answered: asyncio.Event = field(default_factory=asyncio.Event)
    task: asyncio.Task[Result] = field(init=False)

    @property
    def id(self) -> str:
        """That of its plan."""
        first = self.requests[0] if self.requests else None
        return first.plan.id if isinstance(first, pb.Request) else ""


class Carrying:
    """`client` is a trunkcall.Client, or does what one does; `do` has the runner do something."""

    def __init__(self, client: Any, do: Callable[[str], Awaitable[None]]) -> None:
        self._client = client
        self._do = do
        self._released = asyncio.Event()

    async def carry_out(self, lines: list[dict[str, Any]]) -> list[Result]:
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
            match one.line.get("begin"):
                case "at-once":
                    await asyncio.sleep(0)  # the call before is begun
                case "beside":
                    await self._started(before)
                case _:
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
        observed: pb.Observed = await self._client.call(OBSERVE, pb.ObserveRequest(id=one.id, until=until))
        return observed

    async def _make(self, one: Carried) -> Result:
        """Makes a call, and gives it up when its line says so."""
        line = one.line
        give_up = asyncio.Event()
        outgoing = Outgoing(
            method_of(line),
            [line["arguments"]] if "arguments" in line else one.requests,
            from_lines(line.get("metadata", ())),
            line["timeoutMs"] / 1_000 if "timeoutMs" in line else None,
            line.get("waitForReady", False),
            self._released if line.get("hold") else None,
            one.answered.set,
            give_up,
        )
        if line.get("cancel") == "before":
            give_up.set()
        watching = asyncio.ensure_future(self._watch(one, give_up))
        try:
            result = await outgoing.make(self._client)
            while line.get("whileOk") and result.failure is None:
                result = await outgoing.make(self._client)
        finally:
            watching.cancel()
        if "observe" in line:
            result.observed = await self._observe(one, line["observe"])
        return result

    async def _watch(self, one: Carried, give_up: asyncio.Event) -> None:
        match one.line.get("cancel"):
            case "started":
                await self._started(one)
            case "answered":
                await one.answered.wait()
            case _:
                return
        give_up.set()
