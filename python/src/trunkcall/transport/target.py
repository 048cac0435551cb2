"""Addresses as users write them: HOST:PORT and unix:PATH."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Address:
    """One place to dial or to listen on: a Unix socket if `path` is set."""

    host: str = ""
    port: int = 0
    path: str = ""

    def __str__(self) -> str:
        if self.path:
            return f"unix:{self.path}"
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def parse_address(text: str) -> Address:
    """Reads HOST:PORT, [IPV6]:PORT or unix:PATH. Raises ValueError; TypeError for what is no text."""
    text = _text(text).strip()
    if text.startswith("unix:"):
        path = text.removeprefix("unix:")
        if not path:
            raise ValueError("unix: without a path")
        return Address(path=path)
    host, colon, port = text.rpartition(":")
    if "://" in text:
        raise ValueError(f"{text!r} is a URL, not HOST:PORT or unix:PATH")
    if not colon or not port.isdecimal() or int(port) > 65_535:
        raise ValueError(f"{text!r} is not HOST:PORT or unix:PATH")
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    elif ":" in host:
        raise ValueError(f"{text!r}: an IPv6 address stands in brackets")
    return Address(host, int(port))


def parse_target(text: str) -> tuple[Address, ...]:
    """Reads one address, or several with commas between them. Raises as `parse_address`."""
    return tuple(parse_address(part) for part in _text(text).split(","))


def _text(given: object) -> str:
    if not isinstance(given, str):
        raise TypeError(f"an address is HOST:PORT or unix:PATH, not a {type(given).__name__}")
    return given


def spelled(name: Any) -> str:
    """An address as the socket module gives it, in the form that users write; "" if it has none."""
    if isinstance(name, tuple):
        host, port = _first_two(name)
        return str(Address(str(host), int(port)))
    if isinstance(name, bytes):
        name = name.decode("utf-8", "replace")
    return f"unix:{name}" if name else ""


def _first_two(name: Any) -> tuple[Any, Any]:
    return name[0], name[1]
