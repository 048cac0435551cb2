"""Clients as processes that carry cases out."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from harness.processes import Failed, Process

# Bounds a case that hangs, in seconds.
CASE = 45.0


class Carrying(Process):
    """A command that carries cases out."""

    def __init__(self, words: Sequence[str]) -> None:
        super().__init__(words, stdin=True)

    def carry_out(self, case: dict[str, Any], do: Callable[[str], None]) -> list[dict[str, Any]]:
        """The outcomes of a case; `do` does what a call wants done. Raises Failed."""
        self.write(f"{json.dumps(case)}\n")
        while True:
            line = self.line(CASE)
            try:
                told = json.loads(line)
            except ValueError:
                told = None
            match told:
                case {"name": name} if name != case["name"]:
                    raise Failed(f"the client told of {name}")
                case {"do": what}:
                    do(what)
                    self.write(f"{json.dumps({'done': what})}\n")
                case {"error": text}:
                    raise Failed(str(text))
                case {"outcomes": [*outcomes]} if all(isinstance(one, dict) for one in outcomes):
                    return outcomes
                case _:
                    raise self.failure(f"printed no outcomes: {line[:300]!r}")
