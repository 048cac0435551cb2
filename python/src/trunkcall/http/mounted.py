"""An application of ASGI 3, which is served for the paths that are no services (http.md 9): its life, and one request
at a time. Its tasks are cancelled only when the server ends: that a client is gone it is told, as ASGI has it."""

from __future__ import annotations

import asyncio
import re
import secrets
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any

from trunkcall.wire import Code, Load

from . import answering
from .ends import http_status
from .fields import Fields, Request
from .line import LineStream
from .refusal import Refusal
from .stream import ANSWERED, Receiver
from .underway import LATE, UnderWay

Application = Callable[[dict[str, Any], Callable[[], Awaitable[Any]], Callable[[Any], Awaitable[None]]], Awaitable[Any]]
Log = Callable[[str, BaseException | None], None]

SHUTDOWN = 10.0  # seconds for an application's own end
_ASGI = {"version": "3.0", "spec_version": "2.4"}
_COST = 64  # of a piece of a body that waits, beside its bytes
_OF_CONNECTIONS = frozenset(("connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade"))
_BODILESS = (204, 304)
_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9a-z-]+")  # of a field (RFC 9110 5.1), in lower case
_GONE = "the client is gone"


class Mounted:
    """One application on one server."""

    def __init__(
        self,
        application: Application,
        load: Load,
        log: Log,
        keep: Callable[[asyncio.Task[None]], None],
    ) -> None:
        """`keep` is given the tasks that the server waits for, and cancels, at its end."""
        self.application = application
        self.load = load
        self.log = log
        self.keep = keep
        self.state: dict[str, Any] = {}
        self._told: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self._life: asyncio.Task[None] | None = None
        self._started: asyncio.Future[str] | None = None  # "" or why it has failed
        self._ended: asyncio.Future[None] | None = None

    # The application's life.

    async def start(self) -> None:
        """Has it start, once. Raises RuntimeError if it says that it cannot."""
        if self._started is None:
            loop = asyncio.get_running_loop()
            self._started, self._ended = loop.create_future(), loop.create_future()
            self._told.put_nowait({"type": "lifespan.startup"})
            self._life = loop.create_task(self._live(self._started, self._ended))
        if why := await asyncio.shield(self._started):
            raise RuntimeError(f"the application could not be started: {why}")

    async def stop(self) -> None:
        """Has it end, for SHUTDOWN seconds at most."""
        life, ended = self._life, self._ended
        if life is None or ended is None:
            return
        self._life = None
        self._told.put_nowait({"type": "lifespan.shutdown"})
        await asyncio.wait([life, ended], timeout=SHUTDOWN, return_when=asyncio.FIRST_COMPLETED)
        if not life.done():
            life.cancel()
            await asyncio.wait([life])

    async def _live(self, started: asyncio.Future[str], ended: asyncio.Future[None]) -> None:
        async def send(message: dict[str, Any]) -> None:
            kind = message["type"]
            if kind == "lifespan.startup.complete" and not started.done():
                started.set_result("")
            elif kind == "lifespan.startup.failed" and not started.done():
                started.set_result(str(message.get("message", "")) or "it does not say why")
            elif kind in ("lifespan.shutdown.complete", "lifespan.shutdown.failed") and not ended.done():
                ended.set_result(None)
                if kind == "lifespan.shutdown.failed":
                    self.log(f"the application could not be ended: {message.get('message', '')}", None)
            else:
                raise RuntimeError(f"{kind} is not what a lifespan has here")

        try:
            await self.application({"type": "lifespan", "asgi": _ASGI, "state": self.state}, self._told.get, send)
        except Exception as error:
            if started.done():
                self.log("the application failed in its lifespan", error)
            # else it has none, which ASGI lets it say in this way
        finally:
            if not started.done():
                started.set_result("")

    # Requests.

    def serve(self, request: Request, stream: LineStream) -> Receiver:
        load = self.load
        if load.running >= load.running_limit:
            load.count(refused=True)
            answering.text(stream, 503, f"{load.running_limit} handlers are running, which is the limit")
            return ANSWERED
        visit = stream.receiver = Visit(self, request, stream)
        visit.begin()
        return visit

    def scope(self, request: Request, stream: LineStream) -> dict[str, Any]:
        line = stream.line
        headers = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in request.fields]
        if stream.multiplexed:  # where a cookie may stand in several fields (RFC 9113 8.2.3)
            cookies = b"; ".join(value for name, value in headers if name == b"cookie")
            headers = [one for one in headers if one[0] != b"cookie"]
            headers += [(b"cookie", cookies)] if cookies else []
        return {
            "type": "http",
            "asgi": _ASGI,
            "http_version": stream.version,
            "method": request.method,
            "scheme": "http" if line.tls is None else "https",
            "path": request.path,
            "raw_path": request.raw_path.encode("latin-1", "replace"),
            "query_string": request.query.encode("latin-1", "replace"),
            "root_path": "",
            "headers": headers,
            "client": _address(line.transport.get_extra_info("peername")),
            "server": _address(line.transport.get_extra_info("sockname")),
            "state": self.state.copy(),
        }


