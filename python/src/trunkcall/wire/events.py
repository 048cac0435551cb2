"""What a session tells the layer above."""

from __future__ import annotations

from .metadata import Metadata
from .status import Code
from .stream import Call, IncomingCall, OutgoingCall


class Events:
    """What a session calls; each function does nothing here. They are called from within the session's own methods and
    may use the session, except `receive`. They must not raise."""

    def opened(self) -> None:
        """The peer's preface has come: `session.peer` is known."""

    def start(self, call: IncomingCall) -> None:
        """A handler starts. It counts as running until `call.finish` or `call.refuse`."""

    def unserved(self, method: bytes, refused: bool, code: Code, text: str) -> None:
        """A call of the peer ends REFUSED, or else CUT, which `code` and `text` tell it. `method` is the name that it
        asked for, empty if that is not known."""

    def stopped(self, call: IncomingCall) -> None:
        """A running handler's call was ended without it: by CANCEL, its deadline, a limit, the connection."""

    def arrived(self, call: Call) -> None:
        """A message is there: `call.take_message`. Not told of requests handed over by `start`, nor of the answer in
        a RESULT, which `ended` announces."""

    def half_closed(self, call: IncomingCall) -> None:
        """The caller of a streaming method sends no more."""

    def header(self, call: OutgoingCall, metadata: Metadata) -> None:
        """Early metadata of the answer."""

    def ended(self, call: OutgoingCall) -> None:
        """The call has ended, `call.status` says how. Once for each call."""

    def writable(self, call: Call) -> None:
        """What the stream had queued is on its way."""

    def slot_free(self) -> None:
        """A call that found no slot may try again."""

    def relieved(self) -> None:
        """A call, or this connection, was ended to free memory for others: what was appended is to be written."""

    def goes_away(self, reason: int, text: str) -> None:
        """The peer's GOAWAY: 0: it drains, open no more calls here; else it ends the connection."""

    def overdue(self) -> None:
        """A RESULT did not come 30 s after CANCEL: replace the connection (protocol.md 7.2)."""

    def failed(self, kind: str, text: str) -> None:
        """The session has ended for an error of class `kind` (protocol.md 15), or `silent`."""
