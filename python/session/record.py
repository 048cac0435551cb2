"""What a side has seen of a session, in the form of the ledger."""

from __future__ import annotations

import zlib
from typing import Any

from trunkcall.wire import IncomingCall, Metadata, OutgoingCall, Status
from trunkcall.wire.stream import ABANDONED, DONE

Entry = dict[str, Any]

ONE_REQUEST = ("unary", "server_streaming", "oneway")
ONE_ANSWER = ("unary", "client_streaming")


def noted(payload: bytes | bytearray, compression: int) -> Entry:
    return {"size": len(payload), "sum": zlib.crc32(payload), "compression": compression}


def message_event(payload: bytes, compression: int) -> str:
    return f"message {len(payload)} {zlib.crc32(payload)} {compression}"


def described(metadata: Metadata | None) -> str:
    """Metadata as text, entries of the protocol behind those of users."""
    if metadata is None:
        return ""
    parts = [f"{key}={(v.encode() if isinstance(v, str) else v).hex()}" for key, v in metadata.entries]
    if metadata.attempt is not None:
        parts.append(f"!attempt={metadata.attempt}")
    return ",".join(parts)


def ending(status: Status, trailers: str) -> Entry:
    return {
        "status": int(status.code),
        "delivery": status.delivery.value,
        "retry": round(status.retry_after * 1_000),
        "text": status.message,
        "details": [f"{url}={value.hex()}" for url, value in status.details],
        "trailers": trailers,
        "stripped": status.stripped,
    }


class Record:
    """One call at one of its ends."""

    def __init__(self, call: OutgoingCall | IncomingCall, *, own: bool, method: str, kind: str, codec: str) -> None:
        self.call = call
        self.own = own
        self.kind = kind
        self.seen = 0  # messages told of
        self.taken = 0  # messages consumed
        self.told: Entry = {
            "id": call.id,
            "own": own,
            "method": method,
            "kind": kind,
            "codec": codec,
            "oneway": call.oneway,
            "metadata": "",
            "early": "",
            "sent": [],
            "got": [],
            "ended": False,
            "started": False,
            "returned": False,
            "stopped": False,
            "ends": 0,
            "ending": None,
        }

    @property
    def open(self) -> bool:
        return self.call.state < (ABANDONED if self.own else DONE)

    @property
    def running(self) -> bool:
        """Whether it is a handler's that has not returned."""
        return not self.own and not self.told["returned"]

    @property
    def unread(self) -> int:
        flow = self.call.receiving
        waiting = len(flow.inbox) if flow is not None else 0
        if isinstance(self.call, OutgoingCall) and self.call.status is not None:
            waiting += self.call.message is not None
        return waiting

    def consume(self) -> None:
        taken = self.call.take_message()
        assert taken is not None
        self.taken += 1
        self.told["got"].append(noted(*taken))

    def entry(self) -> Entry:
        """What the ledger tells of the call."""
        call = self.call
        sending, receiving, session = call.sending, call.receiving, call.session
        windows = None
        if self.open:
            windows = {
                "send": session.peer_window - getattr(call, "spent", 0) if sending is None else sending.window,
                "receive": session.window if receiving is None else receiving.window,
                "owed": 0 if receiving is None else receiving.owed,
                "kept": session.window if receiving is None else receiving.keep,
            }
        return self.told | {
            "open": self.open,
            "windows": windows,
            "waits": sending is not None and bool(sending.outbox),
            "unread": self.unread,
        }
