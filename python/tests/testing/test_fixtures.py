"""The fixtures, in runs of pytest as users have them: with pytest-asyncio and with anyio."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.public.kit import PATIENCE

CONFTEST = 'pytest_plugins = ["trunkcall.testing.fixtures"]\n'

HEAD = """
import asyncio
from functools import partial

import pytest

import trunkcall
from trunkcall import RAW, Code
from trunkcall.testing import Clock, TestServer, assert_fails

ECHO = trunkcall.unary("/test.Service/Echo", bytes, bytes)
made = []


async def echo(request, call):
    return request


async def never(request, call):
    await asyncio.Event().wait()
"""

AWAITING = """
@MARK
async def test_a_server(trunkcall_server):
    server = await trunkcall_server(ECHO.handler(echo))
    assert await server.client.call(ECHO, b"x", codec=RAW) == b"x"
    made.append(server)


@MARK
async def test_which_has_ended_with_the_test_before():
    assert made[0].server.connections == []
    assert made[0].client._closed


@MARK
@pytest.mark.parametrize("client", [1, 2])
async def test_a_clock(trunkcall_server, trunkcall_clock, client):
    server = await trunkcall_server(ECHO.handler(never))
    call = asyncio.create_task(server.client.call(ECHO, b"x", codec=RAW, timeout=3600))
    await trunkcall_clock.advance(3600)
    with assert_fails(Code.DEADLINE_EXCEEDED):
        await call


@MARK
async def test_a_clock_alone(trunkcall_clock):
    await trunkcall_clock.advance(1)
    assert trunkcall_clock.elapsed == 1


class TestInAClass:
    @MARK
    async def test_method(self, trunkcall_server):
        server = await trunkcall_server(ECHO.handler(echo), client=partial(trunkcall.Client, codec=RAW))
        assert await server.client.call(ECHO, b"x") == b"x"
"""

BLOCKING = """
def test_a_server_for_code_that_blocks(blocking_trunkcall_server):
    server = blocking_trunkcall_server(ECHO.handler(echo))
    assert server.client.call(ECHO, b"x", codec=RAW) == b"x"
    made.append(server)


def test_which_has_ended_as_well():
    with assert_fails(Code.CANCELLED):
        made[-1].client.call(ECHO, b"x", codec=RAW)


def test_a_clock_for_code_that_blocks(blocking_trunkcall_server, blocking_trunkcall_clock):
    server = blocking_trunkcall_server(ECHO.handler(never), clock=blocking_trunkcall_clock)
    call = server.client.start(ECHO, b"x", codec=RAW, timeout=3600)
    blocking_trunkcall_clock.advance(3600)
    with assert_fails(Code.DEADLINE_EXCEEDED):
        call.result()


def test_one_s_own_event_loop():
    async def body():
        async with Clock() as clock, TestServer(ECHO.handler(never)) as server:
            call = asyncio.create_task(server.client.call(ECHO, b"x", codec=RAW, timeout=3600))
            await clock.advance(3600)
            with assert_fails(Code.DEADLINE_EXCEEDED):
                await call

    asyncio.run(body())


@pytest.mark.xfail(raises=TypeError, strict=True)
def test_that_is_no_coroutine_function(trunkcall_server):
    pass
"""

ASYNCIO = "asyncio_mode = {}\nasyncio_default_fixture_loop_scope = function\n"

ANYIO = """
@pytest.fixture
def anyio_backend():
    return "asyncio"
"""


def run(folder: Path, source: str, *flags: str, settings: str = "") -> subprocess.CompletedProcess[str]:
    (folder / "pytest.ini").write_text(f"[pytest]\n{settings}")
    (folder / "conftest.py").write_text(CONFTEST)
    (folder / "test_users.py").write_text(HEAD + source)
    command = [sys.executable, "-W", "error", "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", *flags]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=PATIENCE, check=False)


def passed(done: subprocess.CompletedProcess[str], count: int, more: str = "") -> None:
    assert done.returncode == 0 and f"{count} passed{more} in" in done.stdout, done.stdout + done.stderr


def test_with_pytest_asyncio_where_tests_are_marked(tmp_path: Path) -> None:
    """And for code that blocks, which needs no plugin."""
    source = AWAITING.replace("@MARK", "@pytest.mark.asyncio") + BLOCKING
    passed(run(tmp_path, source, "-p", "no:anyio", settings=ASYNCIO.format("strict")), 10, ", 1 xfailed")


def test_with_pytest_asyncio_which_takes_all_coroutine_functions(tmp_path: Path) -> None:
    passed(run(tmp_path, AWAITING.replace("@MARK", ""), "-p", "no:anyio", settings=ASYNCIO.format("auto")), 6)


def test_with_anyio(tmp_path: Path) -> None:
    passed(run(tmp_path, ANYIO + AWAITING.replace("@MARK", "@pytest.mark.anyio"), "-p", "no:asyncio"), 6)
