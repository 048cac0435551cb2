"""Sockets that listen: made for an address, or given by users."""

from __future__ import annotations

import os
import socket
import stat
from collections.abc import Iterable
from typing import Any, TypedDict

from .target import Address

BACKLOG = 1_024


class _Hints(TypedDict):
    type: int
    flags: int


PASSIVE: _Hints = {"type": socket.SOCK_STREAM, "flags": socket.AI_PASSIVE}  # for getaddrinfo


def bind_found(found: Iterable[Any], port: int, reuse_port: bool) -> list[socket.socket]:
    """Listens on each of what getaddrinfo has found; for port 0 on the same free one. Raises OSError."""
    bound: list[socket.socket] = []
    try:
        for family, kind, protocol, _, name in dict.fromkeys(found):
            one = socket.socket(family, kind, protocol)
            bound.append(one)
            one.setblocking(False)
            one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if reuse_port:
                one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
            if family == socket.AF_INET6:
                one.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            one.bind((name[0], port, *name[2:]))
            one.listen(BACKLOG)
            port = int(one.getsockname()[1])  # port 0: the same for all
    except OSError:
        for one in bound:
            one.close()
        raise
    return bound


def address_of(given: socket.socket) -> Address:
    """The address of a socket that a user hands over. Raises ValueError for one that does not listen or is closed,
    TypeError for what is no socket."""
    if not isinstance(given, socket.socket):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(
            f"an address is HOST:PORT, unix:PATH or a socket that listens, not a value of type {type(given).__name__}"
        )
    if given.fileno() == -1:
        raise ValueError("the socket is closed, or was handed over before")
    streams = given.type == socket.SOCK_STREAM and given.family in (socket.AF_INET, socket.AF_INET6, socket.AF_UNIX)
    if not streams or not given.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
        raise ValueError(f"{given!r} is no TCP or Unix socket that listens")
    given.setblocking(False)
    name = given.getsockname()
    if given.family == socket.AF_UNIX:
        return Address(path=name.decode("utf-8", "replace") if isinstance(name, bytes) else name)
    return Address(str(name[0]), int(name[1]))


def bind_path(path: str) -> socket.socket:
    """A Unix socket at `path`; the file of a listener that is gone is replaced."""
    bound = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    bound.setblocking(False)
    try:
        if _is_abandoned(path):
            os.unlink(path)
        bound.bind(path)
        bound.listen(BACKLOG)
    except OSError:
        bound.close()
        raise
    return bound


def _is_abandoned(path: str) -> bool:
    """Whether nobody listens on the socket that is there. A file of another kind refuses connections too."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.setblocking(False)
        try:
            if not stat.S_ISSOCK(os.lstat(path).st_mode):
                return False
            probe.connect(path)
        except ConnectionRefusedError:
            return True
        except OSError:
            return False
    return False
