"""How a client stands with its servers, as gRPC says it."""

from __future__ import annotations

from grpc import ChannelConnectivity

from trunkcall.calling import Calls
from trunkcall.client import Client
from trunkcall.endpoint import State


def connectivity(caller: Calls, *, try_to_connect: bool = False) -> ChannelConnectivity:
    """The state of a client, or of a connection, which is ready or over. Used on their loop, as they are."""
    if caller._closed:
        return ChannelConnectivity.SHUTDOWN
    if caller._ready:
        return ChannelConnectivity.READY
    if not isinstance(caller, Client):
        return ChannelConnectivity.SHUTDOWN
    if try_to_connect:
        caller._endpoints.wake()
    states = {one.state for one in caller._endpoints.order}
    if State.CONNECTING in states:
        return ChannelConnectivity.CONNECTING
    return ChannelConnectivity.TRANSIENT_FAILURE if State.FAILING in states else ChannelConnectivity.IDLE
