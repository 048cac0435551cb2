"""Observers: told what happens to listeners and connections."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from .checking import wrong_type

if TYPE_CHECKING:
    from .connection import Connection

logger = logging.getLogger("trunkcall")


class Observer:
    """Derive a class of this one and override what is to be known; nothing is done here. The functions are called on
    the event loop, must not block, and may use the connection; what they raise is logged."""

    def listening(self, address: str) -> None:
        """A server listens on an address."""

    def listen_failed(self, where: str, error: OSError) -> None:
        """An address could not be listened on; Server.listen raises the error."""

    def connected(self, connection: Connection) -> None:
        """The other end of a connection has answered as Trunkcall: it can be called from now on."""

    def connect_failed(self, target: str, why: str) -> None:
        """An attempt of a client did not come so far; `why` names each address that was tried."""

    def read_failed(self, connection: Connection, error: Exception) -> None:
        """A connection that was connected is lost because its socket failed; the end of the stream is no failure."""

    def write_failed(self, connection: Connection, error: Exception) -> None:
        """The same, where it is known that nothing can be written: asyncio says so by EPIPE only, and what else a
        socket fails of is told as `read_failed`."""

    def disconnected(self, connection: Connection, why: str) -> None:
        """A connection that was connected is over: once, and last."""

    def policy_taken(self, file: str) -> None:
        """A policy file was exchanged while the client or server was there, and holds from now on."""

    def policy_refused(self, file: str, why: str) -> None:
        """It is at fault, or cannot be read: `why` has each fault with its line. What held before holds on."""


class Told:
    """An observer as those see it who tell it something; there may be none."""

    __slots__ = ("_observer",)

    def __init__(self, observer: Observer | None) -> None:
        if observer is not None and not isinstance(observer, Observer):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise wrong_type("observer", observer, "an object of a class derived of trunkcall.Observer")
        self._observer = observer

    def tell(self, event: str, *about: Any) -> None:
        """Calls the function of that name."""
        if self._observer is None:
            return
        try:
            getattr(self._observer, event)(*about)
        except Exception:
            logger.exception("observer raised an exception when it was told %s", event)

    def ended(self, connection: Connection, fault: Exception | None, why: str) -> None:
        """A connection is over that was connected."""
        if fault is not None:
            self.tell("write_failed" if isinstance(fault, BrokenPipeError) else "read_failed", connection, fault)
        self.tell("disconnected", connection, why)
