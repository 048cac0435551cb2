"""What is read of Consul's answers, each of which has all instances."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Iterator
from typing import Any

import pytest

from harness.registries import SERVERS, RegistryServer, missing
from trunkcall.registry import Record, RegistryError, Written, open_store
from trunkcall.registry import consul as module
from trunkcall.registry.asking import Answer
from trunkcall.registry.consul import Consul, Looking, pieces

from ..registry.kit import SERVICE, run


@pytest.fixture(scope="module")
def consul() -> Iterator[RegistryServer]:
    if why := missing("consul"):
        pytest.skip(f"consul is left out: {why}")
    with SERVERS["consul"]() as server:
        yield server


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The instances that are read, each time anew."""
    found: list[Any] = []
    reading = module._instance

    def noting(service: str, one: Any) -> Any:
        found.append(one)
        return reading(service, one)

    monkeypatch.setattr(module, "_instance", noting)
    return found


def written(ident: str, weight: int = 1) -> Written:
    record = Record(service=SERVICE, id=ident, addresses=("127.0.0.1:4000",), weight=weight)
    return Written(record, record.to_bytes())


def instance(ident: str, *, weight: int = 1, critical: bool = False, proxy: Any = None) -> dict[str, Any]:
    return {
        "Node": {"ID": "", "Node": "here"},
        "Service": {"ID": ident, "Meta": pieces(written(ident.rpartition("/")[2], weight).data), "Proxy": proxy},
        "Checks": [{"Status": "critical" if critical else "passing"}],
    }


def answer(found: Any, *, space: bool = False) -> Answer:
    text = json.dumps(found) if space else json.dumps(found, separators=(",", ":"))
    return Answer("consul", 200, {}, text.encode())


def test_of_the_server_s_own_answers_only_what_is_new_is_read(consul: RegistryServer, read: list[Any]) -> None:
    async def test() -> None:
        store = open_store(consul.name)
        assert isinstance(store, Consul)
        looking = Looking(SERVICE)
        async with asyncio.TaskGroup() as group, store._agent() as agent:

            async def keep(*idents: str) -> asyncio.Task[None]:
                there = asyncio.Event()
                task = group.create_task(store.keep([written(one) for one in idents], there.set))
                await there.wait()
                return task

            first = await keep(*(f"server-{number}" for number in range(20)))
            came, _ = looking.look(await agent.newer(f"health/service/{SERVICE}", 0))
            assert (len(came), len(read)) == (20, 20)
            second = await keep("server-99")
            came, _ = looking.look(await agent.newer(f"health/service/{SERVICE}", 0))
            assert [one.id for one in came] == ["server-99"]
            assert len(read) <= 22  # it, and what was the last and is no more
            for task in (first, second):
                task.cancel()

    run(test)


def test_what_stays_is_not_read_again(read: list[Any]) -> None:
    looking, there = Looking(SERVICE), [instance(f"{SERVICE}/server-{number}") for number in range(20)]
    looking.look(answer(there))
    read.clear()
    there[7] = instance(f"{SERVICE}/server-7", weight=2)
    came, went = looking.look(answer(there))
    assert ([one.id for one in came], went, len(read)) == (["server-7"], [], 1)


GOOD = '{"Node":{},"Checks":[],"Service":{"ID":"a","Meta":null}}'


@pytest.mark.parametrize("text", [f"[{GOOD},{GOOD}", f"[{GOOD}{GOOD}]", f"[{GOOD}]{GOOD}]", f"[{GOOD}]x", f"[{GOOD},]"])
def test_what_looks_like_instances_and_is_no_json_is_refused(text: str) -> None:
    looking = Looking(SERVICE)
    looking.look(Answer("consul", 200, {}, f"[{GOOD},{GOOD}]".encode()))
    with pytest.raises(RegistryError, match="answered what is no JSON"):
        looking.look(Answer("consul", 200, {}, text.encode()))


def test_however_answers_are_written_the_same_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    seed = random.randrange(1 << 32)
    chance = random.Random(seed)
    one, other = Looking(SERVICE), Looking(SERVICE)
    for _ in range(300):
        found = [
            instance(
                f"{chance.choice((SERVICE, 'else'))}/server-{chance.randrange(12)}",
                weight=chance.choice((1, 2)),
                critical=chance.random() < 0.2,
                proxy=chance.choice((None, None, {"Config": [{"Node": {"x": '{"Node":{'}}]}, '{"Node":{')),
            )
            for _ in range(chance.randrange(12))
        ]
        told = one.look(answer(found, space=chance.random() < 0.2))
        with monkeypatch.context() as without:
            without.setattr(module, "_parts", lambda data: None)
            assert told == other.look(answer(found)), f"seed {seed}"
