"""Servers that are published, and clients that find them: they come and go while calls go on."""

from __future__ import annotations

import asyncio
import logging
import os
import shutil
import signal
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from trunkcall import RAW, Client, Code, Server, ServerCall, StatusError, blocking, unary
from trunkcall.registry import Folder, Registrar, Watcher, Written, blocking_resolver, open_store, parse, resolver

from .kit import SERVICE, WHO, calling, finding, logged, made, process, publish, run, until

LATER = unary("/test.Later/Say", bytes, bytes)


async def echo(request: bytes, call: ServerCall) -> bytes:
    return request


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
    async def test() -> None:
        store = f"file:{tmp_path}"
        with process(store, "first") as first, process(store, "second"):
            async with finding(open_store(store)) as client:
                await until(client, "first", "second")
                os.kill(first.pid, signal.SIGKILL)  # its file stays
                await until(client, "second")
                with process(store, "first"):
                    await until(client, "first", "second")

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
        for everywhere in ("0.0.0.0:0", ":0"):
            with pytest.raises(ValueError, match="say by which one it is reached"):
                await server.listen(everywhere)
            assert server.addresses == []
        await server.listen("127.0.0.1:0")
        await server.stop()

    run(test)


def test_a_registrar_publishes_one_server(tmp_path: Path) -> None:
    async def test() -> None:
        registrar = Registrar(Folder(tmp_path))
        first, second = made("x", registrar), made("y", registrar)
        await first.listen("127.0.0.1:0")
        with pytest.raises(RuntimeError, match="a registrar publishes one server, and it has another"):
            await second.listen("127.0.0.1:0")
        assert second.addresses == []
        await first.listen("127.0.0.1:0")
        await first.stop()

    run(test)


def test_a_resolver_of_blocking_clients_is_refused_by_others(tmp_path: Path) -> None:
    async def test() -> None:
        found: Any = blocking_resolver(Folder(tmp_path))
        async with Client(f"registry:{SERVICE}", codec=RAW, resolvers={"registry": found}) as client:
            with pytest.raises(StatusError, match=r"blocking_resolver is for a trunkcall\.blocking\.Client"):
                await client.call(WHO, b"")

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


def test_a_service_that_comes_later_is_published_too(tmp_path: Path) -> None:
    async def test() -> None:
        registrar = Registrar(Folder(tmp_path), id="x")
        server = made("x", registrar)
        await server.listen("127.0.0.1:0")
        await registrar.published()
        record = tmp_path / SERVICE / "x.lease"
        before = record.stat().st_ino
        resolvers = {"registry": resolver(Folder(tmp_path))}
        async with Client("registry:test.Later", resolvers=resolvers, codec=RAW) as client:
            with pytest.raises(StatusError, match=r"no instance of test\.Later"):
                await client.call(LATER, b"", timeout=60)
            server.register(LATER.handler(echo), unary("/test.Another/Say", bytes, bytes).handler(echo))
            assert await client.call(LATER, b"x", wait_for_ready=True, timeout=60) == b"x"
        assert record.stat().st_ino == before  # what was published stayed as it was
        await server.listen("127.0.0.1:0")
        while record.exists() and len(parse(record.read_bytes()).addresses) < 2:  # noqa: ASYNC110  # nothing tells of it
            await asyncio.sleep(0.005)
        await server.stop()

    run(test)
    assert list(tmp_path.glob("*/*")) == []


def test_what_cannot_be_published_again_is_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def test() -> None:
        registrar = Registrar(Folder(tmp_path), id="x")
        server = made("x", registrar)
        await server.listen("127.0.0.1:0")
        await registrar.published()
        server.register(unary("/too long/Say", bytes, bytes).handler(echo))
        await logged(caplog, "not published again in a registry: service: want a name")
        assert (tmp_path / SERVICE / "x.lease").exists()
        await server.stop()

    run(test)


def test_a_blocking_server_publishes_what_comes_later(tmp_path: Path) -> None:
    store = Folder(tmp_path)
    with blocking.Server(made("first", Registrar(store))) as server:
        server.listen("127.0.0.1:0")
        server.register(LATER.handler(echo))
        resolvers = {"registry": blocking_resolver(store)}
        with blocking.Client("registry:test.Later", resolvers=resolvers, codec=RAW) as client:
            assert client.call(LATER, b"x", wait_for_ready=True, timeout=60) == b"x"


def test_of_two_servers_under_an_id_the_first_stays(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, seconds in (("RENEWED", 0.1), ("YIELDED", 0.05)):
        monkeypatch.setattr(f"trunkcall.registry.folder.{name}", seconds)

    async def test() -> None:
        store = Folder(tmp_path)
        first = await publish(store, "same")
        async with finding(store) as client:
            second = made("second", Registrar(store, id="same"))
            await second.listen("127.0.0.1:0")
            await logged(
                caplog, f": {SERVICE}/same: another server is published under this id, at {first.addresses[0]}"
            )
            await until(client, "same")
            await first.stop()
            await until(client, "second")
        await second.stop()

    run(test)


class Clinging:
    """A store that cannot withdraw."""

    async def watch(self, service: str, watcher: Watcher, /) -> None:
        raise NotImplementedError

    async def keep(self, records: Sequence[Written], published: Callable[[], None], /) -> None:
        published()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            raise OSError("it sticks") from None


def test_that_a_store_cannot_withdraw_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    async def test() -> None:
        server = await publish(Clinging(), "x")
        await server.stop()

    run(test)
    assert caplog.messages == [f"not withdrawn from a registry in order: {SERVICE}/x: OSError: it sticks"]


class Slow:
    """A store that withdraws when the test says so."""

    def __init__(self) -> None:
        self.said: asyncio.Queue[str] = asyncio.Queue()
        self.ends = asyncio.Event()

    async def watch(self, service: str, watcher: Watcher, /) -> None:
        raise NotImplementedError

    async def keep(self, records: Sequence[Written], published: Callable[[], None], /) -> None:
        self.said.put_nowait("keeps")
        published()
        try:
            await asyncio.Event().wait()
        finally:
            self.said.put_nowait("withdraws")
            try:
                await self.ends.wait()
                self.said.put_nowait("has withdrawn")
            except asyncio.CancelledError:
                self.said.put_nowait("is cut short")
                raise


def test_what_withdraws_is_not_cut_short() -> None:
    async def test() -> None:
        store = Slow()
        server = await publish(store, "x")
        assert await store.said.get() == "keeps"
        await server.listen("127.0.0.1:0")
        assert await store.said.get() == "withdraws"
        await server.listen("127.0.0.1:0")
        store.ends.set()
        assert await store.said.get() == "has withdrawn"
        assert await store.said.get() == "keeps"
        await server.stop()

    run(test)


@pytest.mark.parametrize("given", ["file:/somewhere", None, Folder])
def test_what_is_no_registry_is_refused(given: Any) -> None:
    with pytest.raises(TypeError, match=r"store.*a Store such as Folder.*with `keep`"):
        Registrar(given)
    for make in (resolver, blocking_resolver):
        with pytest.raises(TypeError, match=r"source.*a Source such as Folder.*with `watch`"):
            make(given)


def test_a_server_without_services_is_told_what_to_do(tmp_path: Path) -> None:
    async def test() -> None:
        with pytest.raises(ValueError, match="no service to publish: register services before listening"):
            await Server(registrar=Registrar(Folder(tmp_path))).listen("127.0.0.1:0")

    run(test)


def test_what_is_no_registrar_is_refused() -> None:
    with pytest.raises(TypeError, match="registrar"):
        Server(registrar=object())  # type: ignore[arg-type]
