"""Calls that handlers make."""

from __future__ import annotations

import trunkcall
from conformance.v1 import conformance_pb2 as pb

from .calling import Outgoing, Result
from .data import from_entries, to_entries
from .methods import BY_NAME


async def call_onward(own: trunkcall.ServerCall, onward: pb.Onward) -> pb.Outcome:
    """Makes the call of a handler. Its deadline is not named: it goes along by itself."""
    outgoing = Outgoing(BY_NAME[onward.method], list(onward.requests), from_entries(onward.metadata))
    if not onward.target:
        return outcome(await outgoing.make(own.connection))
    async with trunkcall.Client(onward.target) as client:
        return outcome(await outgoing.make(client))


def outcome(got: Result) -> pb.Outcome:
    told = pb.Outcome(header=to_entries(got.header), trailer=to_entries(got.trailer), answers=got.answers)
    if got.failure is not None:
        told.code, told.message, told.delivery = got.failure.code, got.failure.message, got.failure.delivery.value
        told.details.extend(pb.Detail(type_url=one.type_url, value=one.value) for one in got.failure.details)
    return told
