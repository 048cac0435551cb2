"""The receiving half of a stream: messages put together, kept until consumed, and the credit owed for them."""

from __future__ import annotations

from collections import deque

from .fault import CallFault, ConnectionFault
from .frame import MESSAGE_COST, PIECE_FLOOR

FAST = 20_000  # µs: a CREDIT so soon after the one before has the window grow (limits.md 2)
GROWTH_LIMIT = 64 << 20  # bytes by which the windows of one connection grow together
NEVER = -(1 << 62)


class Load:
    """What all sessions of one process share: running handlers and the memory of messages (limits.md 2).

    Not thread-safe: sessions on several threads need one each, or a lock around their calls."""

    __slots__ = ("memory", "memory_limit", "running", "running_limit")

    def __init__(self, running_limit: int = 16_384, memory_limit: int = 1 << 30) -> None:
        self.running = 0
        self.running_limit = running_limit
        self.memory = 0
        self.memory_limit = memory_limit


class Budget:
    """The promised bytes of one connection's incomplete and unconsumed messages, charged to `load` as well, and how
    much its windows have grown."""

    __slots__ = ("grown", "limit", "load", "used")

    def __init__(self, limit: int, load: Load) -> None:
        self.grown = 0
        self.used = 0
        self.limit = limit
        self.load = load

    def charge(self, size: int) -> None:
        """Raises CallFault `memory` when there is no room; nothing is charged then (protocol.md 9.6)."""
        if self.used + size > self.limit:
            raise CallFault("memory", f"messages of this connection would exceed {self.limit} bytes")
        if self.load.memory + size > self.load.memory_limit:
            raise CallFault("memory", f"messages of this process would exceed {self.load.memory_limit} bytes")
        self.used += size
        self.load.memory += size

    def release(self, size: int) -> None:
        self.used -= size
        self.load.memory -= size


