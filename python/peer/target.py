"""Addresses on the command line: what can never be dialled is turned down before a call is made of it."""

from __future__ import annotations

import asyncio
import socket
from pathlib import Path
from urllib.parse import urlsplit

import trunkcall
from load import UsageError

READ_AGAIN = 0.005  # seconds between two looks at a file of endpoints
WANTED = "want HOST:PORT, unix:PATH or ws://HOST:PORT/PATH"


def check_target(target: str) -> None:
    """Raises UsageError for a --target that is malformed; whether somebody is there is for dialling to find out."""
    for address in target.split(","):
        check_address(address.strip())


def check_address(address: str) -> None:
    scheme, found, _ = address.partition("://")
    if found and scheme in ("ws", "wss") and is_url(address):
        return
    if found:
        raise UsageError(f"--target {address}: {WANTED}, without {scheme}://")
    if address.startswith("file:"):
        return
    if address.startswith("unix:"):
        if address == "unix:":
            raise UsageError(f"--target {address}: there is no path, {WANTED}")
        return
    try:
        _, port = split_address(address)
    except ValueError as error:
        raise UsageError(f"--target {address}: {error}, {WANTED}") from None
    if not port_number(port):
        raise UsageError(f'--target {address}: "{port}" is no port to connect to, {WANTED}')


async def from_file(watch: trunkcall.Watch) -> None:
    """Endpoints from a file, file:PATH, with an address on each line, which may be replaced at any time."""
    last = None
    while True:
        lines = words_of(watch.target)
        if lines != last:
            last = lines
            watch.set([trunkcall.Endpoint(address) for address in lines])
        await asyncio.sleep(READ_AGAIN)


def words_of(path: str) -> list[str]:
    return Path(path).read_text(encoding="utf-8").split()


FILES = {"file": from_file}


def is_url(address: str) -> bool:
    """Whether a WebSocket can be asked for there."""
    try:
        url = urlsplit(address)
        return bool(url.hostname) and url.port != 0 and url.username is None and not url.fragment and " " not in address
    except ValueError:
        return False


def split_address(address: str) -> tuple[str, str]:
    """Host, without brackets, and port of `HOST:PORT`. Raises ValueError that says what is wrong."""
    host, colon, port = address.rpartition(":")
    if not colon or address.endswith("]"):
        raise ValueError("missing port in address")
    if host.startswith("[") and host.endswith("]"):
        return host[1:-1], port
    if ":" in host:
        raise ValueError("too many colons in address")
    if "[" in host or "]" in host:
        raise ValueError("unexpected bracket in address")
    return host, port


def port_number(port: str) -> int:
    """The port by its number or the name of its service; 0 if it is none that can be connected to."""
    if port.isascii() and port.isdecimal():
        number = int(port)
        return number if number < 1 << 16 else 0
    try:
        return socket.getservbyname(port, "tcp") if port else 0
    except OSError:
        return 0
