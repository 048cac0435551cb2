"""A code-first method as a Method, so that it is registered, called and intercepted as any other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import Code, Delivery
from ..codec import FIRST_NAMED, JSON, MSGPACK, Codec
from ..method import BidiMethod, Binding, ClientStreamMethod, Kind, Method, ServerStreamMethod, UnaryMethod
from ..status import failure
from ..values import Ignored, MessageShape, One, Place, Several, shape_of
from .signature import Signature


def remote_method(signature: Signature, codec: Codec, strict_json: bool = False) -> Method[Any, Any]:
    """`codec` is that of calls that name none."""
    made = _CLASSES[signature.kind](signature, codec, strict_json)
    found: Method[Any, Any] = made
    return found


class _Remote(Method[Any, Any]):
    """Requests are tuples of the arguments, responses the result, or a tuple of several."""

    __slots__ = ("_signature", "_strict")

    def __init__(self, signature: Signature, codec: Codec, strict_json: bool) -> None:
        super().__init__(signature.name, object if signature.kind in _MANY else tuple, object)
        self._signature = signature
        self._strict = strict_json
        self.codec = codec

    def _bind(self, codec: Codec) -> Binding:
        if codec.number in (JSON.number, MSGPACK.number):
            text = codec.number == JSON.number
            request, response = self._request(text), self._response(text)
            return Binding(request.encode, request.decode, response.encode, self._made(response.decode))
        if codec.number < FIRST_NAMED:
            text_ = f"{self.name} is called by codec 3 (msgpack), 2 (json) or one of the user's, not {codec.name}"
            raise failure(Code.UNIMPLEMENTED, text_, Delivery.NOT_SENT)
        return self._by(codec)

    def _by(self, codec: Codec) -> Binding:
        """By a codec of the user's, which carries trees in its own way."""
        encode, decode = codec.encoder(object), codec.decoder(object)
        request, response = self._request(False), self._response(False)
        return Binding(
            lambda values: encode(request.plain(values)),
            lambda data: request.of_plain(decode(data)),
            lambda value: encode(response.plain(value)),
            self._made(lambda data: response.of_plain(decode(data))),
        )

    def _made(self, decode: Callable[[bytes], Any]) -> Callable[[bytes], Any]:
        make = self._signature.make
        return decode if make is None else lambda data: make(*decode(data))

    def _request(self, text: bool) -> MessageShape:
        signature = self._signature
        if signature.kind in _MANY:
            return One(signature.parameters[0], text)
        takes = len(signature.parameters)
        counted = f"{self.name} takes {takes} parameter{'s' * (takes != 1)}, got "
        whole = f"the request of {self.name}"
        return Several(signature.parameters, text, lambda came: f"{counted}{came}", whole, self._strict)

    def _response(self, text: bool) -> MessageShape:
        results = self._signature.results
        whole = f"the result of {self.name}"
        if not results:
            return Ignored(text, whole)
        if len(results) == 1:
            return One(results[0], text)
        counted = f"{self.name} has {len(results)} results, got "
        return Several(results, text, lambda came: f"{counted}{came}", whole)


class _Unary(_Remote, UnaryMethod[Any, Any]):
    __slots__ = ()


class _ServerStream(_Remote, ServerStreamMethod[Any, Any]):
    __slots__ = ()


class _ClientStream(_Remote, ClientStreamMethod[Any, Any]):
    __slots__ = ()


class _Bidi(_Remote, BidiMethod[Any, Any]):
    __slots__ = ()


_MANY = (Kind.CLIENT_STREAM, Kind.BIDI_STREAM)
_CLASSES: dict[Kind, type[_Remote]] = {
    Kind.UNARY: _Unary,
    Kind.SERVER_STREAM: _ServerStream,
    Kind.CLIENT_STREAM: _ClientStream,
    Kind.BIDI_STREAM: _Bidi,
}


class _Untyped(UnaryMethod[Any, Any]):
    """Arguments and results of any types."""

    __slots__ = ()

    def _bind(self, codec: Codec) -> Binding:
        if codec.number not in (JSON.number, MSGPACK.number):
            raise failure(Code.UNIMPLEMENTED, f"{self.name} is not called by {codec.name}", Delivery.NOT_SENT)
        text = codec.number == JSON.number
        request = One(Place(f"the arguments of {self.name}", shape_of(list[Any])), text)
        response = One(Place(f"the result of {self.name}", shape_of(Any)), text)
        return Binding(request.encode, request.decode, response.encode, response.decode)


def untyped(name: str, codec: Codec = MSGPACK) -> UnaryMethod[Any, Any]:
    """A method of which no more is known than its name, "/calc/div": its request is a list of arguments of any types,
    its response any value, of several results a list. Raises ValueError for a name that cannot be called."""
    made = _Untyped(name, object, object)
    made.codec = codec
    return made
