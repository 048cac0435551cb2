"""One call, by whichever side."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import trunkcall
from conformance.v1 import conformance_pb2 as pb

from .data import Pairs


@dataclass
class Result:
    """How a call ended."""

    answers: list[pb.Answer] = field(default_factory=list[pb.Answer])
    results: Any = None  # of a code-first call
    header: Pairs = field(default_factory=list[tuple[str, "str | bytes"]])
    trailer: Pairs = field(default_factory=list[tuple[str, "str | bytes"]])
    failure: trunkcall.StatusError | None = None
    given_up: bool = False  # its task was cancelled, which has no status
    observed: pb.Observed | None = None


@dataclass
class Outgoing:
    """A call to be made. Requests are messages, or bytes to be sent as they stand."""

    method: trunkcall.Method[Any, Any]
    requests: Sequence[Any] = ()
    metadata: Pairs = field(default_factory=list[tuple[str, "str | bytes"]])
    timeout: float | None = None
    wait_for_ready: bool = False
    held: asyncio.Event | None = None
    """Is set when the requests behind the first may be sent."""
    answered: Callable[[], None] = lambda: None
    """Called when the first answer has come."""
    give_up: asyncio.Event | None = None
    """Is set when the caller gives up."""

    async def make(self, through: Any) -> Result:
        """Makes the call and waits for its end."""
        result = Result()
        if self.give_up is not None and self.give_up.is_set():
            return Result(given_up=True)  # as a task is that is cancelled before it runs
        try:
            if not self.method.kind.streams:
                await self._until_given_up(self._unary(through, result), result)
            else:
                await self._stream(through, result)
        except trunkcall.StatusError as failed:
            result.failure = failed
        return result

    async def _until_given_up(self, calling: Any, result: Result) -> None:
        """Runs a unary call, which is given up by cancelling its task."""
        task = asyncio.ensure_future(calling)
        giving_up = asyncio.ensure_future(self._cancel(task.cancel))
        try:
            await asyncio.wait([task])
            if task.cancelled():
                result.given_up = True
            else:
                task.result()
        finally:
            task.cancel()
            giving_up.cancel()

    async def _cancel(self, cancel: Callable[[], object]) -> None:
        if self.give_up is not None:
            await self.give_up.wait()
            cancel()

    async def _unary(self, through: Any, result: Result) -> None:
        first = self._first()
        if self.method.kind is trunkcall.Kind.ONE_WAY:
            await through.send(self.method, first, **self._options())
            return
        try:
            got = await through.unary(self.method, first, trunkcall.CallOptions(**self._options()))
        except trunkcall.StatusError as error:
            result.header, result.trailer = list(error.header), list(error.trailer)
            raise
        result.header, result.trailer = got.header, got.trailer
        if isinstance(got.message, pb.Answer):
            self._take(got.message, result)
        else:
            result.results = got.message

    def _options(self) -> dict[str, Any]:
        return {"timeout": self.timeout, "metadata": self.metadata, "wait_for_ready": self.wait_for_ready}

    def _first(self) -> Any:
        return self.requests[0] if self.requests else pb.Request()

    def _take(self, got: pb.Answer, result: Result) -> None:
        result.answers.append(got)
        if len(result.answers) == 1:
            self.answered()

    async def _stream(self, through: Any, result: Result) -> None:
        """Sends and receives at once. A request that could not be sent is known to the sending side alone."""
        one = self.method.kind.takes_one
        stream = through.open(self.method, *([self._first()] if one else []), **self._options())
        giving_up = asyncio.ensure_future(self._cancel(stream.cancel))
        sending = asyncio.ensure_future(self._send_all(stream, () if one else self.requests))
        try:
            async for got in stream:
                self._take(got, result)
        finally:
            giving_up.cancel()
            sending.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await sending
            result.header, result.trailer = await stream.header(), stream.trailer

    async def _send_all(self, stream: Any, requests: Sequence[Any]) -> None:
        for number, request in enumerate(requests):
            if number == 1 and self.held is not None:
                await self.held.wait()
            try:
                if not await stream.send(request):
                    return
            except trunkcall.StatusError:
                stream.cancel()
                raise
        await stream.half_close()
