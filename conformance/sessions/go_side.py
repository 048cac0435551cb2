"""A session in Go and its user: go/internal/randomsession as a process, spoken to over pipes."""

from __future__ import annotations

import json
import struct
import subprocess
from pathlib import Path

from .record import Entry

PROGRAM = Path(__file__).resolve().parents[2] / "build" / "randomsession"

_HEAD = struct.Struct("<cI")
_ROUND = struct.Struct("<QB")
_LENGTH = struct.Struct("<I")


class GoSide:
    """One end; the process serves one session after another. Times are µs."""

    language = "go"

    def __init__(self) -> None:
        self._process = subprocess.Popen([PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def close(self) -> None:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait()

    def begin(self, config: Entry) -> None:
        self._ask(b"S", json.dumps(config).encode())

    def round(self, now: int, phase: int, data: bytes) -> bytes:
        return self._ask(b"R", _ROUND.pack(now, phase) + data)

    def end(self, now: int, lost: bool) -> None:
        self._ask(b"E", _ROUND.pack(now, lost))

    def ledger(self) -> Entry:
        told: Entry = json.loads(self._ask(b"L", b""))
        for name in ("away", "calls", "script"):
            told[name] = told[name] or []
        told["events"] = told["events"] or {}
        for call in told["calls"]:
            call["sent"], call["got"] = call["sent"] or [], call["got"] or []
        return told

    def _ask(self, letter: bytes, body: bytes) -> bytes:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(_HEAD.pack(letter, len(body)) + body)
        self._process.stdin.flush()
        head = self._process.stdout.read(4)
        if len(head) < 4:
            raise RuntimeError("the session in Go has ended the program")
        (size,) = _LENGTH.unpack(head)
        return self._process.stdout.read(size)
