"""The blocking side: a channel for generated stubs, and a server object for generated servicers."""

from __future__ import annotations

from .blockingchannel import Channel
from .blockingserver import Server
from .outcome import CallError

__all__ = ["CallError", "Channel", "Server"]
