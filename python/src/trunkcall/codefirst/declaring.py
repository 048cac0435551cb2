"""The decorators that make a class a service, or a client's Protocol one of a service."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar, overload

from ..values import check_public_name, public_name

C = TypeVar("C", bound=type[Any])
F = TypeVar("F", bound=Callable[..., Any])
_SERVICE = "__trunkcall_service__"
_METHOD = "__trunkcall_method__"


@dataclass(frozen=True, slots=True)
class Declared:
    """A method as its decorator has it: the public name if one is given, and whether it changes nothing."""

    name: str | None
    no_side_effects: bool = False


@overload
def service(given: C, /) -> C: ...
@overload
def service(given: str, /) -> Callable[[C], C]: ...
def service(given: Any, /) -> Any:
    """Makes a class a service, `@service("calc")`, or `@service` under the lowerCamelCase of its name. Of its methods
    those are served that have `method`. On a Protocol it says which service that calls. Raises TypeError, ValueError
    for a name that cannot be one."""
    if isinstance(given, type):
        return _named(given, public_name(given.__name__))
    if not isinstance(given, str):
        raise TypeError(f'@service is for a class, @service("name") too, not for {given!r}')
    return partial(_named, name=check_public_name(given, "a service"))


def _named(kind: Any, name: str) -> Any:
    if not isinstance(kind, type):
        raise TypeError(f'@service("{name}") is for a class, not for {kind!r}')
    setattr(kind, _SERVICE, check_public_name(name, f"service {kind.__name__}"))
    return kind


@overload
def method(given: F, /) -> F: ...
@overload
def method(given: str | None = None, /, *, no_side_effects: bool = False) -> Callable[[F], F]: ...
def method(given: Any = None, /, *, no_side_effects: bool = False) -> Any:
    """Has a method served, `@method` under the lowerCamelCase of its name, or `@method("div")`. With
    `@method(no_side_effects=True)` HTTP's clients may call it by GET (Handler). Raises TypeError, ValueError for a name
    that cannot be one."""
    if given is not None and not isinstance(given, str):
        return _declared(given, Declared(None))
    name = None if given is None else check_public_name(given, "a method")
    return partial(_declared, declared=Declared(name, no_side_effects))


def _declared(function: Any, declared: Declared) -> Any:
    inner = getattr(function, "__func__", function)  # of a static or class method
    if not inspect.isfunction(inner):
        raise TypeError(f'@method is for a method of a class, @method("name") too, not for {function!r}')
    setattr(inner, _METHOD, declared)
    return function


def service_of(kind: type[Any], name: str | None) -> str:
    """The public name of a service. Raises TypeError, ValueError."""
    if name is not None:
        return check_public_name(name, f"service {kind.__name__}")
    found = getattr(kind, _SERVICE, None)
    if found is None:
        raise TypeError(f'{kind.__name__} is no service: decorate it with @service("name"), or give a name')
    return str(found)


def declared_of(kind: type[Any]) -> dict[str, Declared]:
    """The members of a class that are served, by their own names. A class that overrides a method serves it as the
    class does that declares it."""
    found: dict[str, Declared] = {}
    for one in reversed(kind.__mro__):
        for member, value in vars(one).items():
            declared = getattr(getattr(value, "__func__", value), _METHOD, None)
            if isinstance(declared, Declared):
                found[member] = declared
    return found


def functions_of(protocol: type[Any]) -> dict[str, Declared]:
    """The methods of a client's Protocol by their own names: all functions whose name begins with no underscore."""
    found: dict[str, Declared] = {}
    for one in reversed(protocol.__mro__):
        if one.__module__ in ("typing", "typing_extensions", "builtins"):
            continue
        for member, value in vars(one).items():
            if inspect.isfunction(value) and not member.startswith("_"):
                declared = getattr(value, _METHOD, None)
                found[member] = declared if isinstance(declared, Declared) else Declared(None)
    return found


def public_names(kind: type[Any], declared: dict[str, Declared]) -> dict[str, str]:
    """The public name of each member. Raises ValueError for two of one name, and for one that comes out empty."""
    found: dict[str, str] = {}
    for member, one in declared.items():
        name = public_name(member) if one.name is None else one.name
        check_public_name(name, f"{kind.__name__}.{member}")
        for other, taken in found.items():
            if taken == name:
                raise ValueError(f"{kind.__name__}: {other} and {member} are both {name} in public")
        found[member] = name
    return found
