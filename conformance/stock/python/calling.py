"""One call."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import grpc.aio
from lines import Pairs, answer_line, details_of, to_lines

from conformance.v1 import conformance_pb2 as pb
from conformance.v1.conformance_pb2_grpc import ConformanceServiceStub

SERVICE = pb.DESCRIPTOR.services_by_name["ConformanceService"]


@dataclass
class Call:
    """A call to be made. Requests are messages, or bytes to be sent as they stand."""

    channel: grpc.aio.Channel
    method: str
    requests: Sequence[pb.Request | bytes]
    metadata: Pairs
    timeout: float | None = None
    held: asyncio.Event | None = None
    """Is set when the requests behind the first may be sent."""
    answered: Callable[[], None] = lambda: None
    """Called when the first answer has come."""
    give_up: asyncio.Event = field(default_factory=asyncio.Event)
    """Is set when the caller gives up."""
    answers: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])

    async def make(self) -> dict[str, Any]:
        """Makes the call, waits for its end, and tells of it."""
        takes_many = SERVICE.methods_by_name[self.method].client_streaming
        first = () if takes_many else (self.requests[0] if self.requests else pb.Request(),)
        call = self._callable()(*first, metadata=self.metadata, timeout=self.timeout)
        if self.give_up.is_set():
            call.cancel()  # before anything is sent
        giving_up = asyncio.ensure_future(self._cancel(call))
        sending = asyncio.ensure_future(self._send_all(call)) if takes_many else None
        try:
            await self._receive_all(call)
            if sending is not None:
                sending.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await sending
            return await self._outcome(call)
        finally:
            giving_up.cancel()
            call.cancel()

    def _callable(self) -> Any:
        """The stub's method. No stub sends bytes that are no message: then one is made without what encodes them."""
        if not any(isinstance(request, bytes) for request in self.requests):
            return getattr(ConformanceServiceStub(self.channel), self.method)
        method = SERVICE.methods_by_name[self.method]
        arity = tuple("stream" if many else "unary" for many in (method.client_streaming, method.server_streaming))
        make = getattr(self.channel, "_".join(arity))
        encode = lambda request: request if isinstance(request, bytes) else request.SerializeToString()  # noqa: E731
        return make(f"/{SERVICE.full_name}/{self.method}", encode, pb.Answer.FromString)

    async def _cancel(self, call: Any) -> None:
        await self.give_up.wait()
        call.cancel()

    async def _send_all(self, call: Any) -> None:
        """Sends the requests. The end of the call meanwhile is for receiving to tell."""
        with contextlib.suppress(grpc.aio.AioRpcError, asyncio.InvalidStateError):
            for number, request in enumerate(self.requests):
                if number == 1 and self.held is not None:
                    await self.held.wait()
                await call.write(request)
            await call.done_writing()

    async def _receive_all(self, call: Any) -> None:
        with contextlib.suppress(grpc.aio.AioRpcError, asyncio.CancelledError):
            if SERVICE.methods_by_name[self.method].server_streaming:
                async for got in call:
                    self._take(got)
            else:
                self._take(await call)

    def _take(self, got: Any) -> None:
        if isinstance(got, pb.Answer):  # or Empty, which nothing can be told of
            self.answers.append(answer_line(got))
        if len(self.answers) == 1:
            self.answered()

    async def _outcome(self, call: Any) -> dict[str, Any]:
        """What the library tells of a call that has ended. Of the delivery only what the server has sent: what its
        absence means depends on who has ended the call, and that is not known."""
        trailer = list(await call.trailing_metadata() or ())
        named = dict(trailer)
        told = {
            "code": (await call.code()).name,
            "message": await call.details() or "",
            "details": details_of(named.get("grpc-status-details-bin", b"")),
            "header": to_lines(await call.initial_metadata() or ()),
            "trailer": to_lines(trailer),
            "answers": self.answers,
        }
        if "trunk-delivery" in named:
            told["delivery"] = named["trunk-delivery"]
        return told
