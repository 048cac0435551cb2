"""connect-client: makes the calls that it is asked for on stdin, natively, and tells on stdout what came of each."""

from __future__ import annotations

import asyncio
import ssl
import sys
import tempfile
from pathlib import Path
from typing import Any

import trunkcall

from .schema import PACKAGE, Schema, from_headers, to_headers, write

# How many calls are made at a time.
AT_ONCE = 8
KINDS: dict[str, Any] = {
    "STREAM_TYPE_UNARY": trunkcall.unary,
    "STREAM_TYPE_CLIENT_STREAM": trunkcall.client_stream,
    "STREAM_TYPE_SERVER_STREAM": trunkcall.server_stream,
    "STREAM_TYPE_HALF_DUPLEX_BIDI_STREAM": trunkcall.bidi_stream,
    "STREAM_TYPE_FULL_DUPLEX_BIDI_STREAM": trunkcall.bidi_stream,
}


async def call(schema: Schema) -> None:
    """Makes the calls until there are no more."""
    slots = asyncio.Semaphore(AT_ONCE)
    async with asyncio.TaskGroup() as running:
        while wanted := await asyncio.to_thread(schema.read, sys.stdin.buffer, "ClientCompatRequest"):
            await slots.acquire()
            running.create_task(tell(schema, wanted)).add_done_callback(lambda _: slots.release())


async def tell(schema: Schema, wanted: Any) -> None:
    told = schema.type("ClientCompatResponse")(test_name=wanted.test_name)
    try:
        told.response.CopyFrom(await Wanted(schema, wanted).carry_out())
    except Exception as error:
        told.error.message = f"{type(error).__name__}: {error}"
    write(sys.stdout.buffer, told)


class Wanted:
    """A call that is asked for, and what came of it."""

    def __init__(self, schema: Schema, wanted: Any) -> None:
        self._wanted = wanted
        self._kind = wanted.DESCRIPTOR.fields_by_name["stream_type"].enum_type.values_by_number[wanted.stream_type].name
        self._requests = [schema.unpacked(packed) for packed in wanted.request_messages]
        service = wanted.service or f"{PACKAGE}.ConformanceService"
        types = (schema.type(f"{wanted.method}{what}") for what in ("Request", "Response"))
        self._method = KINDS[self._kind](f"/{service}/{wanted.method}", *types)
        self._result: Any = schema.type("ClientResponseResult")()
        timeout = wanted.timeout_ms / 1_000 if wanted.HasField("timeout_ms") else None
        self._options: dict[str, Any] = {"timeout": timeout, "metadata": from_headers(wanted.request_headers)}
        # Of the times at which the call may be given up, the one that is wanted.
        self._give_up: str = wanted.cancel.WhichOneof("cancel_timing") or "after_close_send_ms"
        if not wanted.HasField("cancel"):
            self._give_up = ""

    async def carry_out(self) -> Any:
        wanted = self._wanted
        options: dict[str, Any] = {"tls": client_tls(wanted)}
        if wanted.message_receive_limit:
            options["limits"] = trunkcall.Limits(message_bytes=wanted.message_receive_limit)
        enum = wanted.DESCRIPTOR.fields_by_name["compression"].enum_type
        if enum.values_by_number[wanted.compression].name == "COMPRESSION_GZIP":
            options["compression"] = trunkcall.GZIP
        async with trunkcall.Client(f"{wanted.host}:{wanted.port}", **options) as client:
            try:
                await client.connect()  # the server tells of the time that a call has left
                if self._method.kind.streams:
                    await self._stream(client)
                else:
                    await self._unary(client)
            except trunkcall.StatusError as failed:
                self._fail(failed.code, failed.message)
                for detail in failed.details:
                    self._result.error.details.add(type_url=detail.type_url, value=detail.value)
        return self._result

    def _fail(self, code: int, message: str) -> None:
        self._result.error.code = int(code)
        self._result.error.message = message

    async def _delay(self) -> None:
        await asyncio.sleep(self._wanted.request_delay_ms / 1_000)

    async def _unary(self, client: trunkcall.Client) -> None:
        (request,) = self._requests
        await self._delay()
        calling = asyncio.ensure_future(client.unary(self._method, request, trunkcall.CallOptions(**self._options)))
        giving_up = asyncio.ensure_future(self._cancel_later(calling))
        try:
            got = await calling
        except trunkcall.StatusError as failed:
            self._metadata(failed.header, failed.trailer)
            raise
        except asyncio.CancelledError:
            self._fail(trunkcall.Code.CANCELLED, "given up")
        else:
            self._metadata(got.header, got.trailer)
            self._take(got.message)
        finally:
            giving_up.cancel()

    async def _cancel_later(self, calling: asyncio.Future[Any]) -> None:
        if self._give_up:
            await asyncio.sleep(self._wanted.cancel.after_close_send_ms / 1_000)
            calling.cancel()

    async def _stream(self, client: trunkcall.Client) -> None:
        one = self._method.kind.takes_one
        await self._delay()
        stream: Any = client.open(self._method, *(self._requests if one else ()), **self._options)
        answers = aiter(stream)
        try:
            if not one:
                await self._send_all(stream, answers)
            if self._give_up == "before_close_send":
                stream.cancel()
            else:
                if not one:
                    await stream.half_close()
                if self._give_up == "after_close_send_ms":
                    await asyncio.sleep(self._wanted.cancel.after_close_send_ms / 1_000)
                    stream.cancel()
            while await self._receive(stream, answers):
                pass
        finally:
            stream.cancel()
            self._metadata(await stream.header(), stream.trailer)

    async def _send_all(self, stream: Any, answers: Any) -> None:
        in_turn = self._kind == "STREAM_TYPE_FULL_DUPLEX_BIDI_STREAM"
        for number, request in enumerate(self._requests):
            if number:
                await self._delay()
            if not await stream.send(request):
                self._result.num_unsent_requests = len(self._requests) - number
                return
            if in_turn and not await self._receive(stream, answers):
                return

    async def _receive(self, stream: Any, answers: Any) -> bool:
        """Takes an answer; whether there was one."""
        try:
            self._take(await anext(answers))
        except StopAsyncIteration:
            return False
        if self._give_up == "after_num_responses":
            if len(self._result.payloads) == self._wanted.cancel.after_num_responses:
                stream.cancel()
        return True

    def _take(self, answer: Any) -> None:
        self._result.payloads.add().CopyFrom(answer.payload)

    def _metadata(self, header: Any, trailer: Any) -> None:
        to_headers(header, self._result.response_headers)
        to_headers(trailer, self._result.response_trailers)


def client_tls(wanted: Any) -> ssl.SSLContext | None:
    if not wanted.server_tls_cert:
        return None
    with tempfile.TemporaryDirectory() as folder:
        files = {"ca": wanted.server_tls_cert}
        if wanted.HasField("client_tls_creds"):
            files |= {"cert": wanted.client_tls_creds.cert, "key": wanted.client_tls_creds.key}
        for name, text in files.items():
            (Path(folder) / name).write_bytes(text)
        return trunkcall.client_tls(**{name: str(Path(folder) / name) for name in files})
