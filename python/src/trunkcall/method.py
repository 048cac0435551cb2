"""Methods: a name, a kind and the two message types, for both ends of a call."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Iterable
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from .checking import check_text, wrong_type
from .codec import PROTOBUF, Codec, Decode, Encode, kind_of, one_of
from .wire.body import MAX_NAME

if TYPE_CHECKING:
    from .servercall import ServerCall

Req = TypeVar("Req")
Resp = TypeVar("Resp")


class Kind(Enum):
    """How many messages go each way."""

    UNARY = "unary"
    CLIENT_STREAM = "client-streaming"
    SERVER_STREAM = "server-streaming"
    BIDI_STREAM = "bidi-streaming"
    ONE_WAY = "one-way"

    @property
    def takes_one(self) -> bool:
        """Whether there is exactly one request."""
        return self in (Kind.UNARY, Kind.SERVER_STREAM, Kind.ONE_WAY)

    @property
    def answers_one(self) -> bool:
        """Whether there is exactly one response."""
        return self in (Kind.UNARY, Kind.CLIENT_STREAM)

    @property
    def streams(self) -> bool:
        """Whether there may be more than one message in a direction."""
        return self not in (Kind.UNARY, Kind.ONE_WAY)


@dataclass(slots=True, frozen=True)
class Binding:
    """The functions that turn a method's messages into bytes and back."""

    encode_request: Encode
    decode_request: Decode
    encode_response: Encode
    decode_response: Decode


def canonical_name(name: str) -> str:
    """The form used on the wire: "/package.Service/Method"."""
    return name if name.startswith("/") else f"/{name}"


class Method(Generic[Req, Resp]):
    """A name that can be called or served. Make one with `unary` or its siblings and keep it; it may be shared."""

    __slots__ = ("_bindings", "_codecs", "_fixed", "_wire_name", "codec", "kind", "name", "request", "response")

    kind: Kind

    def __init__(self, name: str, request: type[Req], response: type[Resp], binding: Binding | None = None) -> None:
        """`binding` stands for what PROTOBUF would give. Raises ValueError for a name that cannot be called,
        TypeError for what is no name, or no type of messages."""
        check_text(name=name)
        for what, kind in (("request", request), ("response", response)):
            if binding is None and not isinstance(kind, type):  # pyright: ignore[reportUnnecessaryIsInstance]
                raise wrong_type(what, kind, "a class of messages")
        self.name = canonical_name(name)
        self._wire_name = self.name.encode()
        service, _, method = self.name[1:].rpartition("/")
        if not service or not method or len(self._wire_name) > MAX_NAME:
            given = f'"{self.name}"' if len(self._wire_name) <= MAX_NAME else f"of {len(self._wire_name)} bytes"
            raise ValueError(f"method name {given}: want /package.Service/Method, at most {MAX_NAME} bytes")
        self.request = request
        self.response = response
        self.codec: Codec | None = None  # of calls that name none; None: the client's
        self._fixed = binding
        self._bindings: dict[int, Binding] = {}
        self._codecs: list[Codec] = []

    def binding(self, codec: Codec) -> Binding:
        """The method's functions for a codec; made once. Raises AttributeError or TypeError for a codec that is not for
        its messages."""
        found = self._bindings.get(id(codec))
        if found is None:
            fixed = self._fixed if codec is PROTOBUF else None
            if fixed is None and self._fixed is not None and self.request is object:
                raise TypeError(f"{self.name} has functions for Protobuf only")
            self._codecs.append(codec)  # so that its id stays its own
            found = self._bindings[id(codec)] = fixed or self._bind(codec)
        return found

    def _bind(self, codec: Codec) -> Binding:
        request, response = self.request, self.response
        return Binding(codec.encoder(request), codec.decoder(request), codec.encoder(response), codec.decoder(response))

    def __repr__(self) -> str:
        return f"<{self.kind.value} method {self.name}>"


@dataclass(frozen=True)
class Handler:
    """A method and what serves it, for `register` of a Server or a Client. `inline`: a plain function runs on the event
    loop, which it must not block, instead of on a thread of the executor. `no_side_effects`: a unary method
    that changes nothing, which clients of Connect may call by GET (http.md 5); services described by Protobuf say so
    there."""

    method: Method[Any, Any]
    serve: Callable[..., Any]
    inline: bool = False
    no_side_effects: bool = False

    def __post_init__(self) -> None:
        """Raises TypeError for what cannot be called with a request, or requests, and the call."""
        name = self.method.name
        if not callable(self.serve):
            raise TypeError(f"the handler of {name} is {kind_of(self.serve)}, not a function")
        try:
            inspect.signature(self.serve).bind(None, None)
        except ValueError:
            pass  # a function that does not say what it takes
        except TypeError as error:
            raise TypeError(f"the handler of {name} is called with a request and the call: {error}") from None
        kind = self.method.kind
        if (kind.answers_one or kind is Kind.ONE_WAY) and inspect.isasyncgenfunction(self.serve):
            what = "one answer" if kind.answers_one else "nothing"
            raise TypeError(f"{name} is {kind.value}: its handler returns {what}, not yields")


