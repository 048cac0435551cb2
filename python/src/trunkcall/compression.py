"""Compression of messages (protocol.md 12): gzip, which ones are used, and when it pays (limits.md 2)."""

from __future__ import annotations

import importlib
import importlib.util
import zlib
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from time import perf_counter_ns
from typing import Any, Protocol

from .checking import has_functions, wrong_type
from .unpacking import on_a_thread
from .wire import MessageTooLarge, Session, Settings

LEAST = 1 << 10  # bytes of a message; shorter ones are sent plain
LEAST_SAVED = 8  # it is worth sending compressed if this part of it is saved: an eighth
SAVED_PER_BYTE = 80  # ns that a byte less is taken to save: its time on a line of 100 Mbit/s
FIRST_TRUST, MOST_TRUST = 4, 8  # tries that may fail
FIRST_REST, LONGEST_REST = 16, 1_024  # messages sent plain when trust is used up
# Bytes that are compressed, or decompressed, on the event loop at most, and that come out there.
LARGE, LARGE_PLAIN = 64 << 10, 256 << 10
MOST_METHODS = 4_096  # that have an economy of their own


class TooLong(ValueError):
    """A message that is longer than a limit: than the call's own, or when decompressed."""


def bound(message: bytes | bytearray, limit: int, most: int | None) -> int:
    """How long a message may be when decompressed. Raises TooLong for one above the call's own limit already."""
    if most is None:
        return limit
    if len(message) > most:
        raise TooLong(f"of {len(message)} bytes exceeds the call's max_receive {most}")
    return min(limit, most)


class Compression(Protocol):
    """What a compression has. `number` is protocol.md 3.8's: 1 gzip, 2 zstd; there are no others. Called on the event
    loop for each message, but on threads for large ones."""

    @property
    def name(self) -> str:
        """For people."""
        ...

    @property
    def number(self) -> int:
        """On the wire."""
        ...

    def compress(self, message: bytes) -> bytes:
        """The message, compressed. It is sent as it is when this raises."""
        ...

    def decompress(self, data: bytes, limit: int) -> bytes:
        """What `data` holds. Stops and raises TooLong when that is more than `limit` bytes, ValueError for data that is
        cut short, damaged or followed by anything. What data says of its own size must not make it allocate."""
        ...


Compressions = Compression | Sequence[Compression]


class Gzip:
    """gzip (RFC 1952) at its fastest level; a message is one member."""

    name = "gzip"
    number = 1

    def compress(self, message: bytes) -> bytes:
        return zlib.compress(message, 1, 31)

    def decompress(self, data: bytes, limit: int) -> bytes:
        member = zlib.decompressobj(31)
        try:
            message = member.decompress(data, limit + 1)  # memory grows with what comes out
        except zlib.error as error:
            raise ValueError(str(error)) from None
        if len(message) > limit:
            raise TooLong(f"more than {limit} bytes")
        if not member.eof:
            raise ValueError("the data is cut short")
        if member.unused_data:
            raise ValueError("bytes are left over behind the message")
        return message


class Zstd:
    """zstd (RFC 8878) at its fastest level but those below it; a message is one frame."""

    name = "zstd"
    number = 2
    window = 23  # the power of two of the bytes of a frame's window that are taken at most (limits.md 1): 8 MiB

    def compress(self, message: bytes) -> bytes:
        data: bytes = zstd_library().compress(message, 1)
        return data

    def decompress(self, data: bytes, limit: int) -> bytes:
        library = zstd_library()
        options = {library.DecompressionParameter.window_log_max: self.window}
        frame = library.ZstdDecompressor(options=options)
        try:
            message: bytes = frame.decompress(data, limit + 1)  # memory grows with what comes out
        except library.ZstdError as error:
            raise ValueError(str(error)) from None
        if len(message) > limit:
            raise TooLong(f"more than {limit} bytes")
        if not frame.eof:
            raise ValueError("the data is cut short")
        if frame.unused_data:
            raise ValueError("bytes are left over behind the message")
        return message


