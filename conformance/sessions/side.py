"""One end of a session: the session program of a language (peer.md, section 9), spoken to over pipes."""

from __future__ import annotations

import contextlib
import json
import struct
import subprocess
import tempfile
from typing import Any

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

    def __init__(self, language: str, program: tuple[str, ...]) -> None:
        self.language = language
        self.program = program
        self._process: subprocess.Popen[bytes] | None = None
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 (closed with the side)

    def close(self) -> None:
        self._end()
        self._log.close()

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
            self._log.seek(0)
            self._log.truncate()
            self._process = subprocess.Popen(
                self.program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._log
            )
        process = self._process
        assert process.stdin is not None and process.stdout is not None
        try:
            process.stdin.write(_HEAD.pack(letter, len(body)) + body)
            process.stdin.flush()
            head = process.stdout.read(_LENGTH.size)
        except OSError:
            head = b""
        if len(head) == _LENGTH.size:
            (size,) = _LENGTH.unpack(head)
            answer = process.stdout.read(size)
            if len(answer) == size:
                return answer
        self._end()
        self._log.seek(0)
        raise Ended(f"{self.language}: the program has ended: {self._log.read().decode(errors='replace')[-3_000:]}")

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        assert process.stdin is not None and process.stdout is not None
        with contextlib.suppress(OSError):  # it has ended before it read all
            process.stdin.close()
        process.stdout.close()
        process.wait()
