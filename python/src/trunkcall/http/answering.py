"""Writes the answer of a call in its protocol, and the answers that HTTP itself gives."""

from __future__ import annotations

from base64 import b64encode
from typing import TYPE_CHECKING

from trunkcall.wire import OK, Metadata, Status

from .dialects import Dialect
from .ends import connect_error, delivery_fields, fitting_end, http_status
from .fields import DELIVERY, ENCODINGS, Fields, web_fields

if TYPE_CHECKING:
    from .stream import Stream

_JSON = 2  # the codec's number


class Answering:
    """The answer of one call."""

    __slots__ = ("_accepted", "_by_get", "_codec", "_dialect", "_early", "_packs", "_stream", "_type", "begun")

    def __init__(
        self, stream: Stream, dialect: Dialect, codec: int, kind: str, packs: int, accepted: str, by_get: bool = False
    ) -> None:
        """`kind` is the content type, `packs` the compression that answers may be in, `accepted` lists those that
        requests may be in."""
        self._stream = stream
        self._dialect = dialect
        self._codec = codec
        self._type = kind
        self._packs = packs
        self._accepted = accepted
        self._by_get = by_get
        self._early: Metadata | None = None
        self.begun = False  # something of it was written

    def early(self, metadata: Metadata) -> None:
        """Sends metadata ahead of the messages, where the protocol can."""
        if self._dialect.plain:
            self._early = metadata  # the head waits for the status
        else:
            self._begin(metadata)

    def _begin(self, metadata: Metadata | None = None) -> None:
        if not self.begun:
            self.begun = True
            dialect = self._dialect
            fields = [("content-type", self._type), *dialect.head(self._accepted, self._packs)]
            self._stream.head(200, fields + dialect.metadata(metadata))

    def send(self, message: bytes, compressed: bool) -> bool:
        """Sends a message of a stream. False: wait."""
        self._begin()
        return self._stream.write(self._framed(message, int(compressed)))

    def _framed(self, message: bytes, flags: int) -> bytes:
        framed = b"%c%b%b" % (flags, len(message).to_bytes(4, "big"), message)
        return b64encode(framed) if self._dialect.base64 else framed

    def finish(self, message: bytes, compression: int, trailers: Metadata | None) -> None:
        """Ends a call that has succeeded with a last, or only, message."""
        if self._dialect.plain:
            self._plain(message, compression, trailers)
        else:
            self._begin()
            self._stream.write(self._framed(message, int(compression != 0)))
            self.end(OK, trailers)

    def _plain(self, message: bytes, compression: int, trailers: Metadata | None) -> None:
        self.begun = True
        fields = [("content-type", self._type), *web_fields(self._early), *web_fields(trailers, "trailer-")]
        fields.append(("accept-encoding", self._accepted))
        if compression:
            fields.append(("content-encoding", ENCODINGS[compression]))
        if self._by_get:
            fields.append(("vary", "Accept-Encoding"))
        whole(self._stream, 200, fields, message or (b"{}" if self._codec == _JSON else b""))

    def end(self, status: Status, trailers: Metadata | None = None) -> None:
        """Ends the call; what was written before stands."""
        dialect, stream = self._dialect, self._stream
        if dialect.plain:
            self.begun = True
            error(stream, http_status(status.code), status, trailers, web_fields(self._early))
            return
        last = dialect.end(status, trailers)
        if last is not None:
            self._begin()
            stream.write(self._framed(last, dialect.end_flags))
            stream.end()
            return
        fields = fitting_end(status, trailers, stream.most_trailers)
        if self.begun:
            stream.end(fields)
        else:
            self.begun = True
            stream.head(200, [("content-type", self._type), *fields], end=True)


def whole(stream: Stream, status: int, fields: Fields, body: bytes = b"") -> None:
    """An answer with its whole body."""
    fields = [*fields, ("content-length", str(len(body)))]
    if body:
        stream.head(status, fields)
        stream.write(body)
        stream.end()
    else:
        stream.head(status, fields, end=True)


def error(stream: Stream, code: int, status: Status, trailers: Metadata | None = None, fields: Fields = []) -> None:  # noqa: B006
    """An error as Connect writes it."""
    more = [*web_fields(trailers, "trailer-"), *delivery_fields(status), ("content-type", "application/json")]
    whole(stream, code, [*fields, *more], connect_error(status))


def text(stream: Stream, code: int, message: str, *fields: tuple[str, str]) -> None:
    """An answer to what is no call: none of Connect's errors, so that clients go by the status."""
    more = [
        ("content-type", "text/plain; charset=utf-8"),
        ("x-content-type-options", "nosniff"),
        (DELIVERY, "refused"),
    ]
    whole(stream, code, [*fields, *more], f"{message}\n".encode())
