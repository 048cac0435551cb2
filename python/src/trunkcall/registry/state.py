"""The file by which an embedded registry knows its records after a restart (spec/registry.md 9.6)."""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from .core import MOST_KEYS, MOST_TOTAL, parse_line
from .record import InvalidRecord
from .store import Written

FIRST = b"trunkcall registry 1"
LARGEST = MOST_TOTAL + MOST_KEYS + 1024  # bytes: more than the file of a full registry has


@dataclass(slots=True)
class State:
    """What a file says."""

    records: list[Written] = field(default_factory=list[Written])  # those ahead of what is at fault
    fault: str = ""  # LINE: TEXT


def write_state(records: Iterable[bytes]) -> bytes:
    """A state file of records, which are in the order of their keys."""
    lines = list(records)
    return b"\n".join([FIRST, *lines, b"end %d\n" % len(lines)])


def parse_state(data: bytes) -> State:
    """Reads a state file."""
    state = State()
    *lines, rest = data.split(b"\n")
    there: set[str] = set()
    if not lines or lines[0] != FIRST:
        state.fault = f'1: want "{FIRST.decode()}"'
        return state
    for number, line in enumerate(lines[1:], 2):
        if line.startswith(b"end "):
            if line != b"end %d" % len(state.records):
                state.fault = f'{number}: want "end {len(state.records)}"'
            elif number < len(lines) or rest:
                state.fault = f"{number + 1}: want nothing behind the end"
            return state
        try:
            record = parse_line(line)
        except InvalidRecord as error:
            state.fault = f"{number}: {error}"
            return state
        if record.key in there:
            state.fault = f"{number}: {record.key} is there twice"
            return state
        there.add(record.key)
        state.records.append(Written(record, line))
    state.fault = f'{len(lines) + 1}: want a record or "end {len(state.records)}"'
    return state


def read_file(path: Path) -> State:
    """Reads a file; the fault names it. Raises OSError, FileNotFoundError if it is not there."""
    with open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK)) as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(f"{path}: want a file, not a folder or the like")
        state = parse_state(file.read(LARGEST))
    if state.fault:
        state.fault = f"{path}:{state.fault}"
    return state


def write_file(path: Path, data: bytes) -> None:
    """Writes a file beside the one that is there, and renames it. Raises OSError."""
    try:
        handle, name = tempfile.mkstemp(".tmp", f".{path.name}.", path.parent)
    except FileNotFoundError:
        raise OSError(f"{path}: its folder is not there") from None
    try:
        with open(handle, "wb") as file:
            file.write(data)
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise
