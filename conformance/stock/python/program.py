"""What the clients written in Python have in common: the lines that conformance/cases/README.md describes."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable
from typing import Any

from carrying import Caller, Carrying

# Bounds a case in which something hangs, in seconds.
LIMIT = 60.0


class Program:
    """Reads cases, a line each, carries them out one after the other, and prints a line for each.

    `make` gives what makes the calls of a case.
    """

    def __init__(self, make: Callable[[dict[str, Any]], Caller]) -> None:
        self._make = make
        self._kept: dict[str, Caller] = {}

    async def run(self) -> None:
        """Reads standard input to its end."""
        while line := await next_line():
            case = json.loads(line)
            told: dict[str, Any] = {"name": case["name"]}
            try:
                async with asyncio.timeout(LIMIT):
                    told["outcomes"] = await self._carry_out(case)
            except Exception as error:
                told["error"] = f"{type(error).__name__}: {error}"
            tell(told)
        for caller in self._kept.values():
            await caller.close()

    async def _carry_out(self, case: dict[str, Any]) -> list[dict[str, Any]]:
        caller = self._caller(case)
        try:
            return await Carrying(caller, lambda what: ask_for(case["name"], what)).carry_out(case["calls"])
        finally:
            if case.get("ownConnection"):
                await caller.close()

    def _caller(self, case: dict[str, Any]) -> Caller:
        """One of the case's own, or the one for all cases that want the same."""
        if case.get("ownConnection"):
            return self._make(case)
        key = json.dumps([case["target"], case.get("tls"), case.get("client")])
        if key not in self._kept:
            self._kept[key] = self._make(case)
        return self._kept[key]


async def next_line() -> str:
    return await asyncio.to_thread(sys.stdin.readline)


def tell(line: dict[str, Any]) -> None:
    print(json.dumps(line), flush=True)


async def ask_for(name: str, what: str) -> None:
    """Has the runner do something, and waits until that is done."""
    tell({"name": name, "do": what})
    await next_line()
