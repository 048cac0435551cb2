"""Addresses as users write them: HOST:PORT, unix:PATH, mem:NAME, ws://HOST:PORT/PATH."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

_HOST_PORT = re.compile(r"(?:\[(?P<six>[^\[\]]*:[^\[\]]*)\]|(?P<host>[^:\[\]/\s]*)):(?P<port>[^:]*)")
_LISTENING = 'cannot listen on "{}": {}: want HOST:PORT, unix:PATH or mem:NAME'
_DIALLING = 'target "{}": {}: want HOST:PORT, unix:PATH, mem:NAME or ws://HOST:PORT/PATH'


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
    """Reads an address to listen on: HOST:PORT, [IPV6]:PORT, unix:PATH or mem:NAME. Raises ValueError; TypeError for
    what is no text."""
    place = _named(text, _LISTENING)
    if place is not None:
        return place
    try:
        return Address(*_host_and_port(text, 0))
    except ValueError as error:
        raise ValueError(_LISTENING.format(text, error)) from None


def parse_place(text: str) -> Address:
    """Reads an address to dial: as `parse_address` does, without a host on this machine, or ws://HOST:PORT/PATH or
    wss://HOST:PORT/PATH (client.md 6.2). Raises as that."""
    place = _named(text, _DIALLING)
    if place is not None:
        return place
    if text.startswith(("ws://", "wss://")):
        return _parse_url(text)
    try:
        host, port = _host_and_port(text, 1)
    except ValueError as error:
        raise ValueError(_DIALLING.format(text, error)) from None
    return Address(host or "localhost", port)


def _named(text: str, fault: str) -> Address | None:
    """What begins with unix: or mem:."""
    kind, colon, name = _text(text).partition(":")
    if not colon or kind not in ("unix", "mem"):
        return None
    if not name:
        raise ValueError(fault.format(text, f"there is nothing behind {kind}:"))
    return Address(path=name) if kind == "unix" else Address(name=name)


def _host_and_port(text: str, least: int) -> tuple[str, int]:
    """Reads HOST:PORT, where HOST may be empty and PORT is `least` at least. Raises ValueError, whose text says what is
    wrong, and what would be right where that is clear."""
    found = _HOST_PORT.fullmatch(text)
    if found is None or found["port"].startswith("//"):
        raise ValueError(_no_host_and_port(text))
    port: str = found["port"]
    if port.isascii() and port.isdigit() and len(port) <= 5 and least <= int(port) <= 65_535:
        return found["six"] or found["host"] or "", int(port)
    if "/" in port:
        raise ValueError(f"there is a path behind the port; without it, it is {text.partition('/')[0]}")
    raise ValueError(f'a port is a number from {least} to 65535, not "{port}"')


def _no_host_and_port(text: str) -> str:
    """What is wrong with what is not HOST:PORT."""
    scheme, is_url, rest = text.partition("://")
    bare, _, port = text.rpartition(":")
    if not text:
        return "it is empty"
    if is_url:
        why = "it is a URL"
        with suppress(ValueError):
            why += f"; as an address it is {Address(*_host_and_port(rest.partition('/')[0], 1))}"
        return why + (", and TLS is an option" if scheme in ("https", "grpcs") else "")
    if text[0] in "/.":
        return f"it is a path; a Unix socket there is unix:{text}"
    if "," in text:
        return "there is a comma in it; each address is given by itself"
    if any(c.isspace() for c in text):
        return "there is a blank in it"
    if text.isascii() and text.isdigit() and int(text) <= 65_535:
        return f"it has no host; that port on this machine is localhost:{text}"
    if text.count(":") > 1 and _is_ip(bare):
        return f"an address of IPv6 stands in brackets, such as [{bare}]:{port}"
    if _is_ip(text.strip("[]")) or ":" not in text:
        return f"it has no port; with one it is, for example, {Address(text.strip('[]'), 8080)}"
    return "it is no address"


def _is_ip(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True


def _parse_url(text: str) -> Address:
    wanted = f'target "{text}": want ws://HOST:PORT/PATH'
    try:
        url = urlsplit(text)
        port = url.port or (80 if url.scheme == "ws" else 443)
    except ValueError as error:
        raise ValueError(f"{wanted}: {error}") from None
    odd = any(c <= " " or c in "\x7f#" for c in text)
    if not url.hostname or url.username is not None or url.port == 0 or odd:
        raise ValueError(wanted)
    return Address(url.hostname, port, url=text)


def check_library(place: Address) -> None:
    """Raises ImportError for a WebSocket without the library for it. It is for what a program names itself, which is to
    be told at once, not when it is dialled."""
    if place.url:
        import_module(".websocket", __package__)


def _text(given: object) -> str:
    if not isinstance(given, str):
        raise TypeError(f"an address is HOST:PORT, unix:PATH or mem:NAME, not {given!r}")
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
