"""The embedded registry, served in this process: what its servers and clients see of it."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import pytest

import trunkcall
from trunkcall import Client, Code, Limits, ServerCall, StatusError
from trunkcall.registry import Embedded, Registrar, serve
from trunkcall.registry import Server as RegistryServer
from trunkcall.registry.embedded import ALL, CHANGE, PARTIAL, PUBLISH, WATCH
from trunkcall.registry.store import RegistryError, why_failed
from trunkcall.registry.v1.registry_pb2 import Entry, PublishAnswer, PublishRequest, WatchAnswer, WatchRequest

from .kit import SERVICE, WHO, calling, finding, hasten, logged, made, process, publish, run, until


class Serving:
    """A registry that can be ended, and started again at the same address."""

    def __init__(self) -> None:
        self.address = "127.0.0.1:0"
        self._task: asyncio.Task[None] | None = None

    async def start(self, **options: Any) -> None:
        listening: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._task = asyncio.create_task(serve(self.address, listening=listening.set_result, **options))
        either: list[asyncio.Future[Any]] = [self._task, listening]
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        if self._task.done():
            self._task.result()
        self.address = await listening

    async def end(self) -> None:
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.wait([task])
            assert task.cancelled()

    @property
    def store(self) -> Embedded:
        return Embedded(self.address)


@contextlib.asynccontextmanager
async def serving(**options: Any) -> AsyncIterator[Serving]:
    kept = Serving()
    await kept.start(**options)
    try:
        yield kept
    finally:
        await kept.end()


def record(ident: str, more: str = "") -> bytes:
    return f'{{"addresses":["127.0.0.1:9"],{more}"id":"{ident}","service":"{SERVICE}"}}'.encode()


def test_servers_come_and_go_while_calls_go_on() -> None:
    async def test() -> None:
        async with serving() as kept:
            first = await publish(kept.store, "first")
            async with finding(kept.store) as client:
                await until(client, "first")
                async with calling(client):
                    second = await publish(kept.store, "second")
                    await until(client, "first", "second")
                    await first.stop()
                    await until(client, "second")
                    first = await publish(kept.store, "first")
                    await until(client, "first", "second")
                    await second.stop()
                    await until(client, "first")
            await first.stop()

    run(test)


def test_a_killed_process_is_forgotten_at_once() -> None:
    async def test() -> None:
        async with serving(lease=3600) as kept:
            stays = await publish(kept.store, "stays")
            async with finding(kept.store) as client:
                starting = process(f"trunkcall:{kept.address}", "killed")
                killed = await asyncio.to_thread(starting.__enter__)
                try:
                    await until(client, "stays", "killed")
                    os.kill(killed.pid, signal.SIGKILL)
                    while len(client.endpoints) > 1:  # noqa: ASYNC110  # nothing tells of it
                        await asyncio.sleep(0.005)
                finally:
                    starting.__exit__(None, None, None)
            await stays.stop()

    run(test)


def test_a_stopped_process_is_forgotten_after_its_lease() -> None:
    async def test() -> None:
        async with serving(lease=1) as kept, Client(kept.address) as client:
            stream = client.open(PUBLISH, timeout=None)
            await stream.send(PublishRequest(records=[record("still")]))
            assert await stream.receive() == PublishAnswer(lease_ms=1000)
            with pytest.raises(StatusError, match="not renewed for 1000 ms") as failure:
                await stream.receive()  # nothing is sent
            assert failure.value.code is Code.ABORTED

    run(test)


def test_what_is_asked_wrongly_is_refused() -> None:
    async def test() -> None:
        async with serving() as kept, Client(kept.address) as client:
            for requests, text in (
                ([], "records: want 1 to 128"),
                ([[b"{}"]], "records\\[0\\]: addresses: want"),
                ([[record("a")], [record("a")]], "records: want none in a renewal"),
            ):
                stream = client.open(PUBLISH)
                for one in requests:
                    await stream.send(PublishRequest(records=one))
                await stream.half_close()
                with pytest.raises(StatusError, match=text) as failure:
                    while await stream.receive() is not None:
                        pass
                assert failure.value.code is Code.INVALID_ARGUMENT
            with pytest.raises(StatusError, match="service: want a name"):
                await client.open(WATCH, WatchRequest(service="a b")).receive()

    run(test)


def test_the_second_server_under_an_id_is_refused(caplog: pytest.LogCaptureFixture) -> None:
    async def test() -> None:
        async with serving() as kept:
            first = await publish(kept.store, "same")
            second = made("second", Registrar(kept.store, id="same"))
            await second.listen("127.0.0.1:0")
            await logged(caplog, f"{SERVICE}/same: another server is published under this id, at {first.addresses[0]}")
            async with finding(kept.store) as client:
                await until(client, "same")
                await first.stop()
                await until(client, "second")
            await second.stop()

    run(test)


def test_what_is_large_is_split() -> None:
    async def test() -> None:
        async with serving() as kept, Client(kept.address) as client:
            want: set[str] = set()
            streams: list[Any] = []
            for part in range(24):
                idents = [f"n{part}-{number}" for number in range(100)]
                want.update(idents)
                padding = f'"attributes":{{"a":"{"x" * 500}"}},'
                streams.append(client.open(PUBLISH))
                await streams[-1].send(PublishRequest(records=[record(ident, padding) for ident in idents]))
                await streams[-1].receive()
            watch = client.open(WATCH, WatchRequest(service=SERVICE))
            more = True
            while more:
                one = await watch.receive()
                assert one is not None and one.kind == PARTIAL
                assert len(one.came) <= 1000 and sum(len(entry.record) for entry in one.came) <= 256 << 10
                want -= {entry.id for entry in one.came}
                more = one.more
            assert not want
            watch.cancel()
            for stream in streams:
                stream.cancel()

    run(test)


def test_the_registry_may_go_and_come_back(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    hasten(monkeypatch)

    async def test() -> None:
        state = tmp_path / "state"
        async with serving(state=state) as kept:
            servers = [await publish(kept.store, "first"), await publish(kept.store, "second")]
            async with finding(kept.store) as client:
                await until(client, "first", "second")
                async with calling(client):
                    await kept.end()
                    await until(client, "first", "second")
                    for content in (b"", b"\0 rubbish", b"trunkcall registry 1\n" + record("half")):
                        state.write_bytes(content)
                        caplog.clear()
                        await kept.start(state=state)
                        await logged(caplog, f"{state}:")
                        async with finding(kept.store) as another:
                            await until(another, "first", "second")  # they have published again
                        await until(client, "first", "second")
                        await kept.end()
            # What the file has is known at once, while nobody has published.
            assert [line[:2] for line in state.read_text().splitlines()] == ["tr", '{"', '{"', "en"]
            for server in servers:
                await server.close()
            await kept.start(state=state)
            async with Client(kept.address) as raw:
                watch = raw.open(WATCH, WatchRequest(service=SERVICE))
                one = await watch.receive()
                assert one is not None and one.kind == ALL
                assert [entry.id for entry in one.came] == ["first", "second"]
                watch.cancel()

    run(test)


def test_that_the_registry_is_away_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "trunkcall")

    async def test() -> None:
        async with serving() as kept:
            address = kept.address  # where nobody listens soon
        async with finding(Embedded(address)) as client:
            for _ in range(2):
                with pytest.raises(StatusError) as failure:
                    await client.call(WHO, b"", timeout=60)
                reason = f"watching {SERVICE}: cannot reach {address}: "
                assert failure.value.message.startswith(f"resolver registry: {reason}"), failure.value
                assert str(failure.value).count("(not sent)") == 1, failure.value
                assert str(failure.value).count("UNAVAILABLE") == 1, failure.value
        told = [one for one in caplog.messages if "cannot reach" in one]
        assert [one.partition(": cannot")[0] for one in told] == [
            f"target registry:{SERVICE}: resolver registry: watching {SERVICE}"
        ], caplog.messages

    run(test)


def test_of_a_status_its_code_and_message_are_told_unless_it_is_unavailable() -> None:
    for error, text in (
        (StatusError(Code.UNAVAILABLE, "away"), "away"),
        (StatusError(Code.UNAUTHENTICATED, "who"), "UNAUTHENTICATED: who"),
        (RegistryError("silent"), "silent"),
        (OSError("full"), "OSError: full"),
    ):
        assert why_failed(error) == text


def test_a_state_that_cannot_be_is_refused(tmp_path: Path) -> None:
    async def test() -> None:
        for path, text in ((tmp_path, ""), (tmp_path / "none" / "state", ": its folder is not there")):
            with pytest.raises(OSError, match=f"{path}{text}"):
                RegistryServer(state=path)
        for lease in (0.5, 3601.0):
            with pytest.raises(ValueError, match=f"a lease of {lease:g} s: want 1 to 3600"):
                RegistryServer(lease=lease)

    run(test)


@contextlib.asynccontextmanager
async def hostile(answers: Sequence[WatchAnswer]) -> AsyncIterator[Embedded]:
    """A registry that answers as a test says."""

    async def watch(request: WatchRequest, call: ServerCall) -> None:
        for one in answers:
            if not await call.send(one):
                return
        await asyncio.Event().wait()

    async def publish(requests: AsyncIterator[PublishRequest], call: ServerCall) -> None:
        await call.send(PublishAnswer(lease_ms=1))

    async with trunkcall.Server(limits=Limits(calls=8)) as server:
        server.register(WATCH.handler(watch), PUBLISH.handler(publish))
        try:
            yield Embedded(await server.listen("127.0.0.1:0"))
        finally:
            await server.close()


def many(kind: Any, first: Sequence[WatchAnswer] = ()) -> list[WatchAnswer]:
    parts = [[Entry(id=f"n{1000 * part + one}", record=b"{}") for one in range(1000)] for part in range(101)]
    return [*first, *(WatchAnswer(kind=kind, more=True, came=part) for part in parts)]


def entry(ident: str, size: int) -> list[WatchAnswer]:
    return [WatchAnswer(kind=ALL, came=[Entry(id=ident, record=b"x" * size)])]


@pytest.mark.parametrize(
    ("answers", "text"),
    [
        ([WatchAnswer(kind=7)], "of kind 7"),  # type: ignore[arg-type]
        ([WatchAnswer(kind=CHANGE)], "a change ahead"),
        ([WatchAnswer(kind=ALL, more=True), WatchAnswer(kind=CHANGE)], "a change between"),
        (entry("a", 16_385), "a record of 16385"),
        (entry("a/b", 1), "an id of 3 bytes"),
        (many(CHANGE, [WatchAnswer(kind=ALL)]), "at most 100000 of 67108864"),
        (many(ALL), "101000 entries of 202000 bytes"),
    ],
    ids=["kind", "ahead", "between", "size", "id", "changes", "all"],
)
def test_a_hostile_registry_is_a_failure(answers: list[WatchAnswer], text: str) -> None:
    async def test() -> None:
        async with hostile(answers) as store, finding(store) as client:
            while True:
                with pytest.raises(StatusError) as failure:
                    await client.call(WHO, b"", timeout=60)
                if text in failure.value.message:
                    return
                assert f"no instance of {SERVICE}" in failure.value.message
                await asyncio.sleep(0.005)  # it is asked again, not relied on

    run(test)


def test_a_lease_out_of_bounds_is_a_failure(caplog: pytest.LogCaptureFixture) -> None:
    async def test() -> None:
        async with hostile([]) as store:
            server = made("x", Registrar(store))
            await server.listen("127.0.0.1:0")
            await logged(caplog, "a lease of 0.001 s: want 1 to 3600")
            await server.stop()

    run(test)


def test_a_registry_that_hangs_while_a_server_stops_is_told(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("trunkcall.registry.embedded.WITHDRAWS_WITHIN", 0.1)

    async def silent(requests: AsyncIterator[PublishRequest], call: ServerCall) -> AsyncIterator[PublishAnswer]:
        yield PublishAnswer(lease_ms=15_000)
        await asyncio.Event().wait()

    async def test() -> None:
        async with trunkcall.Server() as registry:
            registry.register(PUBLISH.handler(silent))
            store = Embedded(await registry.listen("127.0.0.1:0"))
            server = await publish(store, "x")
            await server.stop()
            await logged(caplog, f"not withdrawn from a registry in order: {SERVICE}/x: not answered for 0.1 s")

    run(test)
    assert "never retrieved" not in caplog.text
