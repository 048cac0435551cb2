"""What is logged because of what the other sides do: bounded, so that a flood of calls is none of records, and with
their texts escaped, so that none of them reads as a record of its own or commands a terminal."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass

from .wire import Code

RATE = 100  # records of one kind that are written within a second
LOGGED_NAME = 256  # bytes of a method's name that a record has: its caller made it up


def printable(text: str) -> str:
    """The text with what is not printable as Python escapes it: line ends, and what terminals obey."""
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode() for one in text)


@dataclass(slots=True)
class _Count:
    second: int
    written: int = 0
    left_out: int = 0  # since the last one that was written


class Journal:
    """The log of one Client or Server, as far as others cause its records. No more than RATE of them with one message
    and level are written within a second; the next one says how many were left out."""

    def __init__(self, logger: logging.Logger, clock: Callable[[], float] = time.monotonic) -> None:
        self.logger = logger
        self._clock = clock
        self._counts: dict[tuple[int, str], _Count] = {}

    def log(self, level: int, message: str, *words: object, error: BaseException | None = None) -> None:
        """Writes a record, of `error` its stack too; what is to follow `message` are `words`, as logging takes them."""
        if not self.logger.isEnabledFor(level):
            return
        second = int(self._clock())
        count = self._counts.setdefault((level, message), _Count(second))
        if count.second != second:
            count.second, count.written = second, 0
        if count.written == RATE:
            count.left_out += 1
            return
        count.written += 1
        left_out, count.left_out = count.left_out, 0
        if left_out:
            message, words = f"{message} (%d like this were left out)", (*words, left_out)
        escaped = (word if isinstance(word, int | float) else printable(str(word)) for word in words)
        self.logger.log(level, message, *escaped, exc_info=error)

    def unserved(self, remote: str, method: bytes, refused: bool, code: Code, text: str) -> None:
        """Tells of a call that no handler answers: its caller is told as much."""
        level = logging.WARNING
        if code in (Code.CANCELLED, Code.DEADLINE_EXCEEDED):
            level = logging.DEBUG  # the caller's own doing
        name = method[:LOGGED_NAME].decode("utf-8", "replace") + ("…" if len(method) > LOGGED_NAME else "")
        message = "call refused: %s from %s: %s: %s" if refused else "call cut off: %s from %s: %s: %s"
        self.log(level, message, name or "(its name is not known)", remote or "a client", code.name, text)
