"""From a function with type hints to the parameters and results of a method."""

from __future__ import annotations

import inspect
import typing
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Coroutine, Iterator
from dataclasses import dataclass
from types import GenericAlias
from typing import Any, get_args, get_origin

from ..caller import CallOptions
from ..method import Kind
from ..servercall import ServerCall
from ..values import Place, Shape, Unsupported, shape_of, spelled

_ALONE = (ServerCall, CallOptions)  # what is handed in besides, and is no argument
_STREAMS = (AsyncIterator, AsyncIterable)


@dataclass(frozen=True, slots=True)
class Signature:
    """A method as its hints tell of it."""

    name: str  # "/calc/div"
    kind: Kind
    parameters: tuple[Place, ...]
    members: tuple[str, ...]  # the parameters' own names
    rest: bool  # the last parameter is *args
    results: tuple[Place, ...]
    make: Callable[..., Any] | None  # what several results are made to; None: a tuple
    extra: str | None  # the parameter that takes the call, or the options of one
    extra_kind: Any
    calls: inspect.Signature  # without self
    is_async: bool  # what comes back is awaited, or an asynchronous iterator
    takes_async: bool  # requests that stream come from an asynchronous iterator


class Undeclared(TypeError):
    """A method whose declaration says too little, or too much."""


def signature_of(name: str, owner: str, function: Callable[..., Any], bound: bool) -> Signature:
    """Reads a method; `bound`: its first parameter is the object. `owner` names it for people: "Calc.div". Raises
    Undeclared, which names the method and the parameter."""
    try:
        hints = typing.get_type_hints(function, include_extras=True)
    except (NameError, TypeError, AttributeError) as error:
        raise Undeclared(f"{owner}: a type hint cannot be read: {error}") from None
    declared = inspect.signature(function)
    given = list(declared.parameters.values())[1 if bound else 0 :]
    parameters: list[Place] = []
    members: list[str] = []
    extra: str | None = None
    extra_kind: Any = None
    rest = False
    requests: Shape | None = None
    takes_async = True
    for one in given:
        where = f"parameter {one.name} of {owner}"
        if one.name not in hints:
            raise Undeclared(f"{where} has no type hint")
        hint = hints[one.name]
        if (alone := _alone(hint)) is not None:
            if extra is not None:
                raise Undeclared(f"{where}: {extra} takes what is handed in besides already")
            extra, extra_kind = one.name, alone
            continue
        if one.kind is one.VAR_KEYWORD or one.kind is one.KEYWORD_ONLY:
            raise Undeclared(f"{where}: arguments go by their position, not by name")
        if get_origin(hint) in (*_STREAMS, Iterator):
            requests, takes_async = _shape(get_args(hint)[0], where), get_origin(hint) in _STREAMS
        else:
            shape = _shape(GenericAlias(tuple, (hint, ...)) if one.kind is one.VAR_POSITIONAL else hint, where)
            parameters.append(Place(f"parameter {len(parameters) + 1} of {name}", shape))
        members.append(one.name)
        rest = one.kind is one.VAR_POSITIONAL
    if requests is not None:
        if len(members) != 1 or rest:
            raise Undeclared(f"{owner}: a method that takes a stream takes nothing else")
        parameters = [Place(f"a request of {name}", requests)]
    if "return" not in hints:
        raise Undeclared(f"{owner} does not say what it returns: -> None if that is nothing")
    result, streams, is_async = _result(hints["return"], function)
    results, make = _results(result, streams, name, owner)
    return Signature(
        name,
        _KINDS[requests is not None, streams],
        tuple(parameters),
        tuple(members),
        rest,
        results,
        make,
        extra,
        extra_kind,
        declared.replace(parameters=given),
        is_async,
        takes_async,
    )


_KINDS = {
    (False, False): Kind.UNARY,
    (False, True): Kind.SERVER_STREAM,
    (True, False): Kind.CLIENT_STREAM,
    (True, True): Kind.BIDI_STREAM,
}


def _alone(hint: Any) -> Any:
    """ServerCall or CallOptions, if the hint is for one."""
    for one in (hint, *get_args(hint)):
        if one in _ALONE:
            return one
    return None


def _shape(hint: Any, where: str) -> Shape:
    try:
        return shape_of(hint)
    except (Unsupported, TypeError, ValueError, NameError) as error:
        raise Undeclared(f"{where}: {error}") from None


def _result(hint: Any, function: Callable[..., Any]) -> tuple[Any, bool, bool]:
    """The hint of what comes back, whether that is a stream, and whether it is waited for."""
    is_async = inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function)
    origin = get_origin(hint)
    if origin in (Awaitable, Coroutine):
        hint, is_async = get_args(hint)[-1], True
        origin = get_origin(hint)
    if origin in (*_STREAMS, *_GENERATORS):
        return get_args(hint)[0], True, is_async or origin not in _PLAIN
    return hint, False, is_async


_PLAIN = (typing.get_origin(typing.Iterator[int]), typing.get_origin(typing.Generator[int, None, None]))
_GENERATORS = (*_PLAIN, typing.get_origin(typing.AsyncGenerator[int, None]))


def _results(hint: Any, streams: bool, name: str, owner: str) -> tuple[tuple[Place, ...], Callable[..., Any] | None]:
    where = f"the result of {owner}"
    if hint is None or hint is type(None):
        if streams:
            raise Undeclared(f"{where}: a stream of nothing")
        return (), None
    of, make = _several(hint)
    if of is None or streams:
        what = "an answer" if streams else "the result"
        return (Place(f"{what} of {name}", _shape(hint, where)),), None
    if len(of) < 2:
        raise Undeclared(f"{where}: {spelled(hint)}: several results are two at least; one is not in a tuple")
    places = (
        Place(f"result {number} of {name}", _shape(one, f"result {number} of {owner}"))
        for number, one in enumerate(of, 1)
    )
    return tuple(places), make


def _several(hint: Any) -> tuple[list[Any] | None, Callable[..., Any] | None]:
    """The hints of several results, and what is made of them; None for one result."""
    if get_origin(hint) is tuple and get_args(hint)[-1:] != (Ellipsis,):
        return list(get_args(hint)), None
    named: Any = hint
    if isinstance(hint, type) and issubclass(hint, tuple) and hasattr(named, "_fields"):
        hints = typing.get_type_hints(named, include_extras=True)
        return [hints.get(field, Any) for field in named._fields], named
    return None, None
