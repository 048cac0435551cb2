"""Priorities of calls (spec/policy.md 7): limits of policy files leave more room to a higher one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .context import current
from .policy import Priority

if TYPE_CHECKING:
    from .governance import Rules

KEY = "trunk-priority"
Entries = list[tuple[str, "str | bytes"]]


def priority_in(metadata: Sequence[tuple[str, str | bytes]]) -> Priority:
    """The priority that the metadata of a request says."""
    for key, value in reversed(metadata):
        if key == KEY:
            return Priority.named(value if isinstance(value, str) else "")
    return Priority.NORMAL


def priority_of(given: Priority | None, rules: Rules | None) -> Priority:
    """That of a call that is made: its option's, its policy's, or that of the call in whose handler it is made."""
    if given is not None:
        return given
    if rules is None:
        return Priority.NORMAL
    if rules.holds.priority is not None:
        return rules.holds.priority
    within = current.get()
    return Priority.NORMAL if within is None else priority_in(within.metadata)


def carrying(metadata: Entries, priority: Priority | None) -> Entries:
    """The metadata of a call with its priority; None: as it is."""
    if priority is None or priority_in(metadata) is priority:
        return metadata
    return [*metadata, (KEY, priority.name.lower())]
