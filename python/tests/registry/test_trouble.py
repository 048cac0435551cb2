"""What befalls registries from the side of the program that uses them."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from trunkcall import RAW, Client, Code, Endpoint, StatusError
from trunkcall.registry import (
    Entry,
    Folder,
    Record,
    Registrar,
    RegistryError,
    Watcher,
    Written,
    open_store,
    resolver,
    serve,
    zookeeper,
)
from trunkcall.registry.etcd import Etcd
from trunkcall.registry.folder import LEASE, Keeping

from ..public.kit import black_hole, listener
from .kit import SERVICE, WHO, finding, hasten, logged, made, run


class Broken:
    """A Store in which something is cancelled, such as the task that reads its connection."""

    def __init__(self) -> None:
        self.asked = {"watch": 0, "keep": 0}

    async def _break(self, what: str) -> None:
        self.asked[what] += 1
        reading = asyncio.ensure_future(asyncio.Event().wait())
        asyncio.get_running_loop().call_soon(reading.cancel)
        await reading

    async def watch(self, service: str, watcher: Watcher, /) -> None:
        await self._break("watch")

    async def keep(self, records: Sequence[Written], published: Callable[[], None], /) -> None:
        await self._break("keep")


def test_a_store_that_is_cancelled_is_asked_again(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    hasten(monkeypatch)

    async def test() -> None:
        store = Broken()
        async with made("x", Registrar(store)) as server, finding(store) as client:
            await server.listen("127.0.0.1:0")
            await logged(caplog, "not published in a registry: test.Names/")
            while min(store.asked.values()) < 3:
                await asyncio.sleep(0.01)
                with contextlib.suppress(StatusError):
                    await client.call(WHO, b"")
            await logged(caplog, "watching test.Names: it was cancelled")

    run(test)


class Emptied:
    """A Source that fails, and is empty when it answers again."""

    def __init__(self) -> None:
        self._asked = 0
        self.over = asyncio.Event()

    async def watch(self, service: str, watcher: Watcher, /) -> None:
        self._asked += 1
        if self._asked == 1:
            records = (Record(service=service, id=ident, addresses=("a:1",)) for ident in "ab")
            watcher.all([Entry(one.id, one.to_bytes()) for one in records])
            raise RegistryError("it is away")
        watcher.all([])
        self.over.set()
        await asyncio.Event().wait()


class Noting:
    """Takes what a resolver finds."""

    target = "users"
    closed = False

    def __init__(self) -> None:
        self.said: list[str] = []

    def set(self, endpoints: Sequence[Endpoint], /) -> None:
        self.said.append(" ".join(one.id for one in endpoints))

    def fail(self, why: str, /) -> None:
        self.said.append(why)

    async def failed(self) -> None:
        await asyncio.Event().wait()


def test_that_a_registry_answers_again_and_that_instances_are_kept_is_logged(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    hasten(monkeypatch)

    async def test() -> None:
        source, watch = Emptied(), Noting()
        resolving = asyncio.ensure_future(resolver(source)(watch))  # type: ignore[arg-type]
        await source.over.wait()
        resolving.cancel()
        assert watch.said == ["a b", "watching users: it is away"]

    with caplog.at_level(logging.INFO, "trunkcall"):
        run(test)
    assert [(one.levelname, one.getMessage()) for one in caplog.records] == [
        ("INFO", "a registry answers again: users"),
        ("WARNING", "instances of users that a registry has no more are kept: 2"),
    ]


class Returning:
    """A Store that makes something else of being cancelled."""

    def __init__(self, fault: Exception | None) -> None:
        self.asked = {"watch": 0, "keep": 0}
        self.begun = asyncio.Event()
        self._fault = fault

    async def _until_cancelled(self, what: str) -> None:
        self.asked[what] += 1
        if all(self.asked.values()):
            self.begun.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            if self._fault is not None:
                raise self._fault from None

    async def watch(self, service: str, watcher: Watcher, /) -> None:
        await self._until_cancelled("watch")

    async def keep(self, records: Sequence[Written], published: Callable[[], None], /) -> None:
        published()
        await self._until_cancelled("keep")


@pytest.mark.parametrize("fault", [None, RegistryError("its cleaning up")])
def test_a_store_that_ends_otherwise_when_it_is_cancelled_is_not_asked_again(
    fault: Exception | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    hasten(monkeypatch)

    async def test() -> None:
        store = Returning(fault)
        before = asyncio.all_tasks()
        async with made("x", Registrar(store)) as server, finding(store) as client:
            await server.listen("127.0.0.1:0")
            calling = asyncio.ensure_future(client.call(WHO, b"", wait_for_ready=True))
            await store.begun.wait()
        with pytest.raises(StatusError):
            await calling
        assert store.asked == {"watch": 1, "keep": 1}
        assert asyncio.all_tasks() == before

    run(test)


@contextlib.asynccontextmanager
async def threads_taken() -> AsyncIterator[None]:
    """All threads of the event loop wait, as they may in handlers of users."""
    over, taken = threading.Event(), threading.Event()

    def wait() -> None:
        taken.set()
        over.wait()

    loop = asyncio.get_running_loop()
    loop.set_default_executor(ThreadPoolExecutor(1))
    waiting = loop.run_in_executor(None, wait)
    try:
        while not taken.is_set():  # noqa: ASYNC110  # its thread is none of the loop
            await asyncio.sleep(0.001)
        yield
    finally:
        over.set()
        await waiting


def test_a_folder_needs_no_thread_of_the_event_loop(tmp_path: Path) -> None:
    async def test() -> None:
        store = Folder(tmp_path)
        registrar = Registrar(store, id="first", addresses=["a:1"])
        found: asyncio.Queue[list[str]] = asyncio.Queue()

        class Finding:
            def all(self, entries: Iterable[Entry], /) -> None:
                found.put_nowait([one.id for one in entries])

            def change(self, came: Iterable[Entry], went: Iterable[str], /) -> None:
                found.put_nowait([one.id for one in came])

            async def failed(self) -> None:
                await asyncio.Event().wait()

        async with threads_taken(), made("first", registrar) as server:
            await server.listen("mem:trouble")
            await registrar.published()
            watching = asyncio.ensure_future(store.watch(SERVICE, Finding()))
            assert await found.get() == ["first"]
            await server.stop()
            watching.cancel()

    run(test)
    assert list(tmp_path.glob("*/*")) == []


def test_a_registry_saves_without_a_thread_of_the_event_loop(tmp_path: Path) -> None:
    async def test() -> None:
        where: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        state = tmp_path / "state"
        async with threads_taken():
            serving = asyncio.create_task(serve(f"unix:{tmp_path}/socket", state=state, listening=where.set_result))
            registrar = Registrar(open_store(f"trunkcall:{await where}"), id="first", addresses=["a:1"])
            async with made("first", registrar) as server:
                await server.listen("mem:trouble")
                while b'"first"' not in state.read_bytes():  # noqa: ASYNC110  # nothing tells of it
                    await asyncio.sleep(0.01)
            serving.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await serving

    run(test)


def keeping(folder: Path, address: str) -> Keeping:
    record = Record(service="users", id="a", addresses=(address,))
    return Keeping(folder, [Written(record, record.to_bytes())], set(), set())


def test_who_has_not_renewed_for_a_lease_yields(tmp_path: Path) -> None:
    first, second = keeping(tmp_path, "first:1"), keeping(tmp_path, "second:1")
    first.write(0)
    first.write(10)
    second.write(12)  # it does not look at the file before it is there
    first.write(LEASE)  # in time
    assert b"first" in (tmp_path / "users" / "a.lease").read_bytes()
    second = keeping(tmp_path, "second:1")
    second.write(3 * LEASE)
    second.write(4 * LEASE)
    with pytest.raises(RegistryError, match=r"^users/a: another server is published under this id, at second:1$"):
        first.write(4 * LEASE + 1)
    assert b"second" in (tmp_path / "users" / "a.lease").read_bytes()


def test_a_folder_that_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as caught:
        keeping(tmp_path / "none", "a:1").write(0)
    assert caught.value.filename == str(tmp_path / "none")


def test_a_key_is_named_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def test() -> None:
        other = keeping(tmp_path, "other:1")
        for now in (0, LEASE):
            other.write(now)
        store = Folder(tmp_path)
        registrar = Registrar(store, names=["users"], id="a", addresses=["mine:1"])
        async with made("mine", registrar) as server:
            await server.listen("127.0.0.1:0")
            await registrar.published()
            other.write(LEASE + 1)
            await logged(
                caplog, "not published in a registry: users/a: another server is published under this id, at other:1"
            )

    run(test)


def test_a_name_that_can_be_none_is_told_once(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    hasten(monkeypatch)

    async def test() -> None:
        store = Broken()
        async with Client("registry:bad name", resolvers={"registry": resolver(store)}, codec=RAW) as client:
            for _ in range(20):
                with pytest.raises(StatusError) as caught:
                    await client.call(WHO, b"")
                assert caught.value.code is Code.UNAVAILABLE
                await asyncio.sleep(0.01)
            assert "resolver registry: service: want a name" in caught.value.message
        assert store.asked["watch"] == 0

    run(test)
    assert caplog.text.count("service: want a name") == 1


def test_a_server_of_etcd_that_answers_nothing_leaves_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trunkcall.registry.etcd.ANSWERS_WITHIN", 1.0)
    hasten(monkeypatch)

    async def test() -> None:
        asked = asyncio.Event()

        async def other(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"\r\n\r\n")
            asked.set()

        async with black_hole() as hole, listener(other) as good:
            for hosts in ((hole, good), (good, hole)):
                asked.clear()
                async with finding(Etcd(hosts)) as client:
                    calling = asyncio.ensure_future(client.call(WHO, b"", wait_for_ready=True))
                    await asked.wait()
                    calling.cancel()

    run(test)


def test_a_session_of_zookeeper_ends_when_its_event_loop_has(monkeypatch: pytest.MonkeyPatch) -> None:
    ended = threading.Event()

    class Silent:
        def __init__(self, *hosts: str, **options: object) -> None:
            pass

        def stop(self) -> None:
            pass

        def close(self) -> None:
            ended.set()

    monkeypatch.setattr(zookeeper, "KazooClient", Silent)

    async def test() -> None:
        store = zookeeper.ZooKeeper(["127.0.0.1:1"])
        zookeeper._Session(store.place, {}, patient=True).end_later(0.05)

    run(test)
    assert ended.wait(60)
