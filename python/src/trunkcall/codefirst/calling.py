"""A typed client: an object that does what a Protocol says, by calls."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar, cast

from ..caller import CallOptions, Response
from ..checking import check_codec
from ..codec import MSGPACK, Codec
from ..method import Kind, Method
from ..servercall import ServerCall
from .declaring import functions_of, public_names, service_of
from .remote import remote_method
from .signature import Signature, Undeclared, signature_of

P = TypeVar("P")


def client(protocol: Callable[..., P], caller: Any, name: str | None = None, *, codec: Codec = MSGPACK) -> P:
    """An object that has the methods of a Protocol class, each of which makes a call through a Client or a Connection.
    The service is what `service` says of the Protocol, or `name`; each method's public name is the lowerCamelCase of
    its own, or what `method` gives it.

        class Calculator(Protocol):
            async def div(self, a: int, b: int) -> tuple[int, int]: ...

        calculator = codefirst.client(Calculator, client, "calc")
        quotient, remainder = await calculator.div(7, 2)

    Methods that are coroutine functions go through callers of asyncio, plain ones through blocking callers; streams are
    an AsyncIterator there, an Iterator here. A parameter with the hint CallOptions takes the options of a call, and is
    no argument. `codec` is MSGPACK, JSON, or one of your own. What the policies of the client say of "/calc/div" holds.

    Raises TypeError and ValueError, which name class, method and parameter, for what cannot be called."""
    if not isinstance(protocol, type):
        raise TypeError(f"client is for a Protocol class, not for {protocol!r}")
    kind: type[Any] = protocol
    check_codec("codec", codec)
    service = service_of(kind, name)
    declared = functions_of(kind)
    if not declared:
        raise ValueError(f"{kind.__name__} has no method that could be called")
    called: Any = caller
    blocking = not inspect.iscoroutinefunction(called.call)
    functions: dict[str, Any] = {}
    for member, public in public_names(kind, declared).items():
        owner = f"{kind.__name__}.{member}"
        signature = signature_of(f"/{service}/{public}", owner, inspect.getattr_static(kind, member), True)
        if signature.extra_kind is ServerCall:
            raise Undeclared(f"parameter {signature.extra} of {owner}: a ServerCall is the server's")
        _check_async(signature, owner, blocking)
        functions[member] = staticmethod(_function(signature, remote_method(signature, codec), caller, blocking))
    made = type(kind.__name__, (_Remote,), functions | {"_told": f"<{service} through {caller!r}>"})
    return cast(P, made())


class _Remote:
    """What all clients have."""

    __slots__ = ()
    _told = ""

    def __repr__(self) -> str:
        return self._told


def _check_async(signature: Signature, owner: str, blocking: bool) -> None:
    if signature.kind is Kind.UNARY:
        if signature.is_async and blocking:
            raise Undeclared(f"{owner} is asynchronous, and its caller blocks: leave the async away")
        if not signature.is_async and not blocking:
            raise Undeclared(f"{owner} is a plain function, and its caller is of asyncio: make it async def")
        return
    kinds = {signature.is_async} if signature.kind.takes_one else {signature.is_async, signature.takes_async}
    if blocking and kinds != {False}:
        raise Undeclared(f"{owner} is asynchronous, and its caller blocks: make it plain, with Iterator for streams")
    if not blocking and kinds != {True}:
        text = "a plain function, and its caller is of asyncio: make it async def, with AsyncIterator for streams"
        raise Undeclared(f"{owner} is {text}")


def _function(signature: Signature, method: Method[Any, Any], caller: Any, blocking: bool) -> Callable[..., Any]:
    """What makes the calls of one method. It returns what its caller does: the result, or what is awaited for it."""
    count, extra, calls = len(signature.members), signature.extra, signature.calls
    plain = extra is None and not signature.rest

    def arguments(given: tuple[Any, ...], named: dict[str, Any]) -> tuple[tuple[Any, ...], CallOptions | None]:
        bound = calls.bind(*given, **named)
        bound.apply_defaults()
        options = None if extra is None else bound.arguments.pop(extra)
        return tuple(bound.arguments[one] for one in signature.members), options

    def unary(*given: Any, **named: Any) -> Any:
        if plain and len(given) == count and not named:
            return caller.call(method, given)
        values, options = arguments(given, named)
        if options is None:
            return caller.call(method, values)
        answer = caller.unary(method, values, options)
        return answer.message if blocking else _message(answer)

    def stream(*given: Any, **named: Any) -> Any:
        values, options = arguments(given, named)
        return streaming(values, options)

    if signature.kind is Kind.UNARY:
        return unary
    if blocking:
        from .iterating import opened
    else:
        from .streaming import opened
    streaming = opened(signature, method, caller)
    return stream


async def _message(answer: Awaitable[Response[Any]]) -> Any:
    return (await answer).message
