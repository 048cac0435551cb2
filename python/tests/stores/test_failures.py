"""etcd, ZooKeeper and Consul as registries, of their own servers: what happens to them fails no call."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
from collections.abc import AsyncIterator, Iterator

import pytest

from harness.proxy import Proxy
from harness.registries import SERVERS, RegistryServer, missing
from trunkcall import RAW, Server, blocking
from trunkcall.registry import Record, Registrar, Store, blocking_resolver, open_store, parse

from ..registry.kit import SERVICE, WHO, calling, finding, hasten, logged, made, process, publish, run, until

LEASE = 2  # seconds
GONE = "was removed, or written by somebody else"


@pytest.fixture(scope="module", params=SERVERS)
def running(request: pytest.FixtureRequest) -> Iterator[RegistryServer]:
    if why := missing(request.param):
        pytest.skip(f"{request.param} is left out: {why}")
    with SERVERS[request.param]() as server:
        yield server


@pytest.fixture
def server(running: RegistryServer, monkeypatch: pytest.MonkeyPatch) -> RegistryServer:
    """With nothing in it. A silent one is noticed sooner than by default."""
    running.empty()
    hasten(monkeypatch)
    if running.scheme == "etcd":
        monkeypatch.setattr("trunkcall.registry.etcd.ASKS_AFTER", 0.5)
        monkeypatch.setattr("trunkcall.registry.etcd.ANSWERS_WITHIN", 2.0)
    elif running.scheme == "consul":
        monkeypatch.setattr("trunkcall.registry.consul_agent.WAITS", 1)
        monkeypatch.setattr("trunkcall.registry.consul_agent.ANSWERS_WITHIN", 2.0)
    return running


@pytest.fixture
def store(server: RegistryServer) -> Store:
    return open_store(server.name_at(server.address, lease=LEASE))


async def asked(server: RegistryServer) -> dict[str, bytes]:
    return dict(await asyncio.to_thread(server.entries, SERVICE))


async def there(server: RegistryServer, *idents: str) -> None:
    """Waits until good records of those stand there, and no others."""
    while True:
        found = await asked(server)
        with contextlib.suppress(ValueError):
            if sorted(parse(data).id for data in found.values()) == sorted(idents):
                return
        await asyncio.sleep(0.02)  # it is asked again, not relied on


@contextlib.asynccontextmanager
async def two(store: Store) -> AsyncIterator[list[Server]]:
    servers = [await publish(store, "first"), await publish(store, "second")]
    try:
        yield servers
    finally:
        for one in servers:
            await one.close()


def test_records_have_the_bytes_of_every_registry(server: RegistryServer, store: Store) -> None:
    async def test() -> None:
        attributes = {"k": "ä" * 500, "quote": '"\\'}
        registrar = Registrar(store, id="x", attributes=attributes, weight=3, zone="z", version="7")
        published = made("x", registrar)
        where = await published.listen("127.0.0.1:0")
        await registrar.published()
        want = Record(
            service=SERVICE, id="x", addresses=(where,), attributes=attributes, weight=3, zone="z", version="7"
        )
        assert await asked(server) == {"x": want.to_bytes()}
        await published.stop()
        assert await asked(server) == {}

    run(test)


def test_servers_come_and_go_while_calls_go_on(server: RegistryServer, store: Store) -> None:
    async def test() -> None:
        first = await publish(store, "first")
        async with finding(store) as client:
            await until(client, "first")
            async with calling(client):
                second = await publish(store, "second")
                await until(client, "first", "second")
                await first.stop()
                assert set(await asked(server)) == {"second"}
                await until(client, "second")
                first = await publish(store, "first")  # at another port, under its name
                await until(client, "first", "second")
                await second.stop()
                await until(client, "first")
        await first.stop()
        assert await asked(server) == {}

    run(test)


def test_a_blocking_client_finds_servers(store: Store) -> None:
    with blocking.Server(made("first", Registrar(store))) as published:
        published.listen("127.0.0.1:0")
        resolvers = {"registry": blocking_resolver(store)}
        with blocking.Client(f"registry:{SERVICE}", resolvers=resolvers, codec=RAW) as client:
            assert client.call(WHO, b"", wait_for_ready=True, timeout=60) == b"first"


def test_a_killed_server_is_forgotten_after_its_lease_and_replaced_under_its_name(
    server: RegistryServer, store: Store
) -> None:
    name = server.name_at(server.address, lease=LEASE)

    async def test() -> None:
        stays = await publish(store, "stays")
        starting = process(name, "killed")
        killed = await asyncio.to_thread(starting.__enter__)
        try:
            async with finding(store) as client:
                await until(client, "stays", "killed")
                os.kill(killed.pid, signal.SIGKILL)
                await until(client, "stays")
                again = await publish(store, "killed")  # once the lease is over
                await until(client, "stays", "killed")
                await again.stop()
                await there(server, "stays")
                while len(client.endpoints) > 1:  # noqa: ASYNC110  # nothing tells of it
                    await asyncio.sleep(0.02)
        finally:
            starting.__exit__(None, None, None)
        await stays.stop()

    run(test)


def test_a_registry_that_is_stopped_for_some_leases(
    server: RegistryServer, store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    async def test() -> None:
        async with two(store), finding(store) as client:
            await until(client, "first", "second")
            async with calling(client):
                server.pause()
                await logged(caplog, f"watching {SERVICE}:")
                await logged(caplog, "not published in a registry", 2)
                await asyncio.sleep(2 * LEASE)
                await until(client, "first", "second")
                caplog.clear()
                server.resume()
                await logged(caplog, "published in a registry: ", 2)
                await there(server, "first", "second")
                await until(client, "first", "second")

    with caplog.at_level(logging.INFO, "trunkcall"):
        run(test)


def test_a_watch_whose_connection_dies_in_silence(
    server: RegistryServer, store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    async def test() -> None:
        first = await publish(store, "first")
        async with (
            Proxy(server.address) as proxy,
            finding(open_store(server.name_at(proxy.address, lease=LEASE))) as client,
        ):
            await until(client, "first")
            second = await publish(store, "second")
            await until(client, "first", "second")  # the watch tells
            caplog.clear()
            proxy.silence_all()
            third = await publish(store, "third")
            await until(client, "first", "second", "third")
            assert f"watching {SERVICE}: " in caplog.text
        for one in (first, second, third):
            await one.stop()

    run(test)


def test_a_registry_that_is_killed_and_comes_back(
    server: RegistryServer, store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    async def test() -> None:
        async with two(store), finding(store) as client:
            await until(client, "first", "second")
            async with calling(client):
                await asyncio.to_thread(server.kill)
                await logged(caplog, f"watching {SERVICE}:")
                await logged(caplog, "not published in a registry", 2)
                await until(client, "first", "second")
                caplog.clear()
                await asyncio.to_thread(server.start)
                await logged(caplog, "published in a registry: ", 2)
                await there(server, "first", "second")
                third = await publish(store, "third")
                await until(client, "first", "second", "third")
                await third.stop()
                await until(client, "first", "second")

    with caplog.at_level(logging.INFO, "trunkcall"):
        run(test)


def test_a_registry_that_is_emptied(server: RegistryServer, store: Store, caplog: pytest.LogCaptureFixture) -> None:
    async def test() -> None:
        async with two(store), finding(store) as client:
            await until(client, "first", "second")
            async with calling(client):
                await asyncio.to_thread(server.empty)
                await logged(caplog, GONE, 2)
                await there(server, "first", "second")
                await until(client, "first", "second")

    run(test)


def test_a_registry_that_is_filled_with_rubbish(
    server: RegistryServer, store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    async def test() -> None:
        async with two(store), finding(store) as client:
            await until(client, "first", "second")
            async with calling(client):
                for ident, data in (
                    ("first", b"rubbish"),
                    ("second", b'{"addresses":["127.0.'),
                    ("long", b"x" * 20_000),
                    ("other", b'{"addresses":["a:1"],"id":"another","service":"test.Names"}'),
                    ("half", b"\xff\xfe"),
                ):
                    await asyncio.to_thread(server.put, SERVICE, ident, data)
                await logged(caplog, GONE, 2)
                wanted = {"first", "second", "another", None}
                while {parse_or_none(data) for data in (await asked(server)).values()} != wanted:  # noqa: ASYNC110
                    await asyncio.sleep(0.02)
                await until(client, "first", "second")
                async with finding(store) as another:
                    await until(another, "first", "second")

    run(test)
    for text in (
        f"{SERVICE}/first: not a JSON object",
        f"{SERVICE}/second: not a JSON object",
        f"{SERVICE}/other: id: want other, as its key says",
        f"{SERVICE}/half: not a JSON object",
    ):
        assert text in caplog.text


def parse_or_none(data: bytes) -> str | None:
    with contextlib.suppress(ValueError):
        return parse(data).id
    return None


def test_leases_that_are_over(server: RegistryServer, store: Store, caplog: pytest.LogCaptureFixture) -> None:
    async def test() -> None:
        async with two(store), finding(store) as client:
            await until(client, "first", "second")
            async with calling(client):
                await asyncio.to_thread(server.expire)
                if server.kind != "consul":  # whose checks pass again with the next sign of life
                    await logged(caplog, "published in a registry: ", 4)
                await there(server, "first", "second")
                await until(client, "first", "second")

    with caplog.at_level(logging.INFO, "trunkcall"):
        run(test)


def test_of_two_servers_under_an_id_the_first_stays(
    server: RegistryServer, store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    async def test() -> None:
        first = await publish(store, "same")
        second = made("second", Registrar(store, id="same"))
        await second.listen("127.0.0.1:0")
        await logged(caplog, f": {SERVICE}/same: another server is published under this id, at {first.addresses[0]}")
        async with finding(store) as client:
            await until(client, "same")
            await first.stop()
            await until(client, "second")
        await second.stop()
        assert await asked(server) == {}

    run(test)


def test_servers_of_equal_bytes_are_one(server: RegistryServer, store: Store) -> None:
    async def test() -> None:
        servers = [
            made("x", registrar)
            for registrar in (Registrar(store, id="x", addresses=["a:1"]), Registrar(store, id="x", addresses=["a:1"]))
        ]
        for one in servers:
            await one.listen("127.0.0.1:0")
        await there(server, "x")
        for one in servers:
            await there(server, "x")
            await one.stop()
        await there(server)

    run(test)
