"""What became of handlers, by the ids of their plans."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Generator
from contextlib import contextmanager

import trunkcall
from conformance.v1 import conformance_pb2 as pb

from .sight import Sight

# Handlers are cancelled in one way, whatever the reason: with less time left, it is taken to be the deadline.
NEAR = 1.0


class Ledger:
    """Belongs to one event loop."""

    def __init__(self) -> None:
        self._entries: defaultdict[str, pb.Observed] = defaultdict(pb.Observed)
        self._changed = asyncio.Event()  # another one after each change

    async def observe(self, name: str, until: pb.Until) -> pb.Observed:
        """Waits for what `until` says."""
        while not self._has(name, until):
            await self._changed.wait()
        told = pb.Observed()
        told.CopyFrom(self._entries[name])
        return told

    def _has(self, name: str, until: pb.Until) -> bool:
        entry = self._entries[name]
        match until:
            case pb.STARTED:
                return entry.started > 0
            case pb.ENDED:
                return entry.ended > 0
            case _:
                return True

    @contextmanager
    def handling(self, name: str, call: trunkcall.ServerCall, sight: Sight) -> Generator[None]:
        """Notes that a handler has started, and at its end how that came."""
        if not name:
            yield
            return
        entry = self._entries[name]
        entry.started += 1
        self._tell()
        end = pb.BY_ITSELF
        try:
            yield
        except asyncio.CancelledError:
            left = call.time_remaining()
            end = pb.CANCELLED if left is None or left > NEAR else pb.DEADLINE
            raise
        finally:
            entry.ended += 1
            entry.end = end
            entry.seen.CopyFrom(sight.tell())
            self._tell()

    def _tell(self) -> None:
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()
