"""What starts, and where: calls whose time has run out do not; plain functions run on threads; connections belong to
nobody's call."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import sys
import threading
import unittest
from collections.abc import AsyncIterator, Coroutine, Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from types import coroutine
from typing import Any

from trunkcall import RAW, Code, Delivery, ServerCall, current_call, server_stream, unary
from trunkcall.transport import clock

from .kit import COUNT, ECHO, OTHER, PATIENCE, Case, all_of, connector, echo, eventually

SLOW = unary("/test.Service/Slow", bytes, bytes)
LIST = server_stream("/test.Service/List", bytes, bytes)


class Late(Case):
    async def test_a_call_with_a_microsecond_left_does_not_start(self) -> None:
        runs: list[bytes] = []

        def run(request: bytes, call: ServerCall) -> bytes:
            runs.append(request)
            return request

        async def run_in_task(request: bytes, call: ServerCall) -> bytes:
            return run(request, call)

        _, client = await self.pair(ECHO.handler(run_in_task), OTHER.handler(run, inline=True), SLOW.handler(run))
        await client.connect()
        (end,) = client._live
        session = end.connection.session
        for method in (ECHO, OTHER, SLOW):
            for _ in range(30):
                future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
                session.now = clock()
                out = session.unary(method._wire_name, b"x", future, 0, session.now + 1)
                assert out is not None
                out.deadline = 0  # so that the server's clock decides
                session.caller.earliest = 1 << 62
                end.connection.schedule()
                async with asyncio.timeout(PATIENCE):
                    await future
                assert out.status is not None
                self.assertEqual(out.status.code, Code.DEADLINE_EXCEEDED)
                self.assertEqual(out.status.delivery, Delivery.REFUSED)
        self.assertEqual(runs, [])

    async def test_time_that_runs_out_behind_calls_of_the_same_read_counts(self) -> None:
        """Handlers that are inline keep those behind them waiting."""
        runs: list[bytes] = []

        def run(request: bytes, call: ServerCall) -> bytes:
            runs.append(request)
            while call.time_remaining():
                pass
            return request

        _, client = await self.pair(ECHO.handler(run, inline=True))
        await client.connect()
        calls = [client.call(ECHO, bytes([number]), timeout=0.05) for number in range(2)]
        async with asyncio.timeout(PATIENCE):
            await asyncio.gather(*calls, return_exceptions=True)
        self.assertLess(len(runs), 2)

    async def test_a_plain_function_does_not_start_when_its_thread_comes_too_late(self) -> None:
        begun, go_on = threading.Event(), threading.Event()
        runs: list[bytes] = []

        def run(request: bytes, call: ServerCall) -> bytes:
            runs.append(request)
            begun.set()
            go_on.wait(PATIENCE)
            return request

        with ThreadPoolExecutor(1) as executor:
            server, client = await self.pair(SLOW.handler(run), ECHO.handler(echo), executor=executor)
            first = asyncio.create_task(client.call(SLOW, b"first"))
            await asyncio.get_running_loop().run_in_executor(None, begun.wait, PATIENCE)
            await self.runs_out(lambda timeout: client.call(SLOW, b"late", timeout=timeout), lambda: server.running > 1)
            given_up = asyncio.create_task(client.call(SLOW, b"given up"))
            await asyncio.create_task(client.call(ECHO, b""))  # which comes behind it
            given_up.cancel()
            await asyncio.gather(given_up, return_exceptions=True)
            (end,) = client._live
            await eventually(lambda: end.connection.session.caller.open == 1)
            go_on.set()
            await first
            await eventually(lambda: server.running == 0)
        self.assertEqual(runs, [b"first"])


class Threads(Case):
    async def test_a_plain_function_that_returns_several_answers_runs_on_a_thread(self) -> None:
        threads: list[threading.Thread] = []

        def listed(request: bytes, call: ServerCall) -> list[bytes]:
            threads.append(threading.current_thread())
            return [b"a", b"b"]

        def generated(request: bytes, call: ServerCall) -> Iterator[bytes]:
            threads.append(threading.current_thread())
            yield b"a"
            yield b"b"

        _, client = await self.pair(LIST.handler(listed), COUNT.handler(generated))
        for method in (LIST, COUNT):
            self.assertEqual(await all_of(client.open(method, b"")), [b"a", b"b"])
        self.assertNotIn(threading.current_thread(), threads)

    async def test_what_would_end_an_iteration_or_the_program_ends_the_call_alone(self) -> None:
        def misses(request: bytes, call: ServerCall) -> bytes:
            return next(one for one in [request] if not one)

        def exits(request: bytes, call: ServerCall) -> bytes:
            sys.exit(3)

        server, client = await self.pair(ECHO.handler(misses), SLOW.handler(exits), OTHER.handler(echo))
        for method, kind in ((ECHO, "StopIteration"), (SLOW, "SystemExit")):
            with self.assertLogs("trunkcall") as logs:
                await self.fails(client.call(method, b"x", timeout=PATIENCE), Code.UNKNOWN, Delivery.EXECUTED)
            self.assertIn(f"a plain function raised {kind}", logs.output[0])
        self.assertEqual(await client.call(OTHER, b"x"), b"x")
        self.assertEqual(server.running, 0)


class Contexts(Case):
    async def test_a_connection_dialled_in_a_handler_knows_nothing_of_its_call(self) -> None:
        variable = contextvars.ContextVar("variable", default="nobody's")
        seen: list[tuple[str, object]] = []

        async def look(request: bytes, call: ServerCall) -> bytes:
            seen.append((variable.get(), call))
            return request

        async def call_back(request: bytes, call: ServerCall) -> bytes:
            return await call.connection.call(OTHER, request)

        _, behind_address = await self.serve(ECHO.handler(call_back), codec=RAW)
        behind = self.client(behind_address)
        behind.register(OTHER.handler(look))

        async def before(request: bytes, call: ServerCall) -> bytes:
            variable.set("the handler's")
            await behind.call(ECHO, b"")
            self.assertIs(current_call(), call)
            return b""

        _, client = await self.pair(ECHO.handler(before))
        await client.call(ECHO, b"", timeout=PATIENCE)
        await behind.call(ECHO, b"")
        self.assertEqual([name for name, _ in seen], ["nobody's", "nobody's"])


def eager(loop: asyncio.AbstractEventLoop, work: Coroutine[Any, Any, Any], **options: Any) -> asyncio.Future[Any]:
    """A task factory that takes the first step at once, as asyncio.eager_task_factory of later versions does."""
    context: contextvars.Context = options.get("context") or contextvars.copy_context()
    try:
        yielded = context.run(work.send, None)
    except StopIteration as end:
        done: asyncio.Future[Any] = loop.create_future()
        done.set_result(end.value)
        return done
    return asyncio.Task(goes_on(work, yielded), loop=loop, **options)


@coroutine
def goes_on(work: Coroutine[Any, Any, Any], yielded: Any) -> Generator[Any, Any, Any]:
    """What is left of a coroutine that has taken its first step."""
    while True:
        try:
            sent = yield yielded
        except BaseException as error:
            step = partial(work.throw, error)
        else:
            step = partial(work.send, sent)
        try:
            yielded = step()
        except StopIteration as end:
            return end.value


@contextlib.contextmanager
def eager_tasks() -> Iterator[None]:
    loop = asyncio.get_running_loop()
    loop.set_task_factory(eager)  # type: ignore[arg-type]
    try:
        yield
    finally:
        loop.set_task_factory(None)


class Eager(Case):
    async def test_tasks_that_end_in_their_first_step_leave_nothing_behind(self) -> None:
        server, client = await self.pair(ECHO.handler(echo), COUNT.handler(no_answers))
        await client.connect()
        with eager_tasks():
            for _ in range(20):
                self.assertEqual(await client.call(ECHO, b"x"), b"x")
                stream = client.open(COUNT, b"")
                self.assertEqual(await all_of(stream), [])
                self.assertTrue(stream.done)
        self.assertEqual(server._serving.tasks, set())
        self.assertEqual(server.running, 0)

    async def test_a_target_that_fails_at_once_is_tried_again(self) -> None:
        tried = connector(self.client("unix:/nowhere/at/all"))
        with eager_tasks():
            tried.endpoint.client._endpoints.wake()
        self.assertGreaterEqual(tried.failures, 1)  # a pause drawn at random may be none
        await eventually(lambda: tried.failures == 3)


async def no_answers(request: bytes, call: ServerCall) -> AsyncIterator[bytes]:
    for answer in tuple[bytes, ...]():
        yield answer


if __name__ == "__main__":
    unittest.main()
