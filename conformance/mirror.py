"""The mirror in Python: a server that gives metadata back and a client that tells all it got; its counterpart is
go/internal/mirror."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from google.protobuf.any_pb2 import Any as AnyMessage

import trunkcall
from example.v1.user_pb2 import GetUserRequest, GetUserResponse, ImportUsersResponse, ListUsersRequest
from tests.peer.programs import LIMIT

PROGRAM = Path(__file__).resolve().parents[1] / "build" / "mirror"
SERVICE = "/trunkcall.example.v1.UserService/"
GET = trunkcall.unary(SERVICE + "GetUser", GetUserRequest, GetUserResponse)
LIST = trunkcall.server_stream(SERVICE + "ListUsers", ListUsersRequest, GetUserResponse)
IMPORT = trunkcall.client_stream(SERVICE + "ImportUsers", GetUserResponse, ImportUsersResponse)
WATCH = trunkcall.bidi_stream(SERVICE + "WatchUsers", GetUserRequest, GetUserResponse)
METHODS = ("GetUser", "ListUsers", "ImportUsers", "WatchUsers")

FAILURE = 'a "<b>" & c\u2028 许\nd'
DETAILS = (
    ("type.googleapis.com/google.rpc.ErrorInfo", b"\n\x01x"),
    ("type.googleapis.com/nobody.Knows", b"\x01\x02\xff"),
    ("", b""),
)


@dataclass
class Plan:
    """A call to make: its method, its metadata, and when it ends early."""

    method: str
    metadata: list[tuple[str, str | bytes]] = field(default_factory=list[tuple[str, "str | bytes"]])
    timeout_ms: int = 0
    cancel: bool = False


@dataclass
class Outcome:
    """All that a caller learns."""

    messages: list[str] = field(default_factory=list[str])
    header: list[tuple[str, bytes]] = field(default_factory=list[tuple[str, bytes]])
    trailer: list[tuple[str, bytes]] = field(default_factory=list[tuple[str, bytes]])
    code: int = 0
    message: str = ""
    delivery: str = ""
    details: list[tuple[str, bytes]] = field(default_factory=list[tuple[str, bytes]])


def plain(metadata: list[tuple[str, str | bytes]]) -> list[tuple[str, bytes]]:
    """Metadata with all values as bytes."""
    return [(key, value.encode() if isinstance(value, str) else value) for key, value in metadata]


class Reflecting:
    """What both ends serve in Python. `lines` is what handlers say: that they wait, and how that ended."""

    def __init__(self) -> None:
        self.lines: asyncio.Queue[str] = asyncio.Queue()

    def handlers(self) -> list[trunkcall.Handler]:
        return [
            GET.handler(self._get),
            LIST.handler(self._list),
            IMPORT.handler(self._import),
            WATCH.handler(self._watch),
        ]

    async def _get(self, request: GetUserRequest, call: trunkcall.ServerCall) -> GetUserResponse:
        return GetUserResponse(name=await self._reflect(call))

    async def _list(self, request: ListUsersRequest, call: trunkcall.ServerCall) -> AsyncIterator[GetUserResponse]:
        name = await self._reflect(call)
        for _ in range(request.count):
            yield GetUserResponse(name=name)

    async def _import(
        self, requests: AsyncIterator[GetUserResponse], call: trunkcall.ServerCall
    ) -> ImportUsersResponse:
        await self._reflect(call)
        return ImportUsersResponse(count=len([request async for request in requests]))

    async def _watch(
        self, requests: AsyncIterator[GetUserRequest], call: trunkcall.ServerCall
    ) -> AsyncIterator[GetUserResponse]:
        name = await self._reflect(call)
        async for _ in requests:
            yield GetUserResponse(name=name)

    async def _reflect(self, call: trunkcall.ServerCall) -> str:
        call.set_header(call.metadata)
        call.set_trailer(call.metadata)
        entries = dict(call.metadata)
        match entries.get("do"):
            case "fail":
                details = [AnyMessage(type_url=url, value=value) for url, value in DETAILS]
                raise trunkcall.StatusError(trunkcall.Code.ABORTED, FAILURE, details)
            case "wait":
                await self._wait(call)
            case "left":
                left = call.time_remaining()
                return "none" if left is None else str(int(left * 1_000))
            case "forward":
                async with trunkcall.Client(str(entries["to"])) as client:
                    return (await client.call(GET, GetUserRequest(), metadata=[("do", "left")])).name
            case "back":
                left = await call.connection.call(GET, GetUserRequest(), metadata=[("do", "left")])
                answers = call.connection.open(LIST, ListUsersRequest(count=2), metadata=[("do", "left")])
                return f"{left.name} {len([answer async for answer in answers])}"
        return "reflected"

    async def _wait(self, call: trunkcall.ServerCall) -> None:
        self.lines.put_nowait("waits")
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            left = call.time_remaining()  # a little, if it was the caller's clock that ended the call
            self.lines.put_nowait("cancelled" if left is None or left > 1 else "deadline")
            raise


class PythonMirror(Reflecting):
    """A server in this process."""

    def __init__(self) -> None:
        super().__init__()
        self.server = trunkcall.Server()
        self.server.register(*self.handlers())
        self.address = ""

    async def __aenter__(self) -> PythonMirror:
        self.address = await self.server.listen("127.0.0.1:0")
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.server.close()

    async def line(self) -> str:
        async with asyncio.timeout(LIMIT):
            return await self.lines.get()


class GoMirror:
    """The server of the program in Go."""

    async def __aenter__(self) -> GoMirror:
        self._process = await asyncio.create_subprocess_exec(PROGRAM, "serve", stdout=asyncio.subprocess.PIPE)
        self.address = await self.line()
        return self

    async def __aexit__(self, *_: object) -> None:
        self._process.terminate()
        await self._process.communicate()

    async def line(self) -> str:
        assert self._process.stdout is not None
        async with asyncio.timeout(LIMIT):
            return (await self._process.stdout.readline()).decode().rstrip()


async def call_in_go(target: str, plan: Plan, cancel: asyncio.Event) -> Outcome:
    """Has the program in Go make a call; it gives up, if that is planned, when `cancel` is set."""
    process = await asyncio.create_subprocess_exec(
        PROGRAM, "call", target, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
    )
    assert process.stdin is not None and process.stdout is not None
    metadata = [(key, base64.b64encode(value).decode()) for key, value in plain(plan.metadata)]
    words = {"method": plan.method, "metadata": metadata, "timeout_ms": plan.timeout_ms, "cancel": plan.cancel}
    process.stdin.write(json.dumps(words).encode() + b"\n")
    if plan.cancel:
        await cancel.wait()
        process.stdin.write(b"\n")
    async with asyncio.timeout(LIMIT):
        told, _ = await process.communicate()
    return _outcome(json.loads(told))


def _outcome(told: dict[str, Any]) -> Outcome:
    for name in ("header", "trailer", "details"):
        told[name] = [(key, base64.b64decode(value)) for key, value in told[name]]
    return Outcome(**told)


async def call_in_python(target: str, plan: Plan, cancel: asyncio.Event) -> Outcome:
    """Makes a call from this process; it gives up, if that is planned, when `cancel` is set."""
    outcome = Outcome()
    async with trunkcall.Client(target) as client:
        client.register(*Reflecting().handlers())  # for those that call back
        work = asyncio.ensure_future(_make(client, plan, outcome))
        if plan.cancel:
            await cancel.wait()
            work.cancel()
        try:
            async with asyncio.timeout(LIMIT):
                await work
        except trunkcall.StatusError as failed:
            outcome.code, outcome.message = int(failed.code), failed.message
            outcome.delivery = failed.delivery.value
            outcome.details = [(detail.type_url, detail.value) for detail in failed.details]
        except asyncio.CancelledError:
            outcome.code, outcome.delivery = int(trunkcall.Code.CANCELLED), "unknown"
    return outcome


async def _make(client: trunkcall.Client, plan: Plan, outcome: Outcome) -> None:
    if plan.method == "GetUser":
        answer = trunkcall.Answer()
        try:
            timeout = plan.timeout_ms / 1_000 if plan.timeout_ms else None
            got = await client.call(GET, GetUserRequest(), timeout=timeout, metadata=plan.metadata, answer=answer)
            outcome.messages.append(got.name)
        finally:
            outcome.header, outcome.trailer = plain(answer.header), plain(answer.trailer)
        return
    stream = await _opened(client, plan)
    try:
        async for message in stream:
            outcome.messages.append(str(message.count) if plan.method == "ImportUsers" else message.name)
    finally:
        if not plan.cancel:
            outcome.header = plain(await stream.header())
            outcome.trailer = plain(stream.trailer)


async def _opened(client: trunkcall.Client, plan: Plan) -> Any:
    """A call that is not unary, with two requests where it takes many."""
    timeout = plan.timeout_ms / 1_000 if plan.timeout_ms else None
    stream: trunkcall.ClientStream[Any, Any]
    if plan.method == "ListUsers":
        return client.open(LIST, ListUsersRequest(count=2), timeout=timeout, metadata=plan.metadata)
    if plan.method == "ImportUsers":
        stream, request = client.open(IMPORT, timeout=timeout, metadata=plan.metadata), GetUserResponse()
    else:
        stream, request = client.open(WATCH, timeout=timeout, metadata=plan.metadata), GetUserRequest()
    for _ in range(2):
        await stream.send(request)
    await stream.half_close()
    return stream