def _zstd_names() -> list[str]:
    """The modules that have zstd, of those that are there: Python's own from 3.14 on, and the same for those before."""
    found: list[str] = []
    for package, name in (("compression", "compression.zstd"), ("backports", "backports.zstd")):
        if importlib.util.find_spec(package) is not None and importlib.util.find_spec(name) is not None:
            found.append(name)
    return found


_zstd: list[Any] = []


def zstd_library() -> Any:
    """Raises ImportError with advice."""
    if not _zstd:
        names = _zstd_names()
        if not names:
            raise ImportError("zstd needs Python 3.14, or its library for those before, which trunkcall[zstd] brings")
        _zstd.append(importlib.import_module(names[0]))
    return _zstd[0]


GZIP: Compression = Gzip()
ZSTD: Compression = Zstd()
ACCEPTED: Sequence[Compression] = (GZIP, ZSTD) if _zstd_names() else (GZIP,)  # unless one says otherwise


_WANTED = "trunkcall.GZIP or ZSTD, an object that does what Compression says, or several"


def in_order(given: Compressions, option: str = "compression") -> tuple[Compression, ...]:
    """One or several compressions, the preferred one first. Raises TypeError, ValueError for what is none,
    ImportError for zstd without its library."""
    if isinstance(given, str):  # which is a sequence of texts
        raise wrong_type(option, given, _WANTED)
    order = tuple(given) if isinstance(given, Sequence) else (given,)
    for one in order:
        number, name = getattr(one, "number", None), getattr(one, "name", None)
        if isinstance(one, type) or not isinstance(number, int) or not has_functions(one, "compress", "decompress"):
            raise wrong_type(option, one, _WANTED)
        if number not in (1, 2):
            raise ValueError(f"option {option}: the compression {name} has number {number}, want 1 (gzip) or 2 (zstd)")
        if one is ZSTD:
            zstd_library()
    return order


class Economy:
    """Decides whether compressing the messages of one method pays. It begins with some trust; a try that pays adds to
    it and one that does not takes from it. When it is used up, the messages that follow are sent plain for a while,
    twice as many each time, and then one is tried."""

    __slots__ = ("pause", "rest", "trust")

    def __init__(self) -> None:
        self.trust = FIRST_TRUST
        self.rest = 0  # messages to be sent plain before the next try
        self.pause = FIRST_REST  # what `rest` begins with, next time

    def tries(self) -> bool:
        """Whether the next message is to be compressed."""
        if self.rest:
            self.rest -= 1
            return False
        return True

    def note(self, plain: int, packed: int, took: int) -> bool:
        """Takes in how a try went: from how many bytes to how many, in how many ns. Whether the result is worth being
        sent, which does not depend on the time: that is spent."""
        saved = plain - packed
        worth = saved * LEAST_SAVED >= plain
        if worth and took <= saved * SAVED_PER_BYTE:
            self.trust = min(self.trust + 1, MOST_TRUST)
            self.pause = FIRST_REST
            return worth
        self.trust -= 1
        if self.trust <= 0:
            self.trust = 1
            self.rest = self.pause
            self.pause = min(2 * self.rest, LONGEST_REST)
        return worth


def _accepted(order: Sequence[Compression], session: Session) -> Compression | None:
    """The first that the peer accepts."""
    return next((one for one in order if one.number in session.peer.compressions), None)


def _timed(one: Compression, message: bytes) -> tuple[bytes, int]:
    """The message as it is sent, and how many ns that took."""
    began = perf_counter_ns()
    try:
        packed = one.compress(message)
    except Exception:
        packed = message
    return packed, perf_counter_ns() - began


