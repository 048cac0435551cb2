"""What a handler sees of its call."""

from __future__ import annotations

import hashlib
import math

import trunkcall
from conformance.v1 import conformance_pb2 as pb

from .data import to_entries


class Sight:
    def __init__(self, call: trunkcall.ServerCall) -> None:
        self._told = pb.Seen(metadata=to_entries(call.metadata))
        left = call.time_remaining()
        if left is not None:
            self._told.left_ms = math.ceil(left * 1_000)
        self._digest = hashlib.sha256()

    def add(self, data: bytes) -> None:
        self._told.requests += 1
        self._told.bytes += len(data)
        self._digest.update(data)

    def tell(self) -> pb.Seen:
        """What was seen so far."""
        told = pb.Seen(digest=self._digest.digest())
        told.MergeFrom(self._told)
        return told
