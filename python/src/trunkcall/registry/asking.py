"""Asks a registry that is another program over HTTP/1.1. Needs h11."""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

import h11

from trunkcall.status import spelled

from .store import RegistryError

READ = 64 << 10
CONNECTS_WITHIN = 3.0  # seconds
SHOWN = 200  # characters of an answer that are told of


class TooLong(RegistryError):
    """An answer with more bytes than are taken."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What was answered."""

    who: str
    status: int
    headers: Mapping[str, str]
    data: bytes

    @property
    def text(self) -> str:
        """The beginning of it in a line, for people."""
        shown = self.data[: 4 * SHOWN].decode(errors="replace")[:SHOWN]
        return "".join(one if one.isprintable() else " " for one in shown).strip()

    def check(self) -> None:
        """Raises RegistryError for one that is not well."""
        if self.status != 200:
            raise RegistryError(f"{self.who} answered {self.status}: {self.text}")

    def value(self) -> Any:
        """Of JSON. Raises RegistryError for what is none, or not well."""
        self.check()
        return read_json(self.who, self.data)


def read_json(who: str, data: bytes) -> Any:
    """Raises RegistryError."""
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        raise RegistryError(f"{who} answered what is no JSON: {error}") from None


class _Line:
    """A connection."""

    def __init__(self, who: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.who = who
        self.used = False
        self._reader = reader
        self._writer = writer
        self._http = h11.Connection(h11.CLIENT)

    async def send(self, method: str, target: str, headers: Mapping[str, str], body: bytes) -> None:
        """Raises OSError."""
        begin = self._begin(method, target, {"Content-Length": str(len(body)), **headers})
        await self._write(begin, h11.Data(data=body), h11.EndOfMessage())

    async def begin(self, method: str, target: str, headers: Mapping[str, str], body: bytes) -> None:
        """Sends a request of which more may follow while it is answered. Raises OSError."""
        # Servers in Go answer before the end of a request only where it is the last of its connection.
        goes_on = {"Transfer-Encoding": "chunked", "Connection": "close", **headers}
        await self._write(self._begin(method, target, goes_on), h11.Data(data=body))

    async def more(self, body: bytes) -> None:
        """Of a request that was begun. Raises OSError."""
        await self._write(h11.Data(data=body))

    def _begin(self, method: str, target: str, headers: Mapping[str, str]) -> h11.Request:
        given = {"Host": self.who, "Accept": "application/json", **headers}
        return h11.Request(method=method, target=target, headers=list(given.items()))

    async def _write(self, *events: h11.Request | h11.Data | h11.EndOfMessage) -> None:
        self._writer.write(b"".join(self._http.send(event) or b"" for event in events))
        await self._writer.drain()

    async def head(self) -> h11.Response:
        """Raises OSError, RegistryError."""
        while True:
            event = await self._event()
            if isinstance(event, h11.Response):
                return event

    async def parts(self) -> AsyncIterator[bytes]:
        """Of the body. Raises OSError, RegistryError."""
        while (part := await self.part()) is not None:
            yield part

    async def part(self) -> bytes | None:
        """The next of the body, None for its end. Nothing is lost if it is cancelled. Raises OSError, RegistryError."""
        while not isinstance(event := await self._event(), h11.EndOfMessage):
            if isinstance(event, h11.Data):
                return bytes(event.data)
        return None

    async def _event(self) -> Any:
        try:
            while (event := self._http.next_event()) is h11.NEED_DATA:
                data = await self._reader.read(READ)
                if not data and self._http.their_state is h11.SEND_RESPONSE:
                    raise ConnectionResetError(f"{self.who} has closed the connection")
                self._http.receive_data(data)
        except h11.RemoteProtocolError as error:
            raise RegistryError(f"{self.who} does not speak HTTP as it should: {error}") from None
        return event

    def again(self) -> bool:
        """Whether another request may follow."""
        if self._http.our_state is not h11.DONE or self._http.their_state is not h11.DONE:
            return False
        self._http.start_next_cycle()
        self.used = True
        return not self._reader.at_eof()

    def end(self) -> None:
        self._writer.transport.abort()


class Asking:
    """Asks one of several servers, on one event loop. To be used as `async with`."""

    def __init__(self, hosts: Sequence[str], tls: ssl.SSLContext | None, first: int = 0) -> None:
        """`first` is the place of who is asked first, counted round."""
        self.headers: dict[str, str] = {}  # of each request
        self._hosts = hosts
        self._tls = tls
        self._at = first  # of `_hosts`, who is asked
        self._idle: _Line | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._forget()

    def _forget(self) -> None:
        if self._idle is not None:
            self._idle.end()
            self._idle = None

    async def ask(self, method: str, target: str, body: Any = None, *, within: float, most: int) -> Answer:
        """Sends a request, with a body of JSON unless it is None, and takes an answer of at most so many bytes. Another
        server is asked next time if this one fails. Raises OSError, RegistryError, TooLong."""
        data = b"" if body is None else json.dumps(body).encode()
        try:
            async with asyncio.timeout(within):
                return await self._asked(method, target, data, most)
        except TimeoutError:
            host = self._hosts[self._at % len(self._hosts)]
            self._at += 1
            raise RegistryError(f"{host} has not answered for {within:g} s") from None
        except (OSError, RegistryError) as error:
            if not isinstance(error, TooLong):
                self._at += 1
            raise

    async def _asked(self, method: str, target: str, data: bytes, most: int) -> Answer:
        line, self._idle = self._idle, None
        if line is not None:
            try:
                return await self._exchanged(line, method, target, data, most)
            except ConnectionError:
                pass  # it had been closed meanwhile: requests may be made twice
        return await self._exchanged(await self._connected(), method, target, data, most)

    async def _exchanged(self, line: _Line, method: str, target: str, data: bytes, most: int) -> Answer:
        kept = False
        try:
            await line.send(method, target, self.headers, data)
            head = await line.head()
            found = bytearray()
            async for part in line.parts():
                found += part
                if len(found) > most:
                    raise TooLong(f"{line.who} answered with more than {most} bytes")
            kept = line.again()
        finally:
            if kept and self._idle is None:
                self._idle = line
            else:
                line.end()
        headers = {name.decode("latin-1"): text.decode("latin-1") for name, text in head.headers}
        return Answer(line.who, head.status_code, headers, bytes(found))

    async def lines(
        self, method: str, target: str, body: Any, *, sign: Any, after: float, within: float, most: int
    ) -> AsyncGenerator[bytes, None]:
        """The lines of an answer that goes on, over a connection of its own: it has to begin in `within` seconds.
        No line may be longer than `most` bytes. When nothing has come for `after` seconds `sign` is sent in
        the request, and something has to come in `within` seconds. Raises OSError, RegistryError."""
        try:
            async with asyncio.timeout(within):
                line = await self._connected()
        except TimeoutError:
            raise RegistryError(f"{self._hosts[self._at % len(self._hosts)]} was not reached in {within:g} s") from None
        try:
            try:
                async with asyncio.timeout(within):
                    await line.begin(method, target, self.headers, _line_of(body))
                    head = await line.head()
            except TimeoutError:
                raise RegistryError(f"{line.who} has not answered for {within:g} s") from None
            left = bytearray()
            while (part := await _part(line, _line_of(sign), after, within)) is not None:
                left += part
                whole: list[bytearray] = []
                if b"\n" in part and head.status_code == 200:
                    *whole, left = left.split(b"\n")
                if len(left) > most:
                    raise TooLong(f"{line.who} answered with a line of more than {most} bytes")
                for one in whole:
                    yield bytes(one)
            if head.status_code != 200:
                Answer(line.who, head.status_code, {}, bytes(left)).value()
        finally:
            line.end()

    async def _connected(self) -> _Line:
        """Raises OSError: of the server that was tried last."""
        failed: OSError | None = None
        for _ in self._hosts:
            who = self._hosts[self._at % len(self._hosts)]
            host, _, port = who.rpartition(":")
            try:
                async with asyncio.timeout(CONNECTS_WITHIN):
                    reader, writer = await asyncio.open_connection(host.strip("[]"), int(port), ssl=self._tls)
                return _Line(who, reader, writer)
            except OSError as error:
                failed = error if str(error) else OSError(f"{who} was not reached in {CONNECTS_WITHIN:g} s")
                self._at += 1
        assert failed is not None
        raise failed


def _line_of(body: Any) -> bytes:
    return json.dumps(body).encode() + b"\n"


async def _part(line: _Line, sign: bytes, after: float, within: float) -> bytes | None:
    """The next part of an answer, which is asked for a sign of life. Raises OSError, RegistryError."""
    with suppress(TimeoutError):
        async with asyncio.timeout(after):
            return await line.part()
    try:
        async with asyncio.timeout(within):
            await line.more(sign)
            return await line.part()
    except TimeoutError:
        raise RegistryError(f"{line.who} has not answered for {within:g} s") from None


def in_order(who: str, error: Exception) -> RegistryError:
    """For an answer that is JSON, but not of the form that it should have."""
    return RegistryError(f"{who} answered in another form than it should: {spelled(error)}")
