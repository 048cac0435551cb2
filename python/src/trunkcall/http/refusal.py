"""Why a request does not become a call, or a call is not carried out."""

from __future__ import annotations

from trunkcall.wire import Code, Delivery, Status

SOON = 0.001  # seconds, where others may give back what is missing


class Refusal(Exception):
    """A code and a text; `soon`: it may be tried again."""

    def __init__(self, code: Code, text: str, soon: bool = False) -> None:
        super().__init__(text)
        self.code = code
        self.text = text
        self.soon = soon

    @property
    def refused(self) -> Status:
        """As the caller is told when no handler has begun."""
        return Status(self.code, self.text, (), Delivery.REFUSED, SOON if self.soon else 0.0)

    @property
    def cut(self) -> Status:
        """As the caller is told when a handler has begun."""
        return Status(self.code, self.text, (), Delivery.UNKNOWN)


class UnknownCodec(Refusal):
    """For a codec that is not known here."""