def wrong_request(method: Method[Any, Any], request: object) -> str:
    """What is said of a request of another type than a method takes; "" if it is of that type. Of a method
    of a stub only functions are known; its type is the one that the registry of Protobuf has for its name."""
    kind: Any = method.request
    if kind is object:
        from .described import described_messages  # which imports this

        kind, _ = described_messages(method.name)
    if not isinstance(kind, type) or isinstance(request, kind):
        return ""
    if request is kind:
        return f"{method.name} takes {one_of(kind)}, got the class: call it, {kind.__name__}(…)"
    return f"{method.name} takes {one_of(kind)}, got {kind_of(request)}"


class UnaryMethod(Method[Req, Resp]):
    """One request, one response."""

    __slots__ = ()
    kind = Kind.UNARY

    def handler(
        self,
        serve: Callable[[Req, ServerCall], Awaitable[Resp] | Resp],
        *,
        inline: bool = False,
        no_side_effects: bool = False,
    ) -> Handler:
        """Serves the method with a coroutine function, or with a plain function."""
        return Handler(self, serve, inline, no_side_effects)


class OneWayMethod(Method[Req, None]):
    """One request, no response (protocol.md 7.5). The caller learns whether the call was accepted, and so will run. How
    the handler ends is told to the log on its side only."""

    __slots__ = ()
    kind = Kind.ONE_WAY

    def handler(self, serve: Callable[[Req, ServerCall], Awaitable[None] | None]) -> Handler:
        """Serves the method with a coroutine function, or with a plain function. What it raises is logged. It is
        cancelled at the deadline of the call, if there is one, and when its side is closed, but neither with the
        connection nor because the caller gave up."""
        return Handler(self, serve)

    def _bind(self, codec: Codec) -> Binding:
        return Binding(codec.encoder(self.request), codec.decoder(self.request), _no_message, _no_message)


def _no_message(_: Any) -> Any:
    raise TypeError("a one-way method has no response")


class ServerStreamMethod(Method[Req, Resp]):
    """One request, many responses."""

    __slots__ = ()
    kind = Kind.SERVER_STREAM

    def handler(
        self, serve: Callable[[Req, ServerCall], AsyncIterable[Resp] | Awaitable[None] | Iterable[Resp]]
    ) -> Handler:
        """Serves the method with an asynchronous generator, a coroutine function that awaits `call.send`, or on threads
        of the executor with a plain generator or a plain function that returns several answers."""
        return Handler(self, serve)


class ClientStreamMethod(Method[Req, Resp]):
    """Many requests, one response."""

    __slots__ = ()
    kind = Kind.CLIENT_STREAM

    def handler(self, serve: Callable[[AsyncIterator[Req], ServerCall], Awaitable[Resp]]) -> Handler:
        """Serves the method with a coroutine function."""
        return Handler(self, serve)


class BidiMethod(Method[Req, Resp]):
    """Many messages both ways, in any order."""

    __slots__ = ()
    kind = Kind.BIDI_STREAM

    def handler(
        self, serve: Callable[[AsyncIterator[Req], ServerCall], AsyncIterable[Resp] | Awaitable[None]]
    ) -> Handler:
        """Serves the method with an asynchronous generator, or a coroutine function that awaits `call.send`."""
        return Handler(self, serve)


def unary(name: str, request: type[Req], response: type[Resp]) -> UnaryMethod[Req, Resp]:
    """Describes a method of one request and one response by its name, "/package.Service/Method"."""
    return UnaryMethod(name, request, response)


def one_way(name: str, request: type[Req]) -> OneWayMethod[Req]:
    """Describes a method of one request and no response."""
    return OneWayMethod(name, request, type(None))


def server_stream(name: str, request: type[Req], response: type[Resp]) -> ServerStreamMethod[Req, Resp]:
    """Describes a method of one request and many responses."""
    return ServerStreamMethod(name, request, response)


def client_stream(name: str, request: type[Req], response: type[Resp]) -> ClientStreamMethod[Req, Resp]:
    """Describes a method of many requests and one response."""
    return ClientStreamMethod(name, request, response)


def bidi_stream(name: str, request: type[Req], response: type[Resp]) -> BidiMethod[Req, Resp]:
    """Describes a method of many requests and many responses."""
    return BidiMethod(name, request, response)
