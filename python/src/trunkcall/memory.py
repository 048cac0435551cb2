"""The default of the memory that all connections of a server or client may hold for their peers (limits.md 2)."""

from __future__ import annotations

import functools
import posixpath
from collections.abc import Callable, Iterator

from .checking import check_count

MOST = 1 << 30
LEAST = 1 << 20


@functools.cache
def default_memory() -> int:
    """A quarter of what the process may have, at most 1 GiB."""
    return budget_of(available(_read))


def budget_of(there: int) -> int:
    """The default for a process that may have so many bytes; 0: nobody knows."""
    return MOST if there <= 0 else max(LEAST, min(MOST, there // 4))


_sharers = 1  # processes like this one, which share what there is


def share_among(processes: int) -> None:
    """From now on the default is one of so many parts of it."""
    global _sharers
    _sharers = processes


def check_memory(memory: int | None) -> int:
    """What was given, or the default. Raises TypeError; ValueError below 1 MiB."""
    if memory is None:
        return max(LEAST, default_memory() // _sharers)
    check_count(LEAST, memory=memory)
    return memory


def available(read: Callable[[str], str]) -> int:
    """What the process may have: the least of the machine's memory and the limits of its control groups and of those
    around them, version 1 or 2; 0 where there are no such files, as on other systems than Linux."""
    return min(_known(read), default=0)


def _known(read: Callable[[str], str]) -> Iterator[int]:
    for line in read("/proc/meminfo").splitlines():
        words = line.split()
        if len(words) > 1 and words[0] == "MemTotal:" and words[1].isdigit():
            yield int(words[1]) << 10
    for line in read("/proc/self/cgroup").splitlines():
        number, _, rest = line.partition(":")
        kinds, _, path = rest.partition(":")
        root, name = "/sys/fs/cgroup", "memory.max"
        if number != "0":
            if "memory" not in kinds.split(","):
                continue
            root, name = "/sys/fs/cgroup/memory", "memory.limit_in_bytes"
        group: str = posixpath.normpath("/" + path.lstrip("/"))
        while True:  # seen from within a container, its own group may stand at the root
            limit = read(posixpath.join(root, group.lstrip("/"), name)).strip()
            if limit.isdigit() and 0 < int(limit) < 1 << 60:  # version 1 says no limit by a huge number
                yield int(limit)
            if group == "/":
                break
            group = posixpath.dirname(group)


def _read(name: str) -> str:
    try:
        with open(name, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""
