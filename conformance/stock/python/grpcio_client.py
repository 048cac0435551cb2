"""Carries out conformance cases with grpcio, unmodified, and the code that its plugin generates."""

from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path
from typing import Any

import grpc.aio
from carrying import Call
from google.protobuf import json_format
from lines import answer_line, details_of, to_lines

from conformance.v1 import conformance_pb2 as pb
from conformance.v1.conformance_pb2_grpc import ConformanceServiceStub
from program import Program

SERVICE = pb.DESCRIPTOR.services_by_name["ConformanceService"]

OPTIONS: dict[str, Any] = {
    # The framework's own limit, in bytes: gRPC's is 4 MiB.
    "grpc.max_receive_message_length": 64 << 20,
    # gRPC's is 8 KiB; what lies between that and the other is dropped at random.
    "grpc.max_metadata_size": 1 << 20,
    "grpc.absolute_max_metadata_size": 1 << 20,
    "grpc.initial_reconnect_backoff_ms": 20,
    "grpc.max_reconnect_backoff_ms": 20,
}

WRITE_TIME = 1.0  # how long a call that is to be given up waits for what it writes, in seconds


class Channel:
    """Makes calls over a channel of its own."""

    def __init__(self, case: dict[str, Any]) -> None:
        self._channel = channel_of(case)
        self._stub = ConformanceServiceStub(self._channel)

    async def call(self, call: Call) -> dict[str, Any]:
        method = self._asis(call.method) if any(isinstance(one, bytes) for one in call.requests) else None
        return await Running(call, method or getattr(self._stub, call.method)).outcome()

    def _asis(self, name: str) -> Any:
        """The method without what encodes its requests, which a stub always has."""
        method = SERVICE.methods_by_name[name]
        arity = tuple("stream" if many else "unary" for many in (method.client_streaming, method.server_streaming))
        make = getattr(self._channel, "_".join(arity))
        encode = lambda request: request if isinstance(request, bytes) else request.SerializeToString()  # noqa: E731
        return make(f"/{SERVICE.full_name}/{name}", encode, pb.Answer.FromString)

    async def observe(self, plan: str, until: str) -> dict[str, Any]:
        return json_format.MessageToDict(await self._stub.Observe(pb.ObserveRequest(id=plan, until=until)))

    async def close(self) -> None:
        await self._channel.close()


class Running:
    """One call. `method` begins it."""

    def __init__(self, call: Call, method: Any) -> None:
        self._call = call
        self._kind = SERVICE.methods_by_name[call.method]
        self._answers: list[dict[str, Any]] = []
        self._writing = asyncio.Lock()
        first = () if self._kind.client_streaming else (call.requests[0] if call.requests else pb.Request(),)
        self._rpc = method(*first, metadata=call.metadata, timeout=call.timeout, wait_for_ready=call.wait_for_ready)
        if call.give_up.is_set():
            self._rpc.cancel()  # before anything is sent

    async def outcome(self) -> dict[str, Any]:
        """Sends and receives at once, to the end of the call."""
        giving_up = asyncio.ensure_future(self._give_up())
        sending = asyncio.ensure_future(self._send_all()) if self._kind.client_streaming else None
        try:
            await self._receive_all()
            if sending is not None:
                sending.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await sending
            return await self._told()
        finally:
            giving_up.cancel()
            self._rpc.cancel()

    async def _give_up(self) -> None:
        await self._call.give_up.wait()
        # grpcio calls it an internal error, of its own, if a write meets the cancellation.
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._writing.acquire(), WRITE_TIME)
        self._rpc.cancel()

    async def _send_all(self) -> None:
        """Sends the requests. The end of the call meanwhile is for receiving to tell."""
        with contextlib.suppress(grpc.aio.AioRpcError, asyncio.InvalidStateError):
            for number, request in enumerate(self._call.requests):
                if number == 1 and self._call.held is not None:
                    await self._call.held.wait()
                async with self._writing:
                    await self._rpc.write(request)
            await self._rpc.done_writing()

    async def _receive_all(self) -> None:
        with contextlib.suppress(grpc.aio.AioRpcError, asyncio.CancelledError):
            if self._kind.server_streaming:
                async for got in self._rpc:
                    self._take(got)
            else:
                self._take(await self._rpc)

    def _take(self, got: Any) -> None:
        if isinstance(got, pb.Answer):  # or Empty, of which there is nothing to tell
            self._answers.append(answer_line(got))
        self._call.answered.set()

    async def _told(self) -> dict[str, Any]:
        """What the library tells of a call that has ended. Of the delivery only what the server has sent: what its
        absence means depends on who has ended the call, and that is not known."""
        trailer = list(await self._rpc.trailing_metadata() or ())
        named = dict(trailer)
        told = {
            "code": (await self._rpc.code()).name,
            "message": await self._rpc.details() or "",
            "details": details_of(named.get("grpc-status-details-bin", b"")),
            "header": to_lines(await self._rpc.initial_metadata() or ()),
            "trailer": to_lines(trailer),
            "answers": self._answers,
        }
        if "trunk-delivery" in named:
            told["delivery"] = named["trunk-delivery"]
        return told


def channel_of(case: dict[str, Any]) -> grpc.aio.Channel:
    wanted = case.get("client", {})
    if "codec" in wanted or wanted.get("compression", "gzip") != "gzip":
        raise ValueError(f"grpcio cannot be set up so: {wanted}")
    options = dict(OPTIONS)
    if "maxMessage" in wanted:
        options["grpc.max_receive_message_length"] = wanted["maxMessage"]
        options["grpc.max_send_message_length"] = wanted["maxMessage"]
    if case.get("ownConnection"):  # channels share connections otherwise
        options["grpc.use_local_subchannel_pool"] = 1
    settings: dict[str, Any] = {"options": list(options.items())}
    if "compression" in wanted:
        settings["compression"] = grpc.Compression.Gzip
    if "tls" not in case:
        return grpc.aio.insecure_channel(case["target"], **settings)
    return grpc.aio.secure_channel(case["target"], credentials_of(case["tls"]), **settings)


def credentials_of(files: dict[str, str]) -> grpc.ChannelCredentials:
    ca, cert, key = (Path(files[name]).read_bytes() if files.get(name) else None for name in ("ca", "cert", "key"))
    return grpc.ssl_channel_credentials(ca, key, cert)


if __name__ == "__main__":
    asyncio.run(Program(Channel).run())
