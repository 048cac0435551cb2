"""Calls as the protocol sees them: the caller's side, the callee's side, and what both have (protocol.md 7)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .frame import GAVE_UP, HEADER, MSG
from .metadata import Metadata
from .status import OK, Code, Status

if TYPE_CHECKING:
    from .receive import ReceiveFlow
    from .send import SendFlow
    from .session import Session

_PACK = HEADER.pack

# States of the caller's side (protocol.md 7.2). `free` is the absence of a call.
OPEN, ENDED, ABANDONED, OVER = range(4)
# States of the callee's side (protocol.md 7.3): READY is `receiving` with nothing missing but the start.
RECEIVING, READY, RUNNING, DONE = range(4)
# What of its answer a call has sent.
NOTHING, METADATA, MESSAGES = range(3)


class Method:
    """A method that is served. `takes_one`: it takes exactly one message and starts when that is whole (protocol.md
    7.4). `target` belongs to the one who serves it."""

    __slots__ = ("name", "takes_one", "target")

    def __init__(self, name: bytes, takes_one: bool, target: Any = None) -> None:
        self.name = name
        self.takes_one = takes_one
        self.target = target


class OutgoingCall:
    """A call of this side. Owned by its session, and used where the session is used.

    `user` belongs to the one who opened it. Until the call has ended `status` is None; then `message` is the last
    answer if it came with the RESULT (its `compression` beside it), `metadata` the trailers, `server_time` in µs."""

    __slots__ = (
        "codec",
        "compression",
        "deadline",
        "header",
        "id",
        "message",
        "metadata",
        "oneway",
        "plain",
        "position",
        "receiving",
        "sending",
        "server_time",
        "session",
        "single",
        "spent",
        "state",
        "status",
        "user",
    )

    header: Metadata  # set when early metadata has come
    compression: int  # this and server_time are set by the RESULT
    server_time: int

    def __init__(
        self, session: Session, word: int, codec: int, position: int, spent: int, deadline: int, user: Any
    ) -> None:
        self.session = session
        self.id = word  # w1 of its frames; 0 when it never got a slot
        self.codec = codec
        self.plain = codec << 24 | MSG << 16  # w2 of the RESULT that the session can take at once; -1: none
        self.position = position  # where its CALL begins in the output
        self.spent = spent  # window spent by the CALL
        self.deadline = deadline  # µs, 0: none
        self.user = user
        self.state = ENDED
        self.status: Status | None = None
        self.receiving: ReceiveFlow | None = None
        self.sending: SendFlow | None = None
        self.single = True  # exactly one answer message is expected
        self.oneway = False
        self.message: bytes | None = None
        self.metadata: Metadata | None = None

    def send(self, message: bytes, compression: int = 0, *, end: bool = False) -> bool:
        """Sends a request message, with the half-close if `end`. False: wait for Events.writable before the next one.

        Nothing happens once the call has ended. Raises LimitError, and ValueError after the half-close."""
        return self.session.caller.send(self, message, compression, end)

    def withdraw(self) -> None:
        """Takes back the message that was sent last, if nothing of it was appended yet."""
        self.session.sender.withdraw(self)

    def half_close(self) -> None:
        """No more messages follow. A second half-close does nothing."""
        self.session.caller.half_close(self)

    def cancel(self, reason: int = GAVE_UP) -> None:
        """Ends the call with CANCELLED, if it has not ended."""
        self.session.caller.cancel(self, reason)

    def take_message(self) -> tuple[bytes | bytearray, int] | None:
        """Consumes the oldest answer: the message, of which a bytearray may be given back (assembly.py), and its
        compression; None when there is none now."""
        flow = self.receiving
        if flow is not None and flow.inbox:
            taken = flow.take()
            if flow.due and self.state < ABANDONED:
                self.session.credit_due(self)
            return taken
        if self.message is not None and self.status is not None:
            last, self.message = self.message, None
            return last, self.compression
        return None

    def discard(self) -> None:
        """Drops answers that nobody will take. Without it they count against the memory until taken."""
        if self.receiving is not None:
            self.receiving.drop_all()
        self.message = None


class IncomingCall:
    """A call of the peer. `message` (with `compression`) is the request of a method that takes one.

    `deadline` is in µs of the session's clock, 0: none. `user` belongs to the one who serves it."""

    protocol = "trunk"

    __slots__ = (
        "answered",
        "began",
        "codec",
        "compression",
        "deadline",
        "final",
        "id",
        "message",
        "metadata",
        "method",
        "oneway",
        "receiving",
        "request_ended",
        "returned",
        "sending",
        "session",
        "state",
        "user",
    )

    method: Method  # known before the handler starts
    final: tuple[Status, bytes]  # what RESULT will say, once the messages before it are appended
    user: Any  # set by the one who serves the call

    def __init__(self, session: Session, word: int, codec: int, deadline: int, began: int) -> None:
        self.session = session
        self.id = word
        self.codec = codec
        self.deadline = deadline
        self.began = began
        self.state = RECEIVING
        self.receiving: ReceiveFlow | None = None
        self.sending: SendFlow | None = None
        self.message: bytes | None = None
        self.compression = 0
        self.metadata: Metadata | None = None
        self.oneway = False
        self.returned = False
        self.request_ended = False
        self.answered = NOTHING

    def send(self, message: bytes, compression: int = 0) -> bool:
        """Sends an answer message. False: wait for Events.writable before the next one.

        Nothing happens once the call has its RESULT. Raises LimitError."""
        return self.session.callee.send(self, message, compression)

    def withdraw(self) -> None:
        """Takes back the message that was sent last, if nothing of it was appended yet."""
        self.session.sender.withdraw(self)

    @property
    def over(self) -> bool:
        """Whether the call has its RESULT, or none can be sent any more."""
        return self.state == DONE

    def send_metadata(self, metadata: Metadata) -> None:
        """Sends early metadata, before any answer message. Raises LimitError, ValueError."""
        self.session.callee.send_metadata(self, metadata)

    def finish(
        self,
        message: bytes | None = None,
        status: Status = OK,
        *,
        compression: int = 0,
        metadata: Metadata | None = None,
    ) -> None:
        """The handler has returned: with OK and perhaps the last message, or with another status. Once per started
        call, also when the call was stopped before."""
        session = self.session
        if (
            message is not None
            and self.state == RUNNING
            and len(message) <= session.plain_send
            and not (self.returned or self.sending or self.receiving or compression or metadata or status.code)
        ):
            # RESULT(OK, MSG) of a call that sent no message before; all else goes the long way, Callee.finish.
            self.returned = True
            self.state = DONE
            session.load.running -= 1
            callee = session.callee
            callee.calls[self.id & 0xFFFFF] = None
            callee.finished.append(self.id)
            callee.open -= 1
            passed = session.now - self.began
            buffer = session.output.buffer
            w3 = passed if passed < 0xFFFFFFFF else 0xFFFFFFFF
            buffer += _PACK(0x04000000 | len(message), self.id, self.codec << 24 | 0x020000, w3)
            buffer += message
            return
        session.callee.finish(self, message, status, compression, metadata)

    def accept(self) -> None:
        """Tells the caller of a one-way call that its handler will run (protocol.md 7.5), in or after Events.start;
        else there is `refuse`."""
        self.session.callee.accept(self)

    def refuse(self, status: Status, metadata: Metadata | None = None) -> None:
        """Ends a call whose handler did not run and will not: REFUSED, or CUT if an answer message was sent before.
        Stands for `finish` as well. The caller of a one-way call that was accepted is told nothing (protocol.md 7.5).
        Raises LimitError and ValueError for metadata that cannot be sent."""
        self.session.callee.turn_away(self, status, metadata)

    def fail(self, code: Code, text: str) -> None:
        """Ends a started call with CUT, as when interceptors leave their handler running (status.md 1.1).
        Events.stopped is told, and the handler still has to return. Before the handler runs there is `refuse`."""
        self.session.callee.cut(self, code, text)

    def take_message(self) -> tuple[bytes | bytearray, int] | None:
        """Consumes the oldest request message, as OutgoingCall's; None when there is none now."""
        flow = self.receiving
        if flow is None or not flow.inbox:
            return None
        taken = flow.take()
        if flow.due and not self.request_ended and self.state < DONE:
            self.session.credit_due(self)
        return taken


Call = OutgoingCall | IncomingCall
