"""Tests of coroutines run as users' programs do, not in asyncio's debug mode.

unittest switches that on for all of them, and they then take twice the processor's time: a stack is written down for
each callback. It stays on where threads meet a loop, since it tells who touches a loop from a thread that is not its
own; and for all tests with PYTHONASYNCIODEBUG=1, as `make lint` has those of python/.
"""

from __future__ import annotations

import asyncio
import os
from typing import Any

import pytest

DEBUG = os.environ.get("PYTHONASYNCIODEBUG", "") != ""
THREADS = ("blocking", "processes")


class Mode:
    debug = True  # for the test that comes next


def runner(*, debug: bool | None = None, make: Any = asyncio.Runner, **options: Any) -> asyncio.Runner:
    """A Runner as unittest wants it for a test, in debug mode only if the test is to be."""
    running: asyncio.Runner = make(debug=debug if Mode.debug else False, **options)
    return running


def pytest_runtest_setup(item: pytest.Item) -> None:
    Mode.debug = DEBUG or any(part in THREADS for part in item.path.parts)


def pytest_configure() -> None:
    asyncio.Runner = runner  # type: ignore[misc, assignment]
