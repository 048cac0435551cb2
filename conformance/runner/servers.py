"""The servers that cases are carried out against: started when they are first wanted, and kept."""

from __future__ import annotations

import contextlib
import itertools
import signal
import tempfile
import threading
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from harness.certificates import Authority
from harness.processes import Failed
from harness.processes import Server as Serving

from .parties import Server

# The flags of `serve` for what cases say of their server.
FLAGS = {
    "compression": "--compression",
    "maxMessage": "--max-message",
    "maxCalls": "--max-calls",
    "maxMetadataBytes": "--max-metadata",
    "runningHandlers": "--running-handlers",
}
TCP = ("--listen", "127.0.0.1:0")
# What clients know the server of a transport by.
SCHEMES = {"websocket": "ws://"}


@dataclass
class Own:
    """Servers that a case has for itself."""

    server: Server
    flags: tuple[str, ...]  # but for where they listen
    serving: list[Serving]
    scheme: str = ""
    signalled: bool = False  # the first of them

    @property
    def target(self) -> str:
        return ",".join(self.scheme + one.address for one in self.serving)

    def do(self, what: str) -> None:
        """Does to the first what a call wants done."""
        first = self.serving[0]
        match what:
            case "terminate":
                first.stop_listening()
                self.signalled = True
            case "kill":
                first.kill()
            case "restart":
                if not first.closed:
                    stop(first)
                self.signalled = False
                self.serving[0] = serve(self.server, "--listen", first.address, *self.flags)
            case _:
                raise Failed(f"nobody knows how to {what}")

    def stop(self) -> None:
        """Stops those that run, and waits for one that is about to end. Raises Failed."""
        with contextlib.ExitStack() as stack:
            for one in self.serving:
                stack.callback(one.kill)
                if not one.closed:
                    waiting = self.signalled and one is self.serving[0]
                    stack.callback(one.finish_well if waiting else partial(stop, one))


class Servers:
    """Used by several threads. `trust` are the files of the authority that has signed their certificates."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory()
        self._path = Path(self._folder.name)
        self._lock = threading.Lock()
        self._kept: dict[tuple[Any, ...], Serving] = {}
        self._broken: dict[tuple[Any, ...], Failed] = {}  # why it could not be started
        self._numbers = itertools.count()
        authority = Authority(self._path)
        self._identity = authority.server().flags()
        self.trust = {"ca": str(authority.file)}

    def target(self, server: Server, transport: str, setup: dict[str, Any], whose: str = "") -> str:
        """Where a server listens that is set up so; the same for all that want that. One with a setup is for one client
        alone: two would be in each other's way where a limit is low."""
        key = (server.name, transport, *((whose, *sorted(setup.items())) if setup else ()))
        with self._lock:
            if key not in self._kept:
                self._start(key, server, (*self._listen(transport), *self._security(transport), *flags_of(setup)))
            return SCHEMES.get(transport, "") + self._kept[key].address

    def _start(self, key: tuple[Any, ...], server: Server, flags: tuple[str, ...]) -> None:
        if key in self._broken:
            raise self._broken[key]
        try:
            self._kept[key] = serve(server, *flags)
        except Failed as failed:
            self._broken[key] = failed
            raise

    def own(self, server: Server, transport: str, setup: dict[str, Any], count: int) -> Own:
        """Servers that nobody else has; to be stopped by who asked for them."""
        flags = (*self._security(transport), *flags_of(setup))
        started = [serve(server, *self._listen(transport), *flags) for _ in range(count)]
        return Own(server, flags, started, SCHEMES.get(transport, ""))

    def _listen(self, transport: str) -> tuple[str, ...]:
        return ("--unix", str(self._path / f"{next(self._numbers)}.sock")) if transport == "unix" else TCP

    def _security(self, transport: str) -> tuple[str, ...]:
        return tuple(self._identity) if transport == "tls" else ()

    def stop(self) -> list[str]:
        """Stops all; what went wrong with that."""
        wrong: list[str] = []
        for one in self._kept.values():
            try:
                stop(one)
            except Failed as failed:
                wrong.append(str(failed))
        self._folder.cleanup()
        return wrong


def serve(server: Server, *flags: str) -> Serving:
    return Serving([*server.program, "serve", "--conformance", *flags])


def stop(serving: Serving) -> None:
    """Signals it unless it has ended, and waits for that. Raises Failed where it does not end well."""
    serving.signal(signal.SIGTERM)
    serving.finish_well()


def flags_of(setup: dict[str, Any]) -> tuple[str, ...]:
    return tuple(word for name, value in sorted(setup.items()) for word in (FLAGS[name], str(value)))
