"""The forms in which calls come as requests of HTTP: gRPC, gRPC-Web and Connect (http.md 3, 5, 6)."""

from __future__ import annotations

from typing import NamedTuple

from trunkcall.wire import Code, Metadata, Status

from .ends import connect_end, web_end
from .fields import (
    ENCODINGS,
    Fields,
    Request,
    accepted_encodings,
    connect_timeout,
    encoding_number,
    grpc_fields,
    grpc_timeout,
    web_fields,
)
from .refusal import Refusal


class Said(NamedTuple):
    """What the fields of a request say."""

    encoding: str  # of its messages
    accepts: frozenset[int]  # compressions of answers
    timeout: int | None  # µs


class Dialect:
    """What a protocol's fields, messages and ends look like."""

    protocol = ""  # its name, for logs and admission
    plain = False  # a body is one message without a prefix, and the status of HTTP says how calls end
    by_status = False  # clients go by the status of HTTP where a request is no call
    base64 = False  # bodies are
    end_flags = 0

    def codec(self, kind: str) -> str | None:
        """The codec's name out of a content type without parameters; None: it is another dialect's."""
        raise NotImplementedError

    def content_type(self, codec: str) -> str:
        """That of answers."""
        raise NotImplementedError

    def takes(self, streams: bool) -> bool:
        """Whether a method, which streams or not, can be called so."""
        return True

    def read(self, request: Request, query: dict[str, bytes] | None) -> Said:
        """`query` is that of a call by GET. Raises Refusal."""
        raise NotImplementedError

    def head(self, accepted: str, packed: int) -> Fields:
        """The protocol's own fields in the head of an answer that is not plain."""
        return []

    def metadata(self, metadata: Metadata | None) -> Fields:
        return web_fields(metadata)

    def end(self, status: Status, trailers: Metadata | None) -> bytes | None:
        """What the body of an answer ends with, behind five bytes; None: trailers tell it."""
        raise NotImplementedError


class Grpc(Dialect):
    """gRPC over HTTP/2, and gRPC-Web, whose trailers are in the body."""

    by_status = False
    end_flags = 0x80

    def __init__(self, protocol: str, kind: str, base64: bool = False) -> None:
        self.protocol = protocol
        self.base64 = base64
        self.web = protocol != "grpc"
        self._type = kind

    def codec(self, kind: str) -> str | None:
        if not kind.startswith(self._type):
            return None
        rest = kind[len(self._type) :]
        if not rest:
            return "proto"
        return rest[1:] if rest[0] == "+" and len(rest) > 1 else None

    def content_type(self, codec: str) -> str:
        return f"{self._type}+{codec}"

    def read(self, request: Request, query: dict[str, bytes] | None) -> Said:
        text = request.first("grpc-timeout")
        try:
            timeout = grpc_timeout(text) if text else None
        except ValueError:
            raise Refusal(Code.INVALID_ARGUMENT, "malformed grpc-timeout") from None
        encoding = request.first("grpc-encoding")
        accepts = accepted_encodings(request.joined("grpc-accept-encoding"))
        if not self.web and (own := encoding_number(encoding)):
            accepts |= {own}
        return Said(encoding, accepts, timeout)

    def head(self, accepted: str, packed: int) -> Fields:
        fields = [("grpc-accept-encoding", accepted)] if self.web or packed else []
        return [*fields, ("grpc-encoding", ENCODINGS[packed])] if packed else fields

    def metadata(self, metadata: Metadata | None) -> Fields:
        return web_fields(metadata) if self.web else grpc_fields(metadata)

    def end(self, status: Status, trailers: Metadata | None) -> bytes | None:
        return web_end(status, trailers) if self.web else None


class Connect(Dialect):
    """The Connect protocol: a unary call is a plain request of HTTP, any other has its messages behind prefixes and
    says at the end of the body how it ended."""

    protocol = "connect"
    by_status = True
    end_flags = 2

    # No codecs: what browsers send without asking, and what clients use by default.
    _FORMS = frozenset(("x-www-form-urlencoded", "octet-stream", "xml"))

    def __init__(self, unary: bool) -> None:
        self.plain = unary
        self._type = "application/" if unary else "application/connect+"

    def codec(self, kind: str) -> str | None:
        codec = kind.removeprefix(self._type)
        if codec in (kind, ""):
            return None
        if self.plain and (codec in self._FORMS or "+" in codec or codec.startswith("grpc")):
            return None
        return codec

    def content_type(self, codec: str) -> str:
        return self._type + codec

    def takes(self, streams: bool) -> bool:
        return streams is not self.plain

    def read(self, request: Request, query: dict[str, bytes] | None) -> Said:
        version = request.first("connect-protocol-version")
        if version not in ("", "1"):
            raise Refusal(Code.INVALID_ARGUMENT, f'connect-protocol-version is "{version}", here 1')
        text = request.first("connect-timeout-ms")
        try:
            timeout = connect_timeout(text) if text else None
        except ValueError:
            raise Refusal(Code.INVALID_ARGUMENT, "malformed connect-timeout-ms") from None
        if query is not None:
            encoding = query.get("compression", b"").decode("utf-8", "replace")
        else:
            encoding = request.first("content-encoding" if self.plain else "connect-content-encoding")
        accepts = request.joined("accept-encoding" if self.plain else "connect-accept-encoding")
        return Said(encoding, accepted_encodings(accepts), timeout)

    def head(self, accepted: str, packed: int) -> Fields:
        if self.plain:
            return []
        fields = [("connect-accept-encoding", accepted)]
        return [*fields, ("connect-content-encoding", ENCODINGS[packed])] if packed else fields

    def end(self, status: Status, trailers: Metadata | None) -> bytes | None:
        return connect_end(status, trailers)


GRPC = Grpc("grpc", "application/grpc")
CONNECT = Connect(unary=True)
# In the order in which their content types are told apart.
OTHERS: tuple[Dialect, ...] = (
    Connect(unary=False),
    Grpc("grpc-web", "application/grpc-web-text", base64=True),
    Grpc("grpc-web", "application/grpc-web"),
    CONNECT,
)


def answer_type(kind: str, codec: str) -> str:
    """The content type of answers over gRPC: those without a codec get none."""
    return kind if kind == "application/grpc" else GRPC.content_type(codec)
