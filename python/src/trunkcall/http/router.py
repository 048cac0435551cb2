"""Decides what a request is: a call in one of the protocols, or what gets an answer at once (http.md 4 to 7)."""

from __future__ import annotations

from base64 import urlsafe_b64decode

from trunkcall.transport import clock
from trunkcall.wire import Code, Delivery, LimitError, Method, Status, unserved
from trunkcall.wire.metadata import block

from . import answering
from .answering import Answering
from .call import Head, HttpCall
from .dialects import CONNECT, GRPC, OTHERS, Dialect, answer_type
from .fields import Request, encoding_number, listed_encodings, parsed_query, read_metadata
from .line import LineStream
from .refusal import Refusal, UnknownCodec
from .stream import ANSWERED, HttpConfig, Receiver, Target

_KNOWN = ("json", "proto", "msgpack")
_MOST_NAME = 1_024
_NAMED = 255  # a codec that has no number here
_PREFLIGHT_AGE = "7200"  # seconds


class Spoken:
    """A request's dialect and codec, and the content type of answers."""

    __slots__ = ("codec", "dialect", "kind")

    def __init__(self, dialect: Dialect, codec: str, kind: str = "") -> None:
        self.dialect = dialect
        self.codec = codec
        self.kind = kind or dialect.content_type(codec)


