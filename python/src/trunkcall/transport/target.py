"""Addresses as users write them: HOST:PORT, unix:PATH, mem:NAME, ws://HOST:PORT/PATH."""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib import import_module
from typing import Any
from urllib.parse import urlsplit

_HOST_PORT = re.compile(r"(?:\[(?P<six>[^\[\]]*:[^\[\]]*)\]|(?P<host>[^:\[\]/]*)):(?P<port>[0-9]{1,5})")


@dataclass(frozen=True, slots=True)
class Address:
    """One place to dial or to listen on: a Unix socket if `path` is set, memory if `name` is. `url` is that of a
    WebSocket to open there."""

    host: str = ""
    port: int = 0
    path: str = ""
    url: str = ""
    name: str = ""

    def __str__(self) -> str:
        if self.path:
            return f"unix:{self.path}"
        if self.name:
            return f"mem:{self.name}"
        if self.url:
            return self.url
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def parse_address(text: str) -> Address:
    """Reads HOST:PORT, [IPV6]:PORT, unix:PATH or mem:NAME. Raises ValueError; TypeError for what is no text."""
    text = _text(text).strip()
    if text.startswith("unix:"):
        path = text.removeprefix("unix:")
        if not path:
            raise ValueError("unix: without a path")
        return Address(path=path)
    if text.startswith("mem:"):
        name = text.removeprefix("mem:")
        if not name:
            raise ValueError("mem: without a name")
        return Address(name=name)
    if "://" in text:
        raise ValueError(f"{text!r} is a URL, not HOST:PORT, unix:PATH, mem:NAME or, to dial, ws://HOST:PORT/PATH")
    found = _HOST_PORT.fullmatch(text)
    if found is None or int(found["port"]) > 65_535:
        why = ": an IPv6 address stands in brackets" if text.count(":") > 1 and "[" not in text else ""
        raise ValueError(f"{text!r} is not HOST:PORT, unix:PATH or mem:NAME{why}")
    return Address(found["six"] or found["host"] or "", int(found["port"]))


def parse_place(text: str) -> Address:
    """Reads an address to dial: as `parse_address` does, without a host on this machine, or ws://HOST:PORT/PATH or
    wss://HOST:PORT/PATH (client.md 6.2). Raises as that, and ImportError for a WebSocket without the library for it."""
    if _text(text) != text.strip():
        raise ValueError(f"{text!r} has blanks around it")
    if text.startswith(("ws://", "wss://")):
        return _parse_url(text)
    place = parse_address(text)
    if place.path or place.name:
        return place
    if not place.port:
        raise ValueError(f"{text!r}: port 0 cannot be dialled")
    return place if place.host else Address("localhost", place.port)


def _parse_url(text: str) -> Address:
    wanted = f"target {text!r}: want ws://HOST:PORT/PATH"
    try:
        url = urlsplit(text)
        port = url.port or (80 if url.scheme == "ws" else 443)
    except ValueError as error:
        raise ValueError(f"{wanted}: {error}") from None
    odd = any(c <= " " or c == "\x7f" for c in text)
    if not url.hostname or url.username is not None or url.fragment or url.port == 0 or odd:
        raise ValueError(wanted)
    import_module(".websocket", __package__)  # raises now, rather than with the first call
    return Address(url.hostname, port, url=text)


def _text(given: object) -> str:
    if not isinstance(given, str):
        raise TypeError(f"an address is HOST:PORT, unix:PATH or mem:NAME, not a {type(given).__name__}")
    return given


def spelled(name: Any) -> str:
    """An address as the socket module gives it, in the form that users write; "" if it has none."""
    if isinstance(name, tuple):
        host, port = _first_two(name)
        return str(Address(str(host), int(port)))
    if isinstance(name, bytes):
        name = name.decode("utf-8", "replace")
    if name and str(name).startswith("mem:"):
        return str(name)
    return f"unix:{name}" if name else ""


def _first_two(name: Any) -> tuple[Any, Any]:
    return name[0], name[1]
