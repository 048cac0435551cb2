"""Servers that are published, and clients that find them: they come and go while calls go on."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from trunkcall import RAW, Client, Code, Delivery, Server, ServerCall, StatusError, blocking, unary
from trunkcall.registry import Folder, Registrar, Store, blocking_resolver, open_store, resolver

SERVICE = "test.Names"
WHO = unary("/test.Names/Who", bytes, bytes)

PROCESS = """
import asyncio, sys
sys.path.insert(0, {tests!r})
from tests.registry.test_finding import publish
from trunkcall.registry import open_store

async def main():
    server = await publish(open_store(sys.argv[1]), sys.argv[2])
    print("published", flush=True)
    await asyncio.Event().wait()

asyncio.run(main())
"""


def run(test: Callable[[], Awaitable[None]]) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(120):
            await test()

    asyncio.run(bounded())


def made(name: str, registrar: Any) -> Server:
    async def who(request: bytes, call: ServerCall) -> bytes:
        return name.encode()

    server = Server(registrar=registrar)
    server.register(WHO.handler(who))
    return server


async def publish(store: Store, name: str) -> Server:
    registrar = Registrar(store, id=name)
    server = made(name, registrar)
    await server.listen("127.0.0.1:0")
    await registrar.published()
    return server


def finding(store: Store) -> Client:
    return Client(f"registry:{SERVICE}", resolvers={"registry": resolver(store)}, codec=RAW)


async def until(client: Client, *names: str) -> None:
    """Calls until all of those answer, and nobody else. A call that a killed process had may fail."""
    while True:
        answered: set[str] = set()
        for _ in range(4 * len(names)):
            try:
                answered.add((await client.call(WHO, b"", wait_for_ready=True, timeout=60)).decode())
            except StatusError as error:
                assert error.delivery is Delivery.UNKNOWN, error
        if answered == set(names):
            return
        await asyncio.sleep(0.005)  # it is asked again, not relied on


@contextlib.asynccontextmanager
async def calling(client: Client) -> AsyncIterator[None]:
    """Makes calls meanwhile, none of which may fail."""
    over = False

    async def call() -> None:
        while not over:
            await client.call(WHO, b"", wait_for_ready=True, timeout=60)
            await asyncio.sleep(0.001)

    async with asyncio.TaskGroup() as group:
        for _ in range(4):
            group.create_task(call())
        yield
        over = True


async def logged(caplog: pytest.LogCaptureFixture, text: str, times: int = 1) -> None:
    while caplog.text.count(text) < times:  # noqa: ASYNC110  # nothing tells of it
        await asyncio.sleep(0.01)


def test_servers_come_and_go_while_calls_go_on(tmp_path: Path) -> None:
    async def test() -> None:
        store = open_store(f"file:{tmp_path}")
        first = await publish(store, "first")
        async with finding(store) as client:
            await until(client, "first")
            async with calling(client):
                second = await publish(store, "second")
                await until(client, "first", "second")
                await first.stop()
                await until(client, "second")
                first = await publish(store, "first")  # at another port, under its name
                await until(client, "first", "second")
                await second.stop()
                await until(client, "first")
        await first.stop()

    run(test)
    assert list(tmp_path.glob("*/*")) == []


def test_an_emptied_and_spoilt_registry_changes_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def test() -> None:
        store = Folder(tmp_path)
        servers = [await publish(store, "first"), await publish(store, "second")]
        async with finding(store) as client:
            await until(client, "first", "second")
            async with calling(client):
                for name in ("first", "second"):
                    (tmp_path / SERVICE / f"{name}.json").write_text('{"addresses":["127.0.')
                await logged(caplog, "left out of a registry", 2)
                await until(client, "first", "second")
                shutil.rmtree(tmp_path)
                await logged(caplog, "No such file")
                await until(client, "first", "second")
        for server in servers:
            await server.stop()

    run(test)
    assert f"{tmp_path / SERVICE / 'first.json'}: not a JSON object" in caplog.text


def test_a_blocking_client_finds_servers(tmp_path: Path) -> None:
    store = Folder(tmp_path)
    server = blocking.Server(made("first", Registrar(store)))
    with server:
        server.listen("127.0.0.1:0")
        resolvers = {"registry": blocking_resolver(store)}
        with blocking.Client(f"registry:{SERVICE}", resolvers=resolvers, codec=RAW) as client:
            assert client.call(WHO, b"", wait_for_ready=True, timeout=60) == b"first"
    assert list(tmp_path.glob("*/*")) == []


def test_a_killed_process_is_replaced(tmp_path: Path) -> None:
    def start(name: str) -> subprocess.Popen[str]:
        source = PROCESS.format(tests=str(Path(__file__).parents[2]))
        command = [sys.executable, "-c", source, f"file:{tmp_path}", name]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None and process.stdout.readline() == "published\n"
        return process

    def end(process: subprocess.Popen[str]) -> None:
        process.kill()
        process.communicate()

    async def test() -> None:
        first = await asyncio.to_thread(start, "first")
        second = await asyncio.to_thread(start, "second")
        async with finding(open_store(f"file:{tmp_path}")) as client:
            try:
                await until(client, "first", "second")
                os.kill(first.pid, signal.SIGKILL)  # its file stays
                await until(client, "second")
                third = await asyncio.to_thread(start, "first")
                try:
                    await until(client, "first", "second")
                finally:
                    end(third)
            finally:
                end(first)
                end(second)

    run(test)


def test_that_there_is_no_instance_is_said(tmp_path: Path) -> None:
    async def test() -> None:
        for folder, why in ((tmp_path, "no instance of test.Names is registered"), (tmp_path / "none", "No such file")):
            async with finding(Folder(folder)) as client:
                with pytest.raises(StatusError) as failure:
                    await client.call(WHO, b"", timeout=60)
                assert failure.value.code is Code.UNAVAILABLE and why in failure.value.message

    run(test)


def test_what_cannot_be_published_fails_listen(tmp_path: Path) -> None:
    async def test() -> None:
        server = made("x", Registrar(Folder(tmp_path)))
        with pytest.raises(ValueError, match="say by which one it is reached"):
            await server.listen("0.0.0.0:0")
        assert server.addresses == []
        await server.listen("127.0.0.1:0")
        await server.stop()

    run(test)


def test_a_server_serves_while_its_registry_is_away(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def test() -> None:
        registrar = Registrar(Folder(tmp_path / "later"))
        server = made("x", registrar)
        async with Client(await server.listen("127.0.0.1:0"), codec=RAW) as client:
            assert await client.call(WHO, b"", timeout=60) == b"x"
            await logged(caplog, "not published in a registry")
            (tmp_path / "later").mkdir()
            await registrar.published()
        await server.stop()

    with caplog.at_level(logging.INFO, "trunkcall"):
        run(test)


class Noting:
    """A registrar that notes what it is called for."""

    def __init__(self, server_stopping: Callable[[], bool] = bool, hangs: bool = False) -> None:
        self.notes: list[str] = []
        self._stopping = server_stopping
        self._hangs = hangs

    def publish(self, server: Server, /) -> None:
        self.notes.append(f"published {len(server.addresses)}")

    async def withdraw(self) -> None:
        self.notes.append("draining" if self._stopping() else "withdrawn")
        if self._hangs:
            await asyncio.Event().wait()


def test_a_server_withdraws_before_it_drains() -> None:
    async def test() -> None:
        noting = Noting(lambda: server.stopping.is_set())
        server = Server(registrar=noting)
        for where in ("mem:withdraws-1", "mem:withdraws-2"):
            await server.listen(where)
        await server.stop()
        assert noting.notes == ["published 1", "published 2", "withdrawn"]

    run(test)


def test_a_registrar_that_hangs_holds_up_nobody_for_long() -> None:
    from trunkcall.testing import Clock

    async def test() -> None:
        async with Clock() as clock:
            for end, seconds in (("stop", 5.0), ("close", 1.0)):
                server = Server(registrar=Noting(hangs=True))
                await server.listen(f"mem:hangs-{end}")
                ending = asyncio.create_task(getattr(server, end)())
                await clock.advance(seconds - 0.1)
                assert not ending.done()
                await clock.advance(0.2)
                await ending

    run(test)


def test_what_is_no_registrar_is_refused() -> None:
    with pytest.raises(TypeError, match="registrar"):
        Server(registrar=object())  # type: ignore[arg-type]
