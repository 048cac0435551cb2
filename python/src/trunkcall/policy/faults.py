"""What is wrong with a policy file (policy.md 5)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NoReturn


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong. Its text is `line LINE: PATH: WHAT`."""

    line: int  # from 1
    path: str  # empty if the file has no tree
    what: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.path}: {self.what}" if self.path else f"line {self.line}: {self.what}"


class BadFile(ValueError):
    """Why a file is not taken: at least one fault."""

    def __init__(self, faults: Sequence[Fault]) -> None:
        super().__init__("\n".join(str(fault) for fault in faults))
        self.faults = tuple(faults)


def fail(line: int, what: str) -> NoReturn:
    raise BadFile([Fault(line, "", what)])
