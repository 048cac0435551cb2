"""The receiving half of a stream: messages put together, kept until consumed, and the credit owed for them."""

from __future__ import annotations

from collections import deque

from .assembly import Assembly, kept
from .budget import Share
from .fault import CallFault, ConnectionFault
from .frame import MESSAGE_COST, POOL
from .pool import Pool

_POOLED = POOL << 16  # in w2

# Texts for a call that lacks its one message, or has several. The usual cause is a streaming method that was called
# as a unary one, or the other way round.
ONE_EXPECTED = "where one is expected: is the method of another kind, such as streaming?"


class ReceiveFlow:
    """One direction of one stream at its receiver. `window` is what the peer may still spend."""

    __slots__ = (
        "anew",
        "codec",
        "compression",
        "credit_end",
        "dropping",
        "holds",
        "inbox",
        "keep",
        "lain",
        "lies",
        "max_message",
        "messages",
        "moved",
        "order",
        "owed",
        "pool",
        "promised",
        "received",
        "share",
        "since",
        "single",
        "total",
        "whole",
        "window",
        "withheld",
        "withheld_pool",
    )

    def __init__(self, window: int, max_message: int, share: Share, pool: Pool) -> None:
        self.window = window
        self.keep = window  # the window this side keeps: half of it is withheld at most
        self.max_message = max_message
        self.share = share
        self.pool = pool
        self.promised = 0  # bytes counted as promised
        self.holds = 0  # bytes that have come and were not consumed
        self.order = 0  # a lesser one has held something for longer
        self.owed = 0
        self.withheld = 0  # owed for pieces once earlier messages are consumed (protocol.md 9.4)
        self.withheld_pool = 0  # the same to the pool
        self.lies = 0  # charged to the pool and not given back
        self.anew = 0  # of that, granted anew
        self.lain = 0  # what lay here at the last look
        self.moved = False  # something was given back since then
        # message, compression, cost: of window, of pool
        self.inbox: deque[tuple[bytes | bytearray, int, int, int]] = deque()
        self.messages = 0  # messages begun
        self.total = 0  # of the message in progress; 0: none
        self.whole: Assembly | None = None  # what has come of it
        self.received = 0
        self.codec = 0
        self.compression = 0
        self.since = 0  # when the message in progress began (protocol.md 9.6)
        self.credit_end = 0  # where in the output the last CREDIT ended
        self.single = False  # one message is taken: it is owed when it is whole
        self.dropping = False  # the handler has returned: what comes is owed at once

    def accept(
        self,
        more: bool,
        codec: int,
        compression: int,
        total: int,
        payload: bytes | memoryview,
        legal: bool,
        listed: bool,
    ) -> bool:
        """Takes the payload of a frame with MSG; True when a message became whole (protocol.md 4.3, 4.6, 9). A frame
        with POOL was charged before, and stands in `pool.untaken`.

        `codec` and `compression` are those of the header, `legal` and `listed` say whether the receiver takes them.
        Raises ConnectionFault `piece`, `credit`; CallFault `message_size`, `codec`, `compression`, `messages`,
        `memory`."""
        size = len(payload)
        if self.total:
            self._check_piece(more, codec, compression, size)
        elif more and size > total:
            raise ConnectionFault("piece", f"a piece of {size} bytes, the total is {total}")
        cost = 0
        if not self.pool.untaken:
            cost = size + MESSAGE_COST
            if cost > self.window:
                raise ConnectionFault("credit", f"a frame that costs {cost}, the window holds {self.window}")
            self.window -= cost
        if not self.total:
            self._begin(more, codec, compression, total if more else size, legal, listed)
        if self.dropping:
            return self._drop(more, size, cost)
        return self._keep(more, payload, compression, cost)

    def accept_inner(self, w2: int, payload: memoryview) -> bool:
        """As `accept`, for a piece of a message that began before it and goes on behind it. False: nothing was done,
        since the piece is another or has something about it that `accept` is to judge."""
        size = len(payload)
        received = self.received + size
        if received >= self.total or w2 >> 24 & 15 != self.codec or w2 >> 28 != self.compression or self.dropping:
            return False
        pool, share = self.pool, self.share
        cost, pooled = size + MESSAGE_COST, 0
        if w2 & _POOLED:
            cost, pooled = 0, cost
        if pooled > pool.left or cost > self.window:
            return False
        try:
            share.hold(size, self)
        except CallFault:
            return False
        self.holds += size
        self.received = received
        self._put(payload)
        if pooled:
            pool.charge(size)
            pool.untaken = 0
            self.lies += pooled
        self.window -= cost
        if self.inbox or (pooled and share.exceeded):
            self.withheld += cost
            self.withheld_pool += pooled
        else:
            self.owed += cost
            if pooled:
                pool.give_back(self, pooled)
        return True

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
        if self.single and self.messages:  # ahead of memory: nobody is to make room for it
            raise CallFault("messages", f"more than one message {ONE_EXPECTED}")
        self.messages += 1
        if not self.dropping:
            self.share.promise(size)
            self.promised += size
        if more:
            self.total, self.codec, self.compression = size, codec, compression
            self.pool.make_way(size)

    def _drop(self, more: bool, size: int, cost: int) -> bool:
        self.owed += cost
        self.received = self.received + size if more else 0
        if not more:
            self.total = 0
        return False

    def _keep(self, more: bool, payload: bytes | memoryview, compression: int, cost: int) -> bool:
        if not self.holds:
            self.share.order += 1
            self.order = self.share.order
        self.share.hold(len(payload), self)
        self.holds += len(payload)
        pool = self.pool
        pooled, pool.untaken = pool.untaken, 0
        self.lies += pooled
        if more:
            self._put(payload)
            self.received += len(payload)
            if self.inbox or (pooled and self.share.exceeded):
                self.withheld += cost
                self.withheld_pool += pooled
            else:
                self.owed += cost
                pool.give_back(self, pooled)
            return False
        message: bytes | bytearray
        if self.total:
            message = self._put(payload).finish()
            self.whole = None
            cost += self.withheld
            pooled += self.withheld_pool
            self.total = self.received = self.withheld = self.withheld_pool = 0
        else:
            message = bytes(payload)
        if self.single:
            self.owed += cost
            pool.give_back(self, pooled)
            cost = pooled = 0
        self.inbox.append((message, compression, cost, pooled))
        return True

    def _put(self, piece: bytes | memoryview) -> Assembly:
        """Adds a piece to its message."""
        whole = self.whole
        if whole is None:
            whole = self.whole = Assembly()
        whole.add(piece)
        return whole

    def take_one(self) -> None:
        """One message is taken, as is known after the first frame."""
        self.single = True
        if self.inbox:
            message, compression, cost, pooled = self.inbox.pop()
            self.inbox.append((message, compression, 0, 0))
            self.owed += cost
            self.pool.give_back(self, pooled)

    def take(self) -> tuple[bytes | bytearray, int]:
        """Consumes the oldest message: itself, of which a bytearray may be given back (assembly.py), and its
        compression."""
        message, compression, cost, pooled = self.inbox.popleft()
        self.owed += cost
        if not self.inbox:
            self.owed += self.withheld
            pooled += self.withheld_pool
            self.withheld = self.withheld_pool = 0
        if pooled:
            self.pool.give_back(self, pooled)
        self._release(len(message))
        return message, compression

    def take_last(self) -> bytes:
        """The message that came with the end of the call, which nobody is owed anything for."""
        message, _, _, _ = self.inbox.pop()
        self._release(len(message))
        return kept(message)

    def _release(self, size: int) -> None:
        self.share.promised -= size
        self.promised -= size
        self.holds -= size
        self.share.let_go(size)

    def drop_unfinished(self) -> None:
        """Lets go of a message that will not be whole."""
        if self.total and not self.dropping:
            self.share.promised -= self.total
            self.promised -= self.total
            self.holds -= self.received
            self.share.let_go(self.received)
        self.whole = None
        self.total = self.received = 0

    def drop_all(self) -> None:
        """Drops all messages, and owes at once for those that come (protocol.md 9.4, 7.3)."""
        self.owed += self.withheld + sum(cost for _, _, cost, _ in self.inbox)
        self.withheld = self.withheld_pool = 0
        self.inbox.clear()
        self.whole = None
        self.share.promised -= self.promised
        self.share.let_go(self.holds)
        self.promised = self.holds = 0
        self.dropping = True
        self.close()

    def close(self) -> None:
        """The call is over: all that lies here is owed to the pool, consumed or not (protocol.md 9.8)."""
        if self.lies:
            self.pool.give_back(self, self.lies)

    @property
    def due(self) -> bool:
        """Whether what is owed must be sent: at least half of the window kept (protocol.md 9.4)."""
        return self.owed * 2 >= self.keep
