"""The event loop that a command runs on."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from load import UsageError

T = TypeVar("T")


def run_loop(main: Callable[[], Coroutine[Any, Any, T]], uvloop: bool = False) -> T:
    """Runs a coroutine on an event loop of its own."""
    with asyncio.Runner(loop_factory=uvloop_factory() if uvloop else None) as runner:
        return runner.run(main())


def uvloop_factory() -> Callable[[], asyncio.AbstractEventLoop]:
    try:
        import uvloop
    except ImportError:
        raise UsageError("--uvloop: the package uvloop is not installed") from None
    return uvloop.new_event_loop
