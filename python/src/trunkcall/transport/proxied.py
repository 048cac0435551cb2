"""The PROXY protocol, versions 1 and 2: a line or a block ahead of everything else, in which a proxy says whose
connection it passes on (http.md 1)."""

from __future__ import annotations

import asyncio
from ipaddress import ip_address
from typing import Any

_SIGNATURE = b"\r\n\r\n\0\r\nQUIT\n"  # of version 2
_WORD = b"PROXY "  # of version 1
_LINE = 107  # bytes of the longest line of version 1
_HEAD = 16  # bytes of version 2 ahead of the addresses
_LOCAL, _PASSED_ON = 0x20, 0x21  # of the proxy's own; of a client's
_SIZES = {0x11: 4, 0x21: 16}  # of an address, by its family; others are passed over
_PIECE = 4_096  # bytes that are skipped at a time
NO_HEADER = "there is no header of the PROXY protocol, which this port wants"

Name = tuple[str, int]  # an address and its port


class ProxyHeader:
    """What is read of a header. `wants` says how much more may be read, so that nothing behind it is: 0 when it is
    whole. Then `said` has the client's address and the one that it came to; None: the connection is the proxy's own."""

    def __init__(self) -> None:
        self.wants = len(_WORD)
        self.said: tuple[Name, Name] | None = None
        self._seen = b""
        self._size = 0  # of each of the addresses that come
        self._rest = 0  # bytes behind them
        self._skipping = False  # those

    @property
    def begun(self) -> bool:
        return bool(self._seen)

    def strip(self, data: bytes) -> bytes:
        """Takes its part of what was read, and returns what is left. Raises ValueError."""
        while self.wants and data:
            some, data = data[: self.wants], data[self.wants :]
            self.take(some)
        return data

    def take(self, data: bytes) -> None:
        """Takes what was read, no more than it wants. Raises ValueError, which says what is wrong."""
        self.wants -= len(data)
        if self._skipping:
            if not self.wants:
                self._skip()
            return
        self._seen += data
        if self.wants:
            return
        if self._seen.startswith(_WORD):
            self._take_line()
        elif len(self._seen) == len(_WORD):
            if not _SIGNATURE.startswith(self._seen):
                raise ValueError(NO_HEADER)
            self.wants = _HEAD - len(_WORD)
        elif len(self._seen) == _HEAD:
            self._take_head()
        else:
            self._take_addresses()

    def _take_line(self) -> None:
        """Version 1, byte by byte: what follows is not ours."""
        seen = self._seen
        if not seen.endswith(b"\r\n"):
            if len(seen) == _LINE:
                raise ValueError("PROXY protocol: the line is too long")
            self.wants = 1
            return
        kind, *words = seen[len(_WORD) : -2].decode("latin-1").split(" ")
        if kind == "UNKNOWN":
            return
        if kind in ("TCP4", "TCP6") and len(words) == 4:
            source, target = _name(words[0], words[2]), _name(words[1], words[3])
            if source and target and (":" not in source[0]) == (kind == "TCP4"):
                self.said = source, target
                return
        raise ValueError(f"PROXY protocol: malformed line {seen[len(_WORD) :]!r}")

    def _take_head(self) -> None:
        command, family = self._seen[12:14]
        length = int.from_bytes(self._seen[14:], "big")
        if not self._seen.startswith(_SIGNATURE):
            raise ValueError(NO_HEADER)
        size = _SIZES.get(family, 0) if command == _PASSED_ON else 0
        self.wants = 2 * size + 4 if size else 0
        if command not in (_LOCAL, _PASSED_ON) or length < self.wants:
            raise ValueError(f"PROXY protocol: malformed header {self._seen[12:].hex(' ')}")
        self._size = size
        self._rest = length - self.wants
        if not size:
            self._skip()

    def _take_addresses(self) -> None:
        size, said = self._size, self._seen[_HEAD:]
        ports = said[2 * size :]
        source = str(ip_address(said[:size])), int.from_bytes(ports[:2], "big")
        target = str(ip_address(said[size : 2 * size])), int.from_bytes(ports[2:], "big")
        self.said = source, target
        self._skip()

    def _skip(self) -> None:
        self._skipping = True
        self.wants = min(self._rest, _PIECE)
        self._rest -= self.wants


def _name(host: str, port: str) -> Name | None:
    """An address as version 1 has it; None: it is none."""
    if not (port.isascii() and port.isdigit() and len(port) <= 5 and int(port) <= 65_535):
        return None
    try:
        return str(ip_address(host)), int(port)
    except ValueError:
        return None


class Proxied:
    """A transport with the addresses that a proxy has said."""

    def __init__(self, transport: asyncio.Transport, said: tuple[Name, Name]) -> None:
        self._transport = transport
        self._names: dict[str, Name] = {"peername": said[0], "sockname": said[1]}

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return self._names.get(name) or self._transport.get_extra_info(name, default)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)
