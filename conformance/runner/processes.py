"""Servers and clients as processes. What they log goes to files, and is told when they do not do as they should."""

from __future__ import annotations

import json
import select
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from typing import Any

from harness.programs import Program, is_listening

# Bounds what hangs, in seconds: a process that is to begin or end, and a case.
PATIENCE = 30.0
CASE = 45.0


class Failed(Exception):
    """A process did not do as it should; the text says what, and what it logged."""


class Process:
    """A reference program that prints lines."""

    def __init__(self, words: Sequence[str]) -> None:
        self.words = words
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 (closed with the process)
        self.process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._log)
        self._read = b""

    def line(self, seconds: float) -> bytes:
        """The next line. Raises Failed if none comes in that time."""
        assert self.process.stdout is not None
        end = time.monotonic() + seconds
        while b"\n" not in self._read:
            ready, _, _ = select.select([self.process.stdout], [], [], max(end - time.monotonic(), 0))
            piece = self.process.stdout.read1() if ready else b""  # type: ignore[attr-defined]
            if not piece:
                self.process.kill()
                raise Failed(self.told("said nothing more" if ready else f"said nothing for {seconds} s"))
            self._read += piece
        line, _, self._read = self._read.partition(b"\n")
        return line

    def write(self, line: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(json.dumps(line).encode() + b"\n")
            self.process.stdin.flush()
        except OSError as error:
            raise Failed(self.told(f"takes no line: {error}")) from None

    def ended(self) -> None:
        """Waits for its end. Raises Failed if that is not a good one."""
        try:
            status = self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise Failed(self.told(f"did not end within {PATIENCE} s")) from None
        if status != 0:
            raise Failed(self.told(f"ended with status {status}"))

    def told(self, what: str) -> str:
        self._log.seek(0)
        return f"{' '.join(self.words)} {what}\n{self._log.read().decode(errors='replace')[-3_000:]}"

    def close(self) -> None:
        """Ends it for good, however it is."""
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout, self._log):
            if stream is not None:
                stream.close()


class Serving(Process):
    """The serve command. `address` is what it announced."""

    def __init__(self, program: Program, *flags: str) -> None:
        super().__init__([*program, "serve", "--conformance", *flags])
        try:
            line = self.line(PATIENCE).decode()
        except Failed:
            self.close()
            raise
        self.address = line.removeprefix("listening ")

    def terminate(self) -> None:
        """Signals it, and returns once nobody listens there."""
        self.process.send_signal(signal.SIGTERM)
        end = time.monotonic() + PATIENCE
        while is_listening(self.address):
            if time.monotonic() > end:
                raise Failed(self.told("listens although it was signalled"))

    def stop(self) -> None:
        """Signals it unless it has ended, and waits for that. Raises Failed."""
        try:
            if self.process.poll() is None:
                self.process.terminate()
            self.ended()
        finally:
            self.close()


class Carrying(Process):
    """A command that carries cases out."""

    def carry_out(self, case: dict[str, Any], do: Callable[[str], None]) -> list[dict[str, Any]]:
        """The outcomes of a case; `do` does what a call wants done. Raises Failed."""
        self.write(case)
        while True:
            told = json.loads(self.line(CASE))
            if told.get("name") != case["name"]:
                raise Failed(f"the client told of {told.get('name')}")
            match told:
                case {"do": what}:
                    do(what)
                    self.write({"done": what})
                case {"error": text}:
                    raise Failed(text)
                case _:
                    outcomes: list[dict[str, Any]] = told["outcomes"]
                    return outcomes

    def stop(self) -> None:
        """Ends its input, and waits for its end. Raises Failed."""
        assert self.process.stdin is not None
        try:
            self.process.stdin.close()
            self.ended()
        finally:
            self.close()
