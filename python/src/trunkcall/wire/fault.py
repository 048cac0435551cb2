"""What can be wrong with received bytes (protocol.md 15): a class, a text for people, and what it ends."""

from __future__ import annotations

CONNECTION_CLASSES = frozenset(
    (
        "preface",
        "version",
        "setting",
        "type",
        "length",
        "flags",
        "reserved",
        "stream_id",
        "value",
        "direction",
        "state",
        "method",
        "piece",
        "credit",
        "flood",
    )
)


class Fault(Exception):
    """Input that breaks a rule. `kind` is the class of protocol.md 15, `text` names what was wrong."""

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(f"{kind}: {text}")
        self.kind = kind
        self.text = text


class ConnectionFault(Fault):
    """Ends the connection (protocol.md 11.6)."""


class CallFault(Fault):
    """Ends one call (protocol.md 15)."""


class LimitError(ValueError):
    """What the user wants to send crosses a limit that the peer has told; nothing of it was sent.

    The call it belongs to is as it was. The text names the limit and its value."""


class MessageTooLarge(LimitError):
    """A message above max_message."""

    def __init__(self, size: int, most: int) -> None:
        advice = "raise Limits.message_bytes there, or stream"
        super().__init__(f"message of {size} bytes exceeds the peer's max_message {most}: {advice}")
