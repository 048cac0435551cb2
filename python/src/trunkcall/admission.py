"""Admission: who may call at all, asked before anything is done for a call."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from .method import Method


@dataclass(slots=True, frozen=True)
class Arrival:
    """A call as admission sees it: nothing of its request has been decompressed or decoded."""

    method: Method[Any, Any]
    """Its name, and its kind."""

    metadata: list[tuple[str, str | bytes]]
    """The request's."""

    peer: str
    """The caller's address."""

    protocol: str
    """What the call came by: "trunk", or the name of a protocol of one's own."""

    time_remaining: float | None
    """Seconds until the deadline of the call; None if there is none."""

    tls: Any = None
    """The connection's ssl.SSLObject, which has the client's certificate if it showed one; None in the clear."""


@dataclass(slots=True, frozen=True)
class Admission:
    """What admission says of a call that it lets in."""

    principal: Any = None
    """Who calls: handlers and interceptors have it as `ServerCall.principal`."""

    release: Callable[[], None] | None = None
    """Called once when the call is over and its handler, if it began, is done: a place among those that are limited is
    free again."""


Admit = Callable[[Arrival], Admission | Awaitable[Admission]]
"""Lets a call in by returning an Admission, `Admission()` for one without a principal, or rejects it by raising
StatusError: the call is then refused, so that its caller knows that no handler ran, and may come back after
`retry_after` seconds. What else it raises is told as a handler's exception is. So is what else it returns: a function
that falls off its end lets nobody in.

It may be a coroutine function, which is awaited in the handler's own task; a plain function runs on the event loop and
must not block. It is asked before the request is decompressed and decoded and before a one-way call is accepted, and
counts among the running handlers meanwhile. Calls of unknown methods, and those above the limits, are refused without
it."""


class Rejected(Exception):
    """A call that admission has not let in; its argument is the status."""
