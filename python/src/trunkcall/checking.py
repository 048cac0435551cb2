"""Options are checked where they are given. The error names the option, what was given and what is wanted: TypeError
for what is of another kind, ValueError for what is out of its range. With `none`, None is not given."""

from __future__ import annotations

import logging
import math
import ssl
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from typing import Any


def wrong_type(option: str, given: object, wanted: str) -> TypeError:
    spelled = f"{given!r:.200}"
    if not spelled or "\n" in spelled:  # a message, of which that shows the fields
        spelled = f"an object of {type(given).__name__}"
    return TypeError(f"option {option}: {spelled} was given, want {wanted}")


def check_seconds(least: float = 0, *, none: bool = False, **options: Any) -> None:
    """Times in seconds."""
    _check_numbers(least, "seconds", (int, float), none, options)


def check_count(least: int, *, none: bool = False, **options: Any) -> None:
    """Whole numbers."""
    _check_numbers(least, "a whole number", (int,), none, options)


def _check_numbers(least: float, what: str, kinds: tuple[type, ...], none: bool, options: dict[str, Any]) -> None:
    for name, value in options.items():
        if none and value is None:
            continue
        if type(value) is bool or not isinstance(value, kinds):
            raise wrong_type(name, value, f"{what}, at least {least:,}")
        number: Any = value
        if not least <= number < math.inf:
            raise ValueError(f"option {name}: {value:,} was given, want {what}, at least {least:,}")


def check_range(name: str, value: Any, least: int, greatest: int) -> None:
    """A whole number between two others."""
    wanted = f"a whole number from {least:,} to {greatest:,}"
    if not isinstance(value, int) or isinstance(value, bool):
        raise wrong_type(name, value, wanted)
    if not least <= value <= greatest:
        raise ValueError(f"option {name}: {value:,} was given, want {wanted}")


def check_timeout(name: str, value: Any) -> None:
    """A timeout of calls: seconds above 0, math.inf for none; None is not given."""
    if value is None:
        return
    if not isinstance(value, int | float) or isinstance(value, bool):
        how = ", which its total_seconds() gives" if hasattr(value, "total_seconds") else ""
        raise wrong_type(name, value, f"seconds above 0{how}")
    if not value > 0:
        raise ValueError(f"option {name}: {value:,} was given, want seconds above 0")


def check_call_timeout(value: Any) -> None:
    """What a call says itself: its deadline has passed at once where a client's timeout would be out of range."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        how = ", which its total_seconds() gives" if hasattr(value, "total_seconds") else ""
        raise wrong_type("timeout", value, f"seconds{how}; math.inf: none")
    if value != value:
        raise ValueError(f"option timeout: {value} was given, want seconds; math.inf: none")


def check_flags(*, none: bool = False, **options: Any) -> None:
    for name, value in options.items():
        if not isinstance(value, bool) and not (none and value is None):
            raise wrong_type(name, value, "True or False")


def check_text(*, none: bool = False, **options: Any) -> None:
    for name, value in options.items():
        if not isinstance(value, str) and not (none and value is None):
            raise wrong_type(name, value, "a text")


def check_callable(name: str, given: object, wanted: str = "a function") -> None:
    """None is not given."""
    if given is not None and not callable(given):
        raise wrong_type(name, given, wanted)


def listed_option(name: str, given: Any, wanted: str) -> tuple[Any, ...]:
    """The members of an option that takes several; a text, which would give its letters, is none."""
    if isinstance(given, str | bytes | Mapping) or not hasattr(given, "__iter__"):
        raise TypeError(f"option {name}: {given!r} was given, want a list of {wanted}")
    return tuple(given)


def check_functions(**options: Any) -> None:
    """Lists of functions."""
    for name, given in options.items():
        if not isinstance(given, Sequence):  # an iterator would be used up by the look at it
            raise wrong_type(name, given, "a list of functions")
        for one in listed_option(name, given, "functions"):
            if not callable(one):
                raise wrong_type(name, one, "a list of functions")


def has_functions(given: object, *names: str) -> bool:
    return all(callable(getattr(given, name, None)) for name in names)


def check_object(name: str, given: object, wanted: str, *functions: str) -> None:
    """An object with functions; None is not given. A class is refused: an object of it is wanted."""
    if given is not None and (isinstance(given, type) or not has_functions(given, *functions)):
        forgot = f": call it, {getattr(given, '__name__', name)}()" if callable(given) else ""
        raise wrong_type(name, given, f"{wanted}, with {' and '.join(f'`{one}`' for one in functions)}{forgot}")


def check_codec(name: str, given: Any) -> None:
    numbered = isinstance(getattr(given, "number", None), int) and isinstance(getattr(given, "name", None), str)
    if isinstance(given, type) or not numbered or not has_functions(given, "encoder", "decoder"):
        raise wrong_type(name, given, "a codec, such as trunkcall.PROTOBUF or trunkcall.RAW")


def check_executor(given: Any) -> None:
    if given is not None and not isinstance(given, Executor):
        raise wrong_type("executor", given, "a concurrent.futures.Executor")


def check_logger(given: Any) -> None:
    if given is not None and not isinstance(given, logging.Logger):
        raise wrong_type("logger", given, 'a logging.Logger, such as logging.getLogger("calls")')


def check_tls(given: Any, *, server: bool) -> None:
    """A context that is for the other side would fail each connection with words of OpenSSL's."""
    if not isinstance(given, ssl.SSLContext):
        return
    side, other = ("server", "clients") if server else ("client", "servers")
    wrong = ssl.PROTOCOL_TLS_CLIENT if server else ssl.PROTOCOL_TLS_SERVER
    if given.protocol == wrong:
        made = "server_tls(cert, key)" if server else "client_tls(ca)"
        raise ValueError(f"option tls: a context for {other} was given, want one for a {side}, as {made} makes it")
