"""A server's end of one connection: what is noted, told and logged of it."""

from __future__ import annotations

import asyncio
import logging
import random
from typing import TYPE_CHECKING

from .connection import End
from .options import listed

if TYPE_CHECKING:
    from .http import Http
    from .server import Server

_SUBTYPES = {1: "proto", 2: "json", 3: "msgpack"}  # of content types, by the numbers of codecs
_AGE_JITTER = 0.1  # by which part connections live longer or shorter, so that they do not all end together


class ServerEnd(End):
    """A server's end of one connection."""

    def __init__(self, server: Server) -> None:
        super().__init__(server._serving, server._calling, server._loop)
        self.server = server
        self._aged: asyncio.TimerHandle | None = None

    def connected(self) -> None:
        self.server._connected(self)
        age = self.server._max_age
        if age is not None:
            age *= random.uniform(1 - _AGE_JITTER, 1 + _AGE_JITTER)
            self._aged = self.loop.call_later(age, self.retire, "the connection has reached its maximum age")

    def opened(self) -> None:
        super().opened()
        self.server._told.tell("connected", self.caller)

    def disconnected(self, why: str) -> None:
        if self._aged is not None:
            self._aged.cancel()
        self.server._disconnected(self, why)
        super().disconnected(why)
        if not self.young:
            self.server._told.ended(self.caller, self.connection.fault, self.why or why)

    def failed(self, kind: str, text: str) -> None:
        super().failed(kind, text)
        level = logging.INFO if kind == "silent" else logging.WARNING
        self.serving.journal.log(level, "connection ended: %s: %s", self.connection.remote, text)

    def goes_away(self, reason: int, text: str) -> None:
        if reason:
            words = (self.connection.remote, reason, text)
            self.serving.journal.log(logging.WARNING, "peer ends the connection: %s: reason %d %s", *words)
        super().goes_away(reason, text)


def http_of(server: Server) -> Http:
    """What serves HTTP at a server. Loads its libraries."""
    from .http import Http, HttpConfig

    table, packing = server._serving.codecs, server._packing
    config = HttpConfig(
        events=lambda: ServerEnd(server),
        session=server._config,
        methods=server._serving.methods,
        codecs={_SUBTYPES.get(number, codec.name): number for number, codec in table.items()},
        codec_list=listed(table.values()),
        order=[one.number for one in packing.order] if packing.said else None,
        origins=server._origins or (),
        mounted=server._guests.mounted,
    )
    return Http(server._loop, config)
