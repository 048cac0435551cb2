"""Connections that were accepted, and how many a server has of them (limits.md 2)."""

from __future__ import annotations

import socket
from collections.abc import Callable
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Any

from .proxied import Name
from .target import spelled

PER_ADDRESS = 16_384
_MOST_TOLD = 64  # connections beyond the limits that are told so at a time


class Accepted(socket.socket):
    """A connection's socket. Whatever protocol comes to serve it, and whichever loop, its end is noticed here."""

    said: tuple[Name, Name] | None = None  # the addresses that a proxy has said
    address = ""  # by which it is counted
    on_end: Callable[[], None] | None = None

    def __init__(self, taken: socket.socket) -> None:
        """Takes over what `accept` returned."""
        super().__init__(taken.family, taken.type, taken.proto, taken.detach())
        self.setblocking(False)

    @property
    def remote(self) -> str:
        """Whose connection it is; "" if it is gone."""
        try:
            return spelled(self.getpeername() if self.said is None else self.said[0])
        except OSError:
            return ""

    def close(self) -> None:
        super().close()
        self._ended()

    def detach(self) -> int:
        """Other loops close a connection by its number."""
        number = super().detach()
        self._ended()
        return number

    def _ended(self) -> None:
        end, self.on_end = self.on_end, None
        if end is not None:
            end()


class ConnectionLimits:
    """How many connections a server has over all its listeners, those in memory left out."""

    def __init__(self, most: int | None = None, most_per_address: int = PER_ADDRESS) -> None:
        self._most = most
        self._most_per_address = most_per_address
        self._all = 0
        self._by_address: dict[str, int] = {}
        self._told = 0

    def enter(self, accepted: Accepted, name: Any) -> str:
        """Counts a connection from a socket address until it ends; one behind a proxy, whose address is not known yet
        (None), only in all. Returns why not, if there are too many: "" otherwise."""
        if self._most is not None and self._all >= self._most:
            return f"connections have reached their limit of {self._most}"
        if why := self.name(accepted, name):
            return why
        self._all += 1
        accepted.on_end = lambda: self._leave(accepted)
        return ""

    def name(self, accepted: Accepted, name: Any) -> str:
        """Counts it by its address too, which is known now. Returns why not."""
        address = _counted_by(name)
        if not address:
            return ""
        count = self._by_address.get(address, 0)
        if count >= self._most_per_address:
            return f"connections from {address} have reached their limit of {self._most_per_address}"
        self._by_address[address] = count + 1
        accepted.address = address
        return ""

    def _leave(self, accepted: Accepted) -> None:
        self._all -= 1
        address = accepted.address
        if address:
            left = self._by_address[address] - 1
            if left:
                self._by_address[address] = left
            else:
                del self._by_address[address]

    def tells(self, accepted: Accepted) -> bool:
        """Whether one that is turned away is told why: not if there are many of them. It is counted in all no more."""
        if accepted.on_end is not None:
            accepted.on_end()
        if self._told >= _MOST_TOLD:
            accepted.on_end = None
            return False
        self._told += 1
        accepted.on_end = self._has_told
        return True

    def _has_told(self) -> None:
        self._told -= 1


def _counted_by(name: Any) -> str:
    """An address of IPv4, or the 64 bits of one of IPv6 that one host or household has all to itself; "" for what has
    no such address."""
    if not isinstance(name, tuple):
        return ""
    found: Any = ip_address(str(name[0]).partition("%")[0])  # pyright: ignore[reportUnknownArgumentType]
    if isinstance(found, IPv6Address):
        found = found.ipv4_mapped or found
    if isinstance(found, IPv4Address):
        return f"{found}/32"
    return f"{IPv6Address(int(found) >> 64 << 64)}/64"
