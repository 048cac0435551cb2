"""What becomes of each attempt to make a call, for those who count and trace (metrics, access logs)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from .endpoint import Endpoint

if TYPE_CHECKING:
    from .method import Method
    from .wire import Status


@dataclass(slots=True, eq=False)
class CallAttempt:
    """One attempt of a call, once it was given to a connection. An observer is told of its begin and of its end with
    the same object, which may be the key of what the observer keeps meanwhile."""

    method: Method[Any, Any]

    number: int
    """From 1. It goes on where the client makes a call once more: one that provably was not run, or a retry of its
    policy file."""

    endpoint: Endpoint | None
    """Where it goes; None for the calls of a server to its clients."""

    peer: str
    """The address of the other end."""

    queued: float
    """Seconds from when the attempt was wanted until it was given to a connection."""

    sent: int = 0
    """Bytes of messages, as compressed for the wire."""

    received: int = 0
    """Likewise, of those that were taken."""

    duration: float = 0.0
    """Seconds from when it was given to a connection to its end; 0 before."""

    status: Status | None = None
    """How it ended, with its delivery; None before."""


class AttemptObserver(Protocol):
    """Is told of each attempt. Must not wait; what it raises is logged. The attempt of a stream that its user drops
    ends too: when the stream is cancelled, or when it is collected."""

    def attempt_began(self, attempt: CallAttempt, /) -> None:
        """An attempt is on its way."""
        ...

    def attempt_ended(self, attempt: CallAttempt, /) -> None:
        """It has ended, and `status` says how; also that of a stream which its user has dropped."""
        ...
