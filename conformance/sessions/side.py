"""One end of a session: the session program of a language (peer.md, section 9), spoken to over pipes."""

from __future__ import annotations

import contextlib
import json
import os
import select
import struct
import time
from typing import Any

from harness.processes import PATIENCE, Failed, Process

Entry = dict[str, Any]

# Phases of a session: the user acts at random; consumes what is there; ends all calls; asks to drain.
ACTING, CONSUMING, FINISHING, DRAINING = range(4)

_HEAD = struct.Struct("<cI")
_ROUND = struct.Struct("<QB")
_LENGTH = struct.Struct("<I")


class Ended(Exception):
    """The program has ended by itself; the text has what it said."""


class Side:
    """The process serves one session after another, and is started when it is needed. Times are µs."""

    def __init__(self, language: str, program: tuple[str, ...], patience: float = PATIENCE) -> None:
        """The program has `patience` seconds for each answer."""
        self.language = language
        self.program = program
        self.patience = patience
        self._process: Process | None = None

    def close(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.end(patience=0)

    def begin(self, config: Entry) -> None:
        self._ask(b"S", json.dumps(config).encode())

    def round(self, now: int, phase: int, data: bytes) -> bytes:
        return self._ask(b"R", _ROUND.pack(now, phase) + data)

    def end(self, now: int, lost: bool) -> None:
        self._ask(b"E", _ROUND.pack(now, lost))

    def ledger(self) -> Entry:
        told: Entry = json.loads(self._ask(b"L", b""))
        return told

    def _ask(self, letter: bytes, body: bytes) -> bytes:
        if self._process is None:
            self._process = Process(self.program, stdin=True)
            assert self._process.stdin is not None
            os.set_blocking(self._process.stdin.fileno(), False)
        process = self._process
        try:
            return _exchange(process, _HEAD.pack(letter, len(body)) + body, self.patience)
        except TimeoutError:
            what = f"the program has not answered within {self.patience:g} s"
        except (OSError, EOFError):
            what = "the program has ended"
            with contextlib.suppress(Failed):
                process.wait(self.patience)  # it may still say why
        self.close()
        raise Ended(f"{self.language}: {what}: {process.said()[-3_000:]}")


def _exchange(process: Process, question: bytes, patience: float) -> bytes:
    """Writes a question while reading its answer. Raises EOFError, OSError or TimeoutError."""
    assert process.stdin is not None
    there, back = process.stdin.fileno(), process.fileno()
    poll = select.poll()
    poll.register(there, select.POLLOUT)
    poll.register(back, select.POLLIN)
    deadline = time.monotonic() + patience
    left, answer, want = memoryview(question), bytearray(), _LENGTH.size
    while left or len(answer) < want:
        ready = {descriptor for descriptor, _ in poll.poll(1000 * max(deadline - time.monotonic(), 0))}
        if not ready:
            raise TimeoutError
        if there in ready:
            left = left[os.write(there, left) :]
            if not left:
                poll.unregister(there)
        if back in ready:
            data = os.read(back, 1 << 16)
            if not data:
                raise EOFError
            answer += data
            if want == _LENGTH.size <= len(answer):
                want += _LENGTH.unpack_from(answer)[0]
    return bytes(answer[_LENGTH.size :])