class Visit:
    """One request, and what the application answers."""

    def __init__(self, mounted: Mounted, request: Request, stream: LineStream) -> None:
        self._mounted = mounted
        self._request = request
        self._stream = stream
        self._inbox: deque[tuple[bytes, int]] = deque()  # of the body, with their credit
        self._ended = False  # the request is whole
        self._told_end = False
        self._gone = False  # the client is, or the answer was broken off
        self._blocked = False
        self._news = asyncio.Event()
        self._under_way = UnderWay()
        self._head: tuple[int, Fields] | None = None
        self._begun = self._over = False  # the answer
        self._left = -1  # bytes of it that its length lets follow; -1: it has none
        self._task: asyncio.Task[None] | None = None

    def begin(self) -> None:
        mounted, stream = self._mounted, self._stream
        mounted.load.running += 1
        stream.handler_began()
        self._task = stream.line.loop.create_task(self._run())
        self._task.add_done_callback(self._returned)
        mounted.keep(self._task)

    async def _run(self) -> None:
        mounted, fault = self._mounted, None
        name = f"{self._request.method} {self._request.path}"
        try:
            await mounted.application(mounted.scope(self._request, self._stream), self.receive, self.send)
            if not self._over and not self._gone:
                fault = f"the application has not answered {name}" if self._head is None else ""
                fault = fault or f"the application has not ended its answer to {name}"
                mounted.log(fault, None)
        except Exception as error:
            if self._gone:
                return
            fault = f"the application failed at {name}"
            number = secrets.token_hex(8)
            mounted.log(f"{fault}: error {number}", error)
            fault = f"the application failed (error {number} in the log of the server)"
        if fault:
            self._break_off(500, fault if "(" in fault else "the application has not answered")

    def _returned(self, task: asyncio.Task[None]) -> None:
        if task.cancelled() and not self._over and not self._gone:
            self._break_off(503, "the server is stopping")
        self._mounted.load.running -= 1
        self._stream.handler_returned()

    def _break_off(self, status: int, text: str) -> None:
        """Answers in place of the application, or ends an answer that has begun so that it is not taken for whole."""
        if self._over:
            return
        self._gone = self._over = True
        self._drop()
        stream = self._stream
        if self._begun:
            stream.break_off("the application's answer was broken off")
        else:
            answering.text(stream, status, text)
        self._news.set()

    def _drop(self) -> None:
        self._under_way.set(False)
        credit = sum(credit for _, credit in self._inbox)
        self._inbox.clear()
        self._stream.let_go_all()
        if credit:
            self._stream.consumed(credit)

    # What comes of the request.

    def data(self, data: bytes, credit: int) -> None:
        if self._over or self._gone:
            self._stream.consumed(credit)
            return
        try:
            self._stream.hold(len(data) + _COST)
        except Refusal as full:
            self._stream.consumed(credit)
            self.cut_off(full.code, full.text, full.soon)
            return
        self._under_way.set(False)
        self._inbox.append((data, credit))
        self._news.set()

    def ended(self) -> None:
        self._ended = True
        self._under_way.set(False)
        self._news.set()

    def lost(self) -> None:
        self._gone = True
        self._drop()
        self._news.set()

    def writable(self) -> None:
        self._blocked = False
        self._news.set()

    def tick(self, now: int) -> None:
        if self._under_way.late(now):
            self.cut_off(Code.RESOURCE_EXHAUSTED, LATE)

    def cut_off(self, code: Code, text: str, soon: bool = False) -> None:
        if self._over:
            return
        self._mounted.load.count(refused=False)
        if self._task is not None and not self._task.done():
            self._stream.abandoned()
            self._task.cancel()
        self._break_off(http_status(code), text)

    # As the application sees it.

    async def receive(self) -> dict[str, Any]:
        self._stream.proceed()
        while not (self._gone or self._over):
            if self._inbox:
                data, credit = self._inbox.popleft()
                self._stream.let_go(len(data) + _COST)
                self._stream.consumed(credit)
                self._told_end = self._ended and not self._inbox
                return {"type": "http.request", "body": data, "more_body": not self._told_end}
            if self._ended and not self._told_end:
                self._told_end = True
                return {"type": "http.request", "body": b"", "more_body": False}
            self._under_way.set(not self._ended)
            self._news.clear()
            await self._news.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: dict[str, Any]) -> None:
        """Raises OSError once the client is gone; RuntimeError, ValueError for what is no answer."""
        if self._gone:
            raise ConnectionResetError(_GONE)
        kind = message["type"]
        if kind == "http.response.start" and self._head is None:
            self._head = self._checked(message)
        elif kind == "http.response.body" and self._head is not None and not self._over:
            await self._write(self._head, bytes(message.get("body", b"")), bool(message.get("more_body", False)))
        else:
            raise RuntimeError(f"{kind} is not what an answer has here")

    def _checked(self, message: dict[str, Any]) -> tuple[int, Fields]:
        status = int(message["status"])
        if not 200 <= status <= 999:
            raise ValueError(f"{status} is not the status of an answer")
        fields: Fields = []
        for name, value in message.get("headers", ()):
            key, text = bytes(name).decode("ascii").lower(), bytes(value).decode("latin-1").strip(" \t")
            if not _NAME.fullmatch(key) or any(one in text for one in "\r\n\0"):
                raise ValueError(f"{name!r}: {value!r} is no field of a header")
            if key == "content-length":
                if not (text.isascii() and text.isdigit()):
                    raise ValueError(f"{value!r} is no content-length")
                if self._left >= 0:  # said before
                    if self._left != int(text):
                        raise ValueError("the answer has two content-lengths")
                    continue
                self._left = int(text)
            if key not in _OF_CONNECTIONS:
                fields.append((key, text))
        if status in _BODILESS:
            self._left = -1
        return status, fields

    async def _write(self, head: tuple[int, Fields], body: bytes, more: bool) -> None:
        status, fields = head
        stream = self._stream
        bodiless = stream.bodiless or status in _BODILESS
        whole = len(body) if not more and not self._begun and status not in _BODILESS else -1
        if bodiless:
            body = b""
        elif self._left >= 0:
            self._left -= len(body)
            if self._left < 0 or (self._left and not more):
                raise RuntimeError("the answer is not as long as its content-length")
        if not self._begun:
            self._begun = True
            if whole >= 0 and self._left < 0:
                fields = [*fields, ("content-length", str(whole))]
            if not more and not body:
                self._over = True
                stream.head(status, fields, end=True)
                self._drop()
                self._news.set()
                return
            stream.head(status, fields)
        if body:
            self._blocked = not stream.write(body)
        if not more:
            self._over = True
            stream.end()
            self._drop()
            self._news.set()
        while self._blocked and not self._gone and not self._over:
            self._news.clear()
            await self._news.wait()


def _address(name: Any) -> tuple[str, int] | None:
    """That of a socket, None for one of Unix and in memory."""
    if not isinstance(name, tuple):
        return None
    host, port = name[:2]  # pyright: ignore[reportUnknownVariableType]
    return str(host), int(port)  # pyright: ignore[reportUnknownArgumentType]