class Packing:
    """The compressions of one Client or Server: what it sends with, what it accepts."""

    def __init__(self, send: Compressions | None, accept: Compressions) -> None:
        """`send` None: nothing was said. Raises TypeError, ValueError."""
        self.said = send is not None
        self.order = () if send is None else in_order(send)
        self.accepted = {one.number: one for one in in_order(accept, "decompression")}
        self._economies: dict[bytes, Economy] = {}
        self._others = Economy()

    def answering(self, asked: int) -> tuple[Compression, ...]:
        """What answers are sent with: what the request was sent with comes first, unless told otherwise."""
        if self.said and not self.order:
            return ()
        own = self.accepted.get(asked)
        return self.order if own is None else (own, *self.order)

    def pack(self, method: bytes, order: Sequence[Compression], session: Session, message: bytes) -> tuple[bytes, int]:
        """A message of a method as it is sent, and its compression, 0: none. Raises LimitError for one that the peer
        would not take when decompressed."""
        if len(message) > session.peer.max_message:
            raise MessageTooLarge(len(message), session.peer.max_message)
        if len(message) < LEAST:
            return message, 0
        one = _accepted(order, session)
        economy = self._economy(method)
        if one is None or not economy.tries():
            return message, 0
        packed, took = _timed(one, message)
        return (packed, one.number) if economy.note(len(message), len(packed), took) else (message, 0)

    def is_large(self, order: Sequence[Compression], session: Session, message: bytes) -> bool:
        """Whether `pack` would hold up the loop, so that `pack_large` is to be used."""
        return LARGE < len(message) <= session.peer.max_message and _accepted(order, session) is not None

    async def pack_large(
        self, method: bytes, order: Sequence[Compression], session: Session, message: bytes
    ) -> tuple[bytes, int]:
        """What `pack` gives, compressed on a thread."""
        one = _accepted(order, session)
        economy = self._economy(method)
        if one is None or not economy.tries():
            return message, 0
        took = 0

        def compress() -> bytes:
            nonlocal took
            packed, took = _timed(one, message)
            return packed

        async with on_a_thread(compress) as packed:
            worth = economy.note(len(message), len(packed), took)
            return (packed, one.number) if worth else (message, 0)

    def _economy(self, method: bytes) -> Economy:
        found = self._economies.get(method)
        if found is None:
            if len(self._economies) >= MOST_METHODS:
                return self._others
            found = self._economies[method] = Economy()
        return found

    def unpack_small(self, number: int, data: bytes, limit: int) -> bytes | None:
        """A message that came compressed; None for a large one, which takes `unpacked`. Raises TooLong, ValueError,
        whose text says with what it was."""
        if len(data) > LARGE:
            return None
        try:
            return self._unpack(number, data, min(limit, LARGE_PLAIN))
        except TooLong:
            if limit <= LARGE_PLAIN:
                raise
            return None

    @asynccontextmanager
    async def unpacked(self, number: int, data: bytes, limit: int) -> AsyncGenerator[bytes]:
        """The same of any size, to be decoded within."""
        small = self.unpack_small(number, data, limit)
        if small is not None:
            yield small
        else:
            async with on_a_thread(lambda: self._unpack(number, data, limit)) as message:
                yield message

    def _unpack(self, number: int, data: bytes, limit: int) -> bytes:
        one = self.accepted[number]  # the session has seen to it
        try:
            return one.decompress(data, limit)
        except TooLong:
            raise TooLong(f"exceeds max_message {limit} when decompressed") from None
        except Exception as error:
            raise ValueError(f"it does not decompress with {one.name}: {error}") from error


class Request:
    """The message that a call begins with, as it is sent to a peer; compressed once for all that have its settings."""

    __slots__ = ("_message", "_method", "_order", "_packed", "_packing", "_settings")

    def __init__(self, packing: Packing, method: bytes, order: Sequence[Compression], message: bytes) -> None:
        self._packing = packing
        self._method = method
        self._order = order
        self._message = message
        self._settings: Settings | None = None  # of the peers that it is packed for
        self._packed = (message, 0)

    def ready(self, session: Session) -> bool:
        """Whether `take` may be called; else `prepare` is to be awaited before."""
        return session.peer == self._settings or not self._packing.is_large(self._order, session, self._message)

    async def prepare(self, session: Session) -> None:
        settings = session.peer
        self._packed = await self._packing.pack_large(self._method, self._order, session, self._message)
        self._settings = settings

    def take(self, session: Session) -> tuple[bytes, int]:
        """The message and its compression. A large one goes plain to a peer that it was not prepared for, which took
        the place of another meanwhile. Raises LimitError."""
        if not self.ready(session):
            return self._message, 0
        if session.peer != self._settings:
            self._packed = self._packing.pack(self._method, self._order, session, self._message)
            self._settings = session.peer
        return self._packed
