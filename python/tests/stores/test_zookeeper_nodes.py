"""Nodes of ZooKeeper, and the sessions of who reads them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from unittest import mock

import pytest
from kazoo.client import KazooClient  # pyright: ignore[reportMissingTypeStubs]

from harness.registries import ZooKeeper, missing
from trunkcall.registry import RegistryError, open_registry, open_store

from ..registry.kit import SERVICE, finding, logged, publish, run, until


@pytest.fixture
def server() -> Iterator[ZooKeeper]:
    if why := missing("zookeeper"):
        pytest.skip(f"zookeeper is left out: {why}")
    with ZooKeeper() as server:
        yield server


def test_a_node_that_may_not_be_read_hides_nobody_else(server: ZooKeeper, caplog: pytest.LogCaptureFixture) -> None:
    store = open_store(server.name)

    async def test() -> None:
        server.hide(SERVICE, "hidden")
        servers = [await publish(store, "first")]
        async with finding(store) as client:
            await until(client, "first")
            server.hide(SERVICE, "second")
            servers.append(await publish(store, "third"))
            await until(client, "first", "third")
            await logged(caplog, f"{SERVICE}/second: ZooKeeper does not let it be read")
            server.remove(SERVICE, "second")
            servers.append(await publish(store, "second"))
            await until(client, "first", "second", "third")
        for one in servers:
            await one.close()

    run(test)


def test_who_takes_no_connection_is_named_with_the_reason() -> None:
    async def test() -> None:
        with pytest.raises(RegistryError, match=r"127\.0\.0\.1:1: .*refused"):
            await open_registry("zookeeper:127.0.0.1:1").watch(SERVICE, mock.Mock())  # nobody listens there

    run(test)


def test_sessions_of_watchers_are_short(server: ZooKeeper) -> None:
    asked: list[float] = []

    def made(*arguments: Any, **named: Any) -> Any:
        asked.append(named["timeout"])
        return KazooClient(*arguments, **named)

    async def test() -> None:
        store = open_store(server.name_at(server.address, lease=60))
        first = await publish(store, "first")
        async with finding(store) as client:
            await until(client, "first")
        await first.close()

    with mock.patch("trunkcall.registry.zookeeper.KazooClient", made):
        run(test)
    assert asked == [60.0, 15.0]  # what is published counts as long as it is said, and silence is to be noticed
