"""The asyncio side: a channel for generated stubs, a server for generated servicers."""

from __future__ import annotations

from .channel import Channel
from .conversion import CallError
from .registrar import Server

__all__ = ["CallError", "Channel", "Server"]