class Router:
    """Serves the requests of all connections of one server."""

    def __init__(self, config: HttpConfig) -> None:
        self._config = config
        self._services: set[str] = set()
        self._known = 0  # methods whose services those are

    def serve(self, request: Request, stream: LineStream) -> Receiver:
        """Takes a request, whose answer may have been given when this returns."""
        given = request.first("content-type")
        kind = media_type(given)
        grpc = GRPC.codec(kind) if stream.multiplexed and kind is not None else None
        if kind is not None and grpc is not None:
            if request.method != "POST":
                answering.whole(stream, 405, [("allow", "POST")])
                return ANSWERED
            return self._call(request, stream, self._find(request), Spoken(GRPC, grpc, answer_type(kind, grpc)))
        mounted = self._config.mounted
        if mounted is not None and self.is_mounted(request, stream):
            return mounted.serve(request, stream)
        if self._crossed(request, stream):
            return ANSWERED
        return self._other(request, stream, None if kind is None else _spoken(kind))

    def is_mounted(self, request: Request, stream: LineStream) -> bool:
        """Whether a request is for the application: its path is of no service, and its content type no protocol's for
        calls alone."""
        methods = self._config.methods
        if self._config.mounted is None or request.method == "CONNECT":
            return False
        if self._known != len(methods):
            self._known = len(methods)
            self._services = {name.decode("utf-8", "replace").rpartition("/")[0] for name in methods}
        if request.path.rpartition("/")[0] in self._services:
            return False
        kind = media_type(request.first("content-type"))
        if kind is None:
            return True
        spoken = _spoken(kind)
        is_grpc = stream.multiplexed and GRPC.codec(kind) is not None
        return not is_grpc and (spoken is None or spoken.dialect.by_status)

    def too_large(self, request: Request, stream: LineStream, why: str) -> Receiver:
        """Answers a request whose header is too long."""
        kind = media_type(request.first("content-type"))
        grpc = GRPC.codec(kind) if stream.multiplexed and kind is not None else None
        if kind is not None and grpc is not None:
            refusal = Refusal(Code.RESOURCE_EXHAUSTED, why)
            self._count(request, stream, refusal)
            Answering(stream, GRPC, 0, answer_type(kind, grpc), 0, "").end(refusal.refused)
        else:
            answering.whole(stream, 431, [])
        return ANSWERED

    def _find(self, request: Request) -> Method | None:
        return self._config.methods.get(request.path.encode("utf-8", "replace"))

    def _unserved(self, request: Request) -> str:
        return unserved(request.path.encode("utf-8", "replace"), self._config.methods)

    def _count(self, request: Request, stream: LineStream, why: Refusal) -> None:
        self._config.load.count(refused=True)
        stream.line.events.unserved(request.path.encode("utf-8", "replace"), True, why.code, why.text)

    def _other(self, request: Request, stream: LineStream, spoken: Spoken | None) -> Receiver:
        method = self._find(request)
        post = request.method == "POST"
        if method is None:
            if not post or spoken is None:
                _refuse(stream, 404, Code.UNIMPLEMENTED, self._unserved(request))
                return ANSWERED
            return self._call(request, stream, None, spoken)
        target: Target = method.target
        gettable = target.safe and not target.streams
        if request.method == "GET" and gettable:
            return self._get(request, stream, method)
        if not post:
            allowed = "GET, POST" if gettable else "POST"
            text = f"{_name(method)} is called by {allowed}, not {request.method}"
            answering.text(stream, 405, text, ("allow", allowed))
        elif spoken is None or not self._takes(target, spoken):
            takes = self._accept_post(target)
            text = f'{_name(method)} does not take the content type "{request.first("content-type")}", only {takes}'
            answering.text(stream, 415, text, ("accept-post", takes))
        else:
            return self._call(request, stream, method, spoken)
        return ANSWERED

    def _takes(self, target: Target, spoken: Spoken) -> bool:
        dialect = spoken.dialect
        return dialect.takes(target.streams) and not (dialect.by_status and self._lacks(target, spoken.codec))

    def _lacks(self, target: Target, codec: str) -> bool:
        """Whether a codec is known, and known not to carry the method's messages."""
        number = self._config.codecs.get(codec, _NAMED)
        return number != _NAMED and number not in target.bindings

    def _accept_post(self, target: Target) -> str:
        """What a method takes."""
        return ", ".join(
            dialect.content_type(codec)
            for dialect in OTHERS
            for codec in _KNOWN
            if dialect.by_status and dialect.takes(target.streams) and self._config.codecs.get(codec) in target.bindings
        )

    # Calls by GET.

    def _get(self, request: Request, stream: LineStream, method: Method) -> Receiver:
        query = parsed_query(request.query)
        wrong = ""
        if query is None:
            wrong = "malformed query"
        elif not query.get("encoding") or "message" not in query:
            wrong = "GET wants the query's parameters encoding and message"
        elif query.get("connect", b"v1") != b"v1":
            wrong = "the query's parameter connect is not v1"
        if wrong or query is None:
            _refuse(stream, 400, Code.INVALID_ARGUMENT, wrong)
            return ANSWERED
        codec = query["encoding"].decode("utf-8", "replace")
        if self._lacks(method.target, codec):
            takes = self._accept_post(method.target)
            answering.text(stream, 415, f'{_name(method)} does not take the encoding "{codec}"', ("accept-post", takes))
            return ANSWERED
        message = query["message"]
        if query.get("base64") == b"1":
            try:
                message = message.rstrip(b"=")
                if not message.replace(b"-", b"").replace(b"_", b"").isalnum() and message:
                    raise ValueError(message)
                message = urlsafe_b64decode(message + b"=" * (-len(message) % 4))
            except ValueError:
                _refuse(stream, 400, Code.INVALID_ARGUMENT, "the query's message is not base64")
                return ANSWERED
        made = self._call(request, stream, method, Spoken(CONNECT, codec), query, len(message))
        made.data(message, 0)
        made.ended()
        return made

    # Calls.

    def _call(
        self,
        request: Request,
        stream: LineStream,
        method: Method | None,
        spoken: Spoken,
        query: dict[str, bytes] | None = None,
        length: int = -1,
    ) -> Receiver:
        config, dialect = self._config, spoken.dialect
        codec = config.codecs.get(spoken.codec, _NAMED)
        packs = 0
        try:
            head = self._head(request, method, spoken, codec, query)
            packs = head.packs
            answers = Answering(stream, dialect, codec, spoken.kind, packs, config.accepted, query is not None)
            call = HttpCall(stream, head, answers, request.length if query is None else length)
        except Refusal as why:
            self._count(request, stream, why)
            if method is not None and isinstance(why, UnknownCodec) and dialect.by_status:
                answering.text(stream, 415, why.text, ("accept-post", self._accept_post(method.target)))
            elif method is None and dialect.by_status:
                answering.error(stream, 404, why.refused)
            else:
                Answering(stream, dialect, codec, spoken.kind, packs, config.accepted, query is not None).end(
                    why.refused
                )
            return ANSWERED
        stream.receiver = call
        if query is None:
            call.begin()
        return call

    def _head(
        self, request: Request, method: Method | None, spoken: Spoken, codec: int, query: dict[str, bytes] | None
    ) -> Head:
        """What the request says of the call. Raises Refusal."""
        if len(request.path.encode("utf-8", "replace")) > _MOST_NAME:
            raise Refusal(Code.INVALID_ARGUMENT, "the method's name is longer than 1 KiB")
        config = self._config
        said = spoken.dialect.read(request, query)
        compression = self._compression(said.encoding)
        deadline = 0 if said.timeout is None else clock() + max(said.timeout, 1)
        metadata = read_metadata(request, spoken.dialect is GRPC)
        if metadata.entries:
            settings = config.settings
            try:
                block(metadata, settings.max_metadata_bytes, settings.max_metadata_entries, 1 << 30)
            except LimitError as error:
                raise Refusal(Code.RESOURCE_EXHAUSTED, str(error)) from None
            except ValueError as error:
                raise Refusal(Code.INVALID_ARGUMENT, str(error)) from None
        if method is None:
            raise Refusal(Code.UNIMPLEMENTED, self._unserved(request))
        if codec == _NAMED:
            text = f'codec "{spoken.codec}" is not known here, only {config.codec_list}'
            raise UnknownCodec(Code.UNIMPLEMENTED, text)
        target: Target = method.target
        if codec not in target.bindings:
            raise Refusal(Code.UNIMPLEMENTED, f"the messages of this method are not in codec {spoken.codec}")
        packs = self._packs(compression, said.accepts)
        return Head(method, spoken.dialect, codec, compression, packs, metadata, deadline)

    def _compression(self, encoding: str) -> int:
        if encoding in ("", "identity"):
            return 0
        number, accepted = encoding_number(encoding), self._config.settings.compressions
        if number not in accepted:
            text = f"the encoding {encoding} is not accepted here, only {listed_encodings(accepted)}"
            raise Refusal(Code.UNIMPLEMENTED, text)
        return number

    def _packs(self, compression: int, accepted: frozenset[int]) -> int:
        """The compression that answers may be in: the request's comes first."""
        order = self._config.order
        if order is not None and not order:
            return 0
        if compression and compression in accepted:
            return compression
        return next((one for one in order or () if one in accepted), 0)

    # Pages of other origins.

    def _crossed(self, request: Request, stream: LineStream) -> bool:
        """Answers what a browser asks before a page's call, and otherwise adds to the answer that the page may read it.
        True: the request is answered."""
        origin = request.first("origin")
        if not origin:
            return False
        preflight = request.method == "OPTIONS" and request.first("access-control-request-method") != ""
        stream.add("vary", "Origin")
        if not any(one == "*" or one.lower() == origin.lower() for one in self._config.origins):
            if preflight:
                answering.whole(stream, 403, [])
            return preflight
        stream.add("access-control-allow-origin", origin)
        if not preflight:
            stream.add("access-control-expose-headers", "*")
            return False
        fields = [("access-control-allow-methods", "GET, POST")]
        if wanted := request.joined("access-control-request-headers"):
            fields.append(("access-control-allow-headers", wanted))
        stream.head(204, [*fields, ("access-control-max-age", _PREFLIGHT_AGE)], end=True)
        return True


def media_type(given: str) -> str | None:
    """The content type without parameters; None: it is none, or in a charset other than UTF-8."""
    kind, *parameters = given.split(";")
    for one in parameters:
        name, _, value = one.strip().lower().partition("=")
        if name == "charset" and value.strip('"') != "utf-8":
            return None
    kind = kind.strip().lower()
    return kind if kind.find("/") > 0 else None


def _spoken(kind: str) -> Spoken | None:
    for dialect in OTHERS:
        codec = dialect.codec(kind)
        if codec is not None:
            return Spoken(dialect, codec)
    return None


def _name(method: Method) -> str:
    return method.name.decode("utf-8", "replace")


def _refuse(stream: LineStream, code: int, why: Code, text: str) -> None:
    answering.error(stream, code, Status(why, text, (), Delivery.REFUSED))
