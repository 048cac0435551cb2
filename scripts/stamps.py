"""What was made of which files is not made again: a stamp beside it tells. One process at a time makes it."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

_held: list[int] = []


@contextlib.contextmanager
def alone(guard: Path, what: str) -> Iterator[None]:
    """Keeps other processes that name the same file out meanwhile; who has to wait for them says so. If this process is
    killed, they wait for the commands that it has started with `held`."""
    guard.parent.mkdir(parents=True, exist_ok=True)
    with open(guard, "w", encoding="ascii") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print(f"waiting for another process that makes {what} …", file=sys.stderr, flush=True)
            fcntl.flock(file, fcntl.LOCK_EX)
        _held.append(file.fileno())
        try:
            yield
        finally:
            _held.remove(file.fileno())
            fcntl.flock(file, fcntl.LOCK_UN)  # whoever may have it still, such as a daemon of a build tool


def held() -> tuple[int, ...]:
    """The locks that this process has: descriptors for a command to inherit that works under them."""
    return tuple(_held)


def digest(texts: Iterable[str], files: Iterable[Path]) -> str:
    """Of the texts, and of the names and contents of the files."""
    found = hashlib.sha256()
    for text in texts:
        found.update(f"{len(text)} {text}".encode(errors="surrogateescape"))
    for file in sorted(set(files)):
        content = file.read_bytes()
        found.update(f"{file} {len(content)} ".encode(errors="surrogateescape") + content)
    return found.hexdigest()


def make(stamp: Path, wanted: str, make: Callable[[], bool | None], there: bool = True) -> bool:
    """Makes something unless the stamp has what is wanted and it is there. False if making it tells that it went wrong."""
    if there and stamp.exists() and stamp.read_text(encoding="ascii") == wanted:
        return True
    stamp.parent.mkdir(parents=True, exist_ok=True)
    stamp.unlink(missing_ok=True)  # it is not whole until it was made
    if make() is False:
        return False
    stamp.write_text(wanted, encoding="ascii")
    return True
