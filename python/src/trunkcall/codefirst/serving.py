"""A service: an object whose decorated methods are served."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from ..caller import CallOptions
from ..codec import MSGPACK
from ..method import Handler
from .declaring import declared_of, public_names, service_of
from .remote import remote_method
from .signature import Signature, Undeclared, signature_of


def handlers(implementation: object, name: str | None = None, *, strict_json: bool = False) -> list[Handler]:
    """The handlers of a service, for `register` of a Server or a Client: the methods of an object that its class
    decorates with `method`, under the public name of the service that `service` gives, or `name`. Coroutine functions
    run on the event loop; plain ones on threads of the executor, where one whose time is over is not begun.

    With `strict_json` a request in JSON that has a field which its record does not have is refused.

    Raises TypeError and ValueError, which name class, method and parameter, for what cannot be served: a missing hint,
    a type that cannot travel, two methods of one public name, an object without any."""
    if isinstance(implementation, type):
        raise TypeError(f"{implementation.__name__} is a class: give an object of it, {implementation.__name__}()")
    kind = type(implementation)
    service = service_of(kind, name)
    declared = declared_of(kind)
    if not declared:
        raise ValueError(f"{kind.__name__} has no method to be served: decorate those that are with @method")
    found: list[Handler] = []
    for member, public in public_names(kind, declared).items():
        safe = declared[member].no_side_effects
        owner = f"{kind.__name__}.{member}"
        given = inspect.getattr_static(kind, member)
        bound = not isinstance(given, staticmethod)
        function = getattr(given, "__func__", given)
        if not inspect.isfunction(function):
            raise Undeclared(f"{owner} is {given!r}, and no function any more")
        signature = signature_of(f"/{service}/{public}", owner, function, bound)
        if signature.extra_kind is CallOptions:
            raise Undeclared(f"parameter {signature.extra} of {owner}: options of a call are its caller's")
        if not signature.takes_async:
            raise Undeclared(f"parameter {signature.members[0]} of {owner}: requests that stream are an AsyncIterator")
        method = remote_method(signature, MSGPACK, strict_json)
        found.append(Handler(method, _serve(signature, getattr(implementation, member)), no_side_effects=safe))
    return found


def _serve(signature: Signature, function: Callable[..., Any]) -> Callable[..., Any]:
    """What serves a method: called with the arguments, or the stream of requests, and the call."""
    extra, spread = signature.extra, signature.kind.takes_one

    def positions(request: Any) -> Any:
        if not spread:
            return (request,)
        return (*request[:-1], *request[-1]) if signature.rest else request

    if inspect.iscoroutinefunction(function):

        async def serve(request: Any, call: Any) -> Any:
            extras = {} if extra is None else {extra: call}
            return await function(*positions(request), **extras)

        return serve

    def plain(request: Any, call: Any) -> Any:
        extras = {} if extra is None else {extra: call}
        return function(*positions(request), **extras)

    if inspect.isasyncgenfunction(function):

        async def each(request: Any, call: Any) -> Any:
            answers = plain(request, call)
            try:
                async for answer in answers:
                    yield answer
            finally:
                await answers.aclose()

        return each
    if inspect.isgeneratorfunction(function):

        def every(request: Any, call: Any) -> Any:
            yield from plain(request, call)

        return every
    return plain