class ReceiveFlow:
    """One direction of one stream at its receiver. `window` is what the peer may still spend."""

    __slots__ = (
        "budget",
        "charged",
        "codec",
        "compression",
        "credit_end",
        "dropping",
        "granted_at",
        "grown",
        "held",
        "inbox",
        "keep",
        "max_message",
        "messages",
        "owed",
        "parts",
        "received",
        "since",
        "single",
        "total",
        "window",
    )

    def __init__(self, window: int, max_message: int, budget: Budget) -> None:
        self.window = window
        self.keep = window  # the window this side keeps: half of it is withheld at most
        self.grown = 0  # by how much it has grown
        self.granted_at = NEVER  # when the last CREDIT was given
        self.max_message = max_message
        self.budget = budget
        self.charged = 0
        self.owed = 0
        self.held = 0  # owed for pieces once earlier messages are consumed (protocol.md 9.4)
        self.inbox: deque[tuple[bytes, int, int]] = deque()  # message, compression, cost
        self.messages = 0  # messages begun
        self.total = 0  # of the message in progress; 0: none
        self.parts: list[bytes] = []
        self.received = 0
        self.codec = 0
        self.compression = 0
        self.since = 0  # when its last piece came
        self.credit_end = 0  # where in the output the last CREDIT ended
        self.single = False  # one message is taken: it is owed when it is whole
        self.dropping = False  # the handler has returned: what comes is owed at once

    def accept(
        self, more: bool, codec: int, compression: int, total: int, payload: bytes, legal: bool, listed: bool
    ) -> bool:
        """Takes the payload of a frame with MSG; True when a message became whole (protocol.md 4.3, 4.6, 9).

        `codec` and `compression` are those of the header, `legal` and `listed` say whether the receiver takes them.
        Raises ConnectionFault `piece`, `credit`; CallFault `message_size`, `codec`, `compression`, `memory`."""
        size = len(payload)
        cost = size + MESSAGE_COST
        if self.total:
            self._check_piece(more, codec, compression, size)
        elif more and size > total:
            raise ConnectionFault("piece", f"a piece of {size} bytes, the total is {total}")
        if cost > self.window:
            raise ConnectionFault("credit", f"a frame that costs {cost}, the window holds {self.window}")
        self.window -= cost
        if not self.total:
            self._begin(more, codec, compression, total if more else size, legal, listed)
        if self.dropping:
            return self._drop(more, size, cost)
        return self._keep(more, payload, compression, cost)

    def _check_piece(self, more: bool, codec: int, compression: int, size: int) -> None:
        if codec != self.codec or compression != self.compression:
            raise ConnectionFault("piece", "codec or compression changes within a message")
        received = self.received + size
        if received > self.total or (received < self.total and not more):
            raise ConnectionFault("piece", f"pieces of {received} bytes, the total is {self.total}")

    def _begin(self, more: bool, codec: int, compression: int, size: int, legal: bool, listed: bool) -> None:
        if size > self.max_message:
            raise CallFault("message_size", f"a message of {size} bytes, max_message is {self.max_message}")
        if not legal:
            raise CallFault("codec", f"codec {codec} is not the call's or not known")
        if not listed:
            raise CallFault("compression", f"compression {compression} is not listed")
        self.messages += 1
        if not self.dropping:
            self.budget.charge(size)
            self.charged += size
        if more:
            self.total, self.codec, self.compression = size, codec, compression

    def _drop(self, more: bool, size: int, cost: int) -> bool:
        self.owed += cost
        self.received = self.received + size if more else 0
        if not more:
            self.total = 0
        return False

    def _keep(self, more: bool, payload: bytes, compression: int, cost: int) -> bool:
        if more:
            self.parts.append(payload)
            self.received += len(payload)
            if self.inbox:
                self.held += cost
            else:
                self.owed += cost
            return False
        if self.total:
            self.parts.append(payload)
            payload = b"".join(self.parts)
            self.parts.clear()
            cost += self.held
            self.total = self.received = self.held = 0
        if self.single:
            self.owed += cost
            cost = 0
        self.inbox.append((payload, compression, cost))
        return True

    def take_one(self) -> None:
        """One message is taken, as is known after the first frame."""
        self.single = True
        if self.inbox:
            message, compression, cost = self.inbox.pop()
            self.inbox.append((message, compression, 0))
            self.owed += cost

    def take(self) -> tuple[bytes, int]:
        """Consumes the oldest message: itself and its compression."""
        message, compression, cost = self.inbox.popleft()
        self.owed += cost
        if not self.inbox:
            self.owed += self.held
            self.held = 0
        self.budget.release(len(message))
        self.charged -= len(message)
        return message, compression

    def growth(self, now: int, most: int) -> int:
        """By how many bytes the window grows with the CREDIT that is given at `now`: it doubles, up to `most`, when
        half of it was consumed soon after the CREDIT before (limits.md 2)."""
        fast = now - self.granted_at < FAST
        self.granted_at = now
        if not fast or self.dropping or self.keep >= most:
            return 0
        more = min(self.keep, most - self.keep)
        if self.budget.grown + more > GROWTH_LIMIT:
            return 0
        self.budget.grown += more
        self.grown += more
        self.keep += more
        return more

    def shut(self) -> None:
        """The call is over: what its window has grown by is free for others."""
        self.budget.grown -= self.grown
        self.grown = 0

    def drop_all(self) -> None:
        """Lets go of all messages, and owes at once for those that come (protocol.md 9.4, 7.3)."""
        self.owed += self.held + sum(cost for _, _, cost in self.inbox)
        self.held = 0
        self.inbox.clear()
        self.parts.clear()
        self.budget.release(self.charged)
        self.charged = 0
        self.dropping = True

    @property
    def due(self) -> bool:
        """Whether what is owed must be sent: at least half of the window kept (protocol.md 9.4)."""
        return self.owed * 2 >= self.keep

    @property
    def standing(self) -> bool:
        """Whether the next piece of a message is missing although there is window for it (protocol.md 9.6)."""
        return self.total > 0 and self.window >= PIECE_FLOOR + MESSAGE_COST
