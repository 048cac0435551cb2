"""A call that came as a request of HTTP, as those see it who serve it: like wire.IncomingCall."""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass
from typing import Any

from trunkcall.transport import clock
from trunkcall.wire import OK, Code, Delivery, Metadata, Method, Status
from trunkcall.wire.metadata import block

from .answering import Answering
from .deframer import PREFIX, Base64Groups, Deframer
from .dialects import Dialect
from .line import LineStream
from .refusal import Refusal
from .stream import Target
from .underway import LATE, UnderWay

_COST = 64  # of a message that waits, beside its bytes
_OUT_OF_TIME = "the deadline has passed"


@dataclass(slots=True)
class Head:
    """What a request says of the call that it makes."""

    method: Method
    dialect: Dialect
    codec: int
    compression: int
    packs: int  # what answers may be in
    metadata: Metadata
    deadline: int  # by `clock`, 0: none


class HttpCall:
    """It starts when its request is there, or at once if it takes many; messages wait here until the handler takes
    them, and only then does their credit return."""

    oneway = False  # its caller waits for the end

    __slots__ = (
        "_answering",
        "_base64",
        "_compression",
        "_credit",
        "_deframer",
        "_ended",
        "_events",
        "_inbox",
        "_load",
        "_seen",
        "_stream",
        "_timer",
        "_under_way",
        "codec",
        "compression",
        "deadline",
        "message",
        "metadata",
        "method",
        "over",
        "protocol",
        "returned",
        "session",
        "started",
        "user",
    )

    user: Any  # set by the one who serves the call

    def __init__(self, stream: LineStream, head: Head, answering: Answering, length: int) -> None:
        """`length` is that of the body, -1: not said. Raises Refusal."""
        line = stream.line
        self._stream = stream
        self._answering = answering
        self._events = line.events
        self._load = line.config.load
        self._compression = head.compression
        self._base64 = Base64Groups() if head.dialect.base64 else None
        most = line.config.settings.max_message
        self._deframer = Deframer(not head.dialect.plain, most, length, stream.hold, stream.promise)
        self._inbox: deque[tuple[bytes, int, int]] = deque()  # message, compression, credit
        self._credit = 0  # of what has come and lies in no message
        self._seen = 0  # messages that have come
        self._ended = False
        self._under_way = UnderWay()
        self.method = head.method
        self.protocol = head.dialect.protocol
        self.codec = head.codec
        self.compression = 0
        self.metadata: Metadata | None = head.metadata
        self.deadline = head.deadline
        self.message: bytes | None = None
        self.session = line.config.terms[head.packs]
        self.started = self.returned = self.over = False
        self._timer: asyncio.TimerHandle | None = None
        if head.deadline:
            left = max(head.deadline - clock(), 0) / 1e6
            self._timer = line.loop.call_later(left, self.cut_off, Code.DEADLINE_EXCEEDED, _OUT_OF_TIME)
        if head.method.takes_one:
            self._under_way.set(True)

    @property
    def _target(self) -> Target:
        return self.method.target  # type: ignore[no-any-return]

    def begin(self) -> None:
        """Starts, if it need not wait for its request."""
        if self.method.takes_one:
            self._stream.proceed()
        else:
            self._start()

    def _start(self) -> None:
        if self.over:
            return
        load = self._load
        if self.deadline and clock() >= self.deadline:  # the timer may be late
            self.cut_off(Code.DEADLINE_EXCEEDED, _OUT_OF_TIME)
        elif load.running >= load.running_limit:
            text = f"{load.running_limit} handlers are running, which is the limit"
            self.cut_off(Code.RESOURCE_EXHAUSTED, text, soon=True)
        else:
            load.running += 1
            self.started = True
            self._stream.let_go_all()  # what the handler has of the request is its own
            self._stream.handler_began()
            self._events.start(self)

    # What comes of the request.

    def data(self, data: bytes, credit: int) -> None:
        if self.over:
            return
        self._credit += credit
        if self._ended:  # of a request whose message stands in its query
            self._give_credit()
            return
        self._under_way.passed(len(data))
        takes_one = self.method.takes_one
        try:
            if self._base64 is not None:
                data = self._base64.take(data)
            for flags, message in self._deframer.take(data):
                if not self._arrived(flags, message):
                    return
        except Refusal as why:
            self._stop(why)
            return
        if takes_one or not self._inbox:
            self._give_credit()
        if not takes_one:
            self._under_way.set(self._deframer.under_way and not self._inbox)

    def _arrived(self, flags: int, message: bytes) -> bool:
        """Takes a message that is whole. False: the call is over. Raises Refusal."""
        self._seen += 1
        if flags > 1:
            code = Code.INVALID_ARGUMENT if self.protocol == "connect" else Code.INTERNAL
            raise Refusal(code, f"a message has the flags 0x{flags:x}, which mean nothing")
        if flags and not self._compression:
            raise Refusal(Code.INTERNAL, "a message is compressed, and no encoding says how")
        compression = self._compression if flags else 0
        if self.method.takes_one:
            if self._seen > 1:
                raise Refusal(Code.UNIMPLEMENTED, "the method takes one request, and more were sent")
            self.message, self.compression = message, compression
            return True
        self._stream.hold(_COST)
        credit, self._credit = self._credit, 0
        self._inbox.append((message, compression, credit))
        if self.started:
            self._events.arrived(self)
        return not self.over

    def _give_credit(self) -> None:
        if self._credit:
            credit, self._credit = self._credit, 0
            self._stream.consumed(credit)

    def ended(self) -> None:
        if self.over or self._ended:
            return
        self._ended = True
        self._under_way.set(False)
        try:
            self._end_request()
        except Refusal as why:
            self._stop(why)

    def _end_request(self) -> None:
        if self._base64 is not None:
            self._base64.end()
        if not self._deframer._framed:
            self.message = self._deframer.rest()
            self.compression = self._compression if self.message else 0
        elif self._deframer.under_way:
            raise Refusal(Code.INVALID_ARGUMENT, "the request is cut off within a message")
        elif self.method.takes_one and not self._seen:
            raise Refusal(Code.UNIMPLEMENTED, "the method takes one request, and none was sent")
        if self.method.takes_one:
            self._start()
        elif self.started:
            self._events.arrived(self)

    def lost(self) -> None:
        if self._close() and self.started:
            self._events.stopped(self)

    def writable(self) -> None:
        if self.started and not self.over:
            self._events.writable(self)

    def tick(self, now: int) -> None:
        if not self.over and self._under_way.late(now):
            self.cut_off(Code.RESOURCE_EXHAUSTED, LATE)

    def cut_off(self, code: Code, text: str, soon: bool = False) -> None:
        self._stop(Refusal(code, text, soon))

    def _stop(self, why: Refusal) -> None:
        """Ends the call without its handler."""
        if not self._close():
            return
        self._load.count(refused=not self.started)
        self._events.unserved(self.method.name, not self.started, why.code, why.text)
        if self.started:
            self._events.stopped(self)
            if not self.returned:
                self._stream.abandoned()
        self._answering.end(why.cut if self.started else why.refused)
        self._stream.line.schedule()

    def _close(self) -> bool:
        """Notes that the call is over, and gives back what nobody will take. False: it was."""
        if self.over:
            return False
        self.over = True
        if self._timer is not None:
            self._timer.cancel()
        self._credit += sum(credit for _, _, credit in self._inbox)
        self._inbox.clear()
        self._deframer.drop()
        self._stream.let_go_all()
        self._give_credit()
        return True

    # As those see it who serve it.

    @property
    def request_ended(self) -> bool:
        return self._ended and not self._inbox

    def take_message(self) -> tuple[bytes, int] | None:
        if not self._inbox:
            if not self.over and not self._ended:
                self._stream.proceed()
            return None
        message, compression, credit = self._inbox.popleft()
        self._credit += credit
        if not self.over:
            self._stream.let_go(len(message) + PREFIX + _COST)
            if not self._inbox:
                self._under_way.set(self._deframer.under_way and not self._ended)
        self._give_credit()
        return message, compression

    def send(self, message: bytes, compression: int = 0) -> bool:
        return self.over or self._answering.send(message, compression != 0)

    def withdraw(self) -> None:
        """A message that was sent has gone to the connection: nothing can be taken back."""

    def send_metadata(self, metadata: Metadata) -> None:
        _check(metadata)
        if not self.over:
            self._answering.early(metadata)

    def finish(
        self,
        message: bytes | None = None,
        status: Status = OK,
        *,
        compression: int = 0,
        metadata: Metadata | None = None,
    ) -> None:
        _check(metadata)
        if self._close():
            if status.code:
                told = Status(status.code, status.message, status.details, Delivery.EXECUTED, status.retry_after)
                self._answering.end(told, metadata)
            elif message is None and self._target.streams:
                self._answering.end(OK, metadata)
            else:  # a one-way call has an answer all the same
                self._answering.finish(message or b"", compression, metadata)
            self._stream.line.schedule()
        self._handler_returned()

    def accept(self) -> None:
        """There are no one-way calls over HTTP."""

    def refuse(self, status: Status, metadata: Metadata | None = None) -> None:
        _check(metadata)
        if self._close():
            refused = not self._answering.begun
            self._load.count(refused)
            self._events.unserved(self.method.name, refused, status.code, status.message)
            delivery = Delivery.REFUSED if refused else Delivery.UNKNOWN
            told = Status(status.code, status.message, status.details, delivery, status.retry_after)
            self._answering.end(told, metadata)
            self._stream.line.schedule()
        self._handler_returned()

    def fail(self, code: Code, text: str) -> None:
        self.cut_off(code, text)

    def _handler_returned(self) -> None:
        if not self.returned:
            self.returned = True
            self._load.running -= 1
            self._stream.handler_returned()


def _check(metadata: Metadata | None) -> None:
    """Raises ValueError, LimitError for metadata that cannot be sent."""
    if metadata is not None:
        block(metadata, 1 << 20, 1 << 16, 1 << 24)
