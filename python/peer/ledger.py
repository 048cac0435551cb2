"""The ledger: what became of calls, written down so that it can be checked afterwards that each ended once and ran as
often as its caller was told. The form of the file is the same for every language: conformance/peer.md, section 7."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import secrets
import sys
import time
from typing import Any

import trunkcall
from load import Failed

# The metadata entry that carries the id of a call.
KEY = "ledger-call"

# How much of a status message is kept.
MESSAGE = 200


class Ledger:
    """A file to which each line is one write, without a buffer of this process: a line that was written outlives the
    process. Several processes may write to one file, each of which opens it for itself."""

    def __init__(self, path: str) -> None:
        """Raises Failed."""
        try:
            self._file = os.open(path, os.O_APPEND | os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise Failed(f"--ledger: open {path}: {error.strerror}") from None
        self._prefix = secrets.token_hex(4)  # apart from that of every other process
        self._numbers = itertools.count(1)

    def id(self) -> str:
        return f"{self._prefix}-{next(self._numbers)}"

    def write(self, event: str, call: str | None, **more: object) -> None:
        """Appends a line; what is None or False is left out. A ledger with a hole proves nothing, so it ends the
        process when it cannot be written."""
        every = {"event": event, "call": call, "at": time.monotonic_ns(), **more}
        line = {name: value for name, value in every.items() if value is not None and value is not False}
        text = json.dumps(line).encode() + b"\n"
        try:
            written = os.write(self._file, text)
        except OSError as error:
            written, why = 0, error.strerror
        else:
            why = "only a part was written"
        if written != len(text):
            print(f"the ledger cannot be written: {why}", file=sys.stderr, flush=True)
            os._exit(1)

    async def intercept(self, call: trunkcall.Call, proceed: trunkcall.Next) -> Any:
        """A server's interceptor: it writes that a handler begins before it does, and that it has ended before the
        caller can know."""
        found = next((value for key, value in call.metadata if key == KEY), None)
        if not isinstance(found, str):
            return await proceed(call)
        execution = self.id()
        at = None if call.timeout is None else deadline(call.timeout)
        self.write("begin", found, execution=execution, method=call.method.name, deadline=at)
        outcome, code, cancelled = "returned", "OK", False
        try:
            return await proceed(call)
        except trunkcall.StatusError as error:
            code = error.code.name
            raise
        except asyncio.CancelledError:
            code, cancelled = "CANCELLED", True
            raise
        except BaseException:
            outcome, code = "panicked", ""
            raise
        finally:
            cancelled = cancelled or call.server is not None and call.server.cancelled
            self.write("end", found, execution=execution, outcome=outcome, code=code or None, cancelled=cancelled)


def deadline(timeout: float) -> int:
    """The time that far from now, on the ledger's clock."""
    return time.monotonic_ns() + round(timeout * 1e9)
