"""Servers that are published as keys of Consul: what is asked of an agent, whatever it answers."""

from __future__ import annotations

import asyncio
import json
import time
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator
from hashlib import sha256
from typing import Any
from urllib.parse import unquote

import pytest

from harness.registries import ConsulKeys, missing
from trunkcall.registry import Record, RegistryError, Written, consul_keys, open_store
from trunkcall.registry.consul import Consul
from trunkcall.registry.consul_agent import Agent
from trunkcall.registry.consul_keys import IN_TRANSACTION, MOST_WRITTEN, KeyKeeping, in_transactions
from trunkcall.registry.place import Place

from ..registry.kit import SERVICE, finding, logged, publish, run, until
from .kit import answering, http

SESSION = "6d0a7c0f-9a35-4fd4-9c6a-0b2b6a6a0a11"


def written(ident: str = "a", port: int = 9, service: str = SERVICE, **more: Any) -> Written:
    record = Record(service=service, id=ident, addresses=(f"127.0.0.1:{port}",), **more)
    return Written(record, record.to_bytes())


def key(ident: str, data: bytes, service: str = SERVICE) -> str:
    return f"root/{service}/{ident}/{sha256(data).hexdigest()[:16]}"


class Fake:
    """Answers as an agent that has sessions and keys, and notes what is asked. A test says what it answers instead."""

    def __init__(self) -> None:
        self.there: list[tuple[str, bytes]] = []
        self.instead: dict[str, bytes] = {}  # by how the path begins
        self.asked: list[str] = []  # paths
        self.bodies: dict[str, Any] = {}  # the last of each path
        self.transactions: list[Any] = []
        self.time = 0.0  # seconds

    def __call__(self, path: str, body: bytes) -> bytes:
        self.asked.append(path)
        self.bodies[path] = json.loads(body or b"null")
        for begin, answer in self.instead.items():
            if path.startswith(begin):
                if not answer:
                    raise ConnectionError
                return answer
        if path == "/v1/session/create":
            return http(json.dumps({"ID": SESSION}).encode())
        if path.startswith(INFO):
            return http(b"[]")
        if path == "/v1/txn":
            self.transactions.append(self.bodies[path])
            self.there = [
                (one["Key"], b64decode(one["Value"]))
                for one in (operation["KV"] for operation in self.bodies[path])
                if one["Verb"] == "lock"
            ]
            return http(b'{"Results":[],"Errors":null}')
        if path.startswith("/v1/kv/"):
            prefix = unquote(path.partition("?")[0]).removeprefix("/v1/kv/")
            found = [
                {"LockIndex": 0, "Key": one, "Flags": 0, "Value": b64encode(data).decode(), "ModifyIndex": 40 + number}
                for number, (one, data) in enumerate(self.there)
                if one.startswith(prefix)
            ]
            return http(json.dumps(found).encode()) if found else http(b"", "404 Not Found")
        return http(b"[{}]")


def keeping(
    fake: Fake, test: Any, *records: Written, lease: int = 15, clock: Callable[[], float] = time.monotonic
) -> None:
    async def carry_out() -> None:
        async with answering(fake) as address, Agent(address, None, "") as agent:
            await test(KeyKeeping(agent, Place((address,), "root", lease), records or [written()], clock))

    run(carry_out)


@pytest.mark.parametrize(("lease", "ttl"), [(9, "10s"), (15, "10s"), (20, "10s"), (21, "11s"), (3600, "1800s")])
def test_a_session_holds_a_record_from_being_written_until_it_is_withdrawn(lease: int, ttl: str) -> None:
    fake, one = Fake(), written()

    async def test(kept: KeyKeeping) -> None:
        await kept.put()
        await kept.renew()
        await kept.withdraw()

    keeping(fake, test, one, lease=lease)
    looks = f"/v1/kv/root/{SERVICE}/a/?recurse&consistent"
    begins, renews, ends = "/v1/session/create", f"/v1/session/renew/{SESSION}", f"/v1/session/destroy/{SESSION}"
    assert fake.asked == [looks, begins, "/v1/txn", renews, looks, ends]
    assert fake.bodies[begins] == {
        "Name": "trunkcall",
        "Behavior": "delete",
        "LockDelay": "1ms",
        "TTL": ttl,
        "NodeChecks": [],
        "Checks": [],
    }
    lock = {"Verb": "lock", "Key": key("a", one.data), "Value": b64encode(one.data).decode(), "Session": SESSION}
    assert fake.transactions == [[{"KV": lock}]]


def test_what_stands_under_an_id_is_replaced_and_what_lies_beside_it_is_left() -> None:
    fake, one, other = Fake(), written(), written(port=10).data
    rubbish = [key("a", b"rubbish"), f"root/{SERVICE}/a/0000000000000000", key("a", one.data)]
    beside = [f"root/{SERVICE}/a/x", f"root/{SERVICE}/a/b/0000000000000000", f"root/{SERVICE}/a/"]
    fake.there = [*((where, b"rubbish") for where in rubbish[:1]), (rubbish[1], other), (rubbish[2], one.data)]
    fake.there += [(where, other) for where in beside]

    async def test(kept: KeyKeeping) -> None:
        await kept.put()

    keeping(fake, test, one)
    ((*deleted, locked),) = fake.transactions
    assert [each["KV"] for each in deleted] == [
        {"Verb": "delete-cas", "Key": where, "Index": 40 + number} for number, where in enumerate(rubbish)
    ]
    assert locked["KV"]["Key"] == rubbish[2]


def test_another_server_s_record_stays() -> None:
    fake, other = Fake(), written(port=10).data
    fake.there = [(f"root/{SERVICE}/a/0000000000000000", other), (key("a", other), other)]

    async def test(kept: KeyKeeping) -> None:
        with pytest.raises(RegistryError, match=f"^{SERVICE}/a: another server is published under this id, at 127.*10"):
            await kept.put()
        await kept.withdraw()

    keeping(fake, test)
    assert len(fake.asked) == 1  # no session was made for it


OTHER = written(port=10).data
OWN = written().data
GONE = "was removed, or written by somebody else"


@pytest.mark.parametrize(
    ("there", "text"),
    [
        ([], GONE),
        ([(key("a", OWN), b"rubbish")], GONE),
        ([(f"root/{SERVICE}/a/0000000000000000", OWN)], GONE),
        ([(f"root/{SERVICE}/a/0000000000000000", b"rubbish"), (key("a", OWN), OWN)], GONE),  # which counts
        ([(key("a", b"rubbish"), b"rubbish"), (key("a", OWN), OWN)], GONE),
        (
            [(key("a", OTHER), OTHER), (key("a", OWN), OWN)],
            "another server is published under this id, at 127.0.0.1:10",
        ),
        ([(key("a", OWN), OWN), (key("a", OTHER), OTHER)], ""),
        ([(f"root/{SERVICE}/a/", b""), (key("a", OWN), OWN)], ""),
    ],
)
def test_a_record_is_lost_if_it_is_not_what_counts(there: list[tuple[str, bytes]], text: str) -> None:
    fake = Fake()

    async def test(kept: KeyKeeping) -> None:
        await kept.put()
        fake.there = there
        if text:
            with pytest.raises(RegistryError, match=text):
                await kept.renew()
        else:
            await kept.renew()

    keeping(fake, test)


def refused(*said: Any) -> bytes:
    errors = [{"OpIndex": number, "What": one} for number, one in enumerate(said)]
    return http(json.dumps({"Results": None, "Errors": errors}).encode(), "409 Conflict")


PAIR = {"Key": key("a", OTHER), "Value": "", "ModifyIndex": 1}
LOOK, CREATE, TXN, RENEW, DESTROY = "/v1/kv/", "/v1/session/create", "/v1/txn", "/v1/session/renew", "/v1/session/destr"
INFO = "/v1/session/info/"
FORBIDDEN = http(b"Permission denied", "403 Forbidden")


@pytest.mark.parametrize(
    ("what", "answer", "text"),
    [
        *((what, FORBIDDEN, "answered 403: Permission denied") for what in (LOOK, CREATE, TXN, RENEW, DESTROY)),
        *((what, b"", "has closed the connection") for what in (LOOK, CREATE, TXN, RENEW, DESTROY)),
        *((what, http(b"{", "500 Error"), "answered 500: {") for what in (LOOK, CREATE, TXN, RENEW, DESTROY)),
        (LOOK, http(b"{}"), "another form than it should: TypeError: dict is no list"),
        (LOOK, http(b"[{"), "answered what is no JSON"),
        (LOOK, http(b"[3]"), "another form than it should: TypeError"),
        (LOOK, http(json.dumps([{**PAIR, "Value": "?"}]).encode()), "another form than it should: Error"),
        (LOOK, http(json.dumps([{**PAIR, "ModifyIndex": None}]).encode()), "its index no number"),
        (CREATE, http(b""), "answered what is no JSON"),
        (CREATE, http(b"[]"), "another form than it should: TypeError"),
        (CREATE, http(b"{}"), "another form than it should: KeyError: 'ID'"),
        (CREATE, http(b'{"ID":3}'), "another form than it should: TypeError"),
        (CREATE, http(b'{"ID":""}'), "another form than it should: ValueError: the session ''"),
        (CREATE, http(b'{"ID":"../x"}'), "another form than it should: ValueError: the session '../x'"),
        (TXN, refused("no such index", 7), f"Consul refuses to write {key('a', OWN)}: no such index: 7"),
        (TXN, refused(), f"Consul refuses to write {key('a', OWN)}"),
        (TXN, http(b"no", "409 Conflict"), "answered what is no JSON"),
        (TXN, http(b"{}", "409 Conflict"), "another form than it should: KeyError: 'Errors'"),
        (TXN, http(b'{"Errors":[3]}', "409 Conflict"), "another form than it should: TypeError"),
        (TXN, http(b"too large", "413 Too Large"), "answered 413: too large"),
        (RENEW, http(b"no session", "404 Not Found"), "the session is over"),
    ],
)
def test_what_an_agent_refuses_or_answers_otherwise_is_told(what: str, answer: bytes, text: str) -> None:
    fake = Fake()
    fake.instead = {what: answer}

    async def test(kept: KeyKeeping) -> None:
        with pytest.raises((RegistryError, OSError)) as failed:
            await kept.put()
            fake.time += 20  # which is the session's
            await kept.renew()
            await kept.withdraw()
        assert text in str(failed.value)

    keeping(fake, test, clock=lambda: fake.time)


@pytest.mark.parametrize("what", [RENEW, LOOK])
def test_a_session_outlives_what_keeps_consul_from_answering(what: str) -> None:
    fake, no_leader = Fake(), http(b"No cluster leader", "500 Internal Server Error")

    async def test(kept: KeyKeeping) -> None:
        await kept.put()
        for _ in range(3):
            fake.time += 35
            fake.instead = {what: no_leader}
            assert await kept.renew() == 4
            fake.instead = {}
            assert await kept.renew() == 12
        fake.instead = {what: no_leader}
        fake.time += 36
        with pytest.raises(RegistryError, match="answered 500: No cluster leader"):
            await kept.renew()

    keeping(fake, test, lease=36, clock=lambda: fake.time)
    assert len(fake.transactions) == 1


def test_what_an_agent_says_of_consul_s_past_is_no_loss() -> None:
    fake = Fake()
    past = {RENEW: http(b"no session", "404 Not Found"), INFO: http(b'[{"ID":"one"}]')}

    async def test(kept: KeyKeeping) -> None:
        await kept.put()
        fake.instead = past
        assert await kept.renew() < 5  # it is no success
        fake.instead = {}
        assert await kept.renew() == 5

    keeping(fake, test)
    assert f"{INFO}{SESSION}?consistent" in fake.asked


def test_many_records_are_looked_at_in_turns() -> None:
    fake, records = Fake(), [written(ident) for ident in "abc"]
    slow = fake.__call__

    def answer(path: str, body: bytes) -> bytes:
        fake.time += 3
        return slow(path, body)

    async def test() -> None:
        async with answering(answer) as address, Agent(address, None, "") as agent:
            kept = KeyKeeping(agent, Place((address,), "root", 15), records, lambda: fake.time)
            await kept.put()
            fake.asked.clear()
            for _ in range(3):
                assert await kept.renew() == 5

    run(test)
    looked = [path[len(LOOK) :].split("/")[2] for path in fake.asked if path.startswith(LOOK)]
    assert looked == ["a", "b", "c"] and len(fake.asked) == 6


def test_who_is_stopped_while_it_writes_withdraws() -> None:
    fake = Fake()

    async def test() -> None:
        writes, answered = asyncio.Event(), asyncio.Event()

        async def never(self: KeyKeeping, operations: Any) -> None:
            writes.set()
            await answered.wait()

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(KeyKeeping, "_commit", never)
            async with answering(fake) as address:
                kept = asyncio.create_task(Consul(address, root="root").keep([written()], lambda: None))
                await writes.wait()
                kept.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await kept
        assert fake.asked[-1] == f"/v1/session/destroy/{SESSION}"

    run(test)


@pytest.mark.parametrize(
    ("what", "answer", "text"),
    [(TXN, FORBIDDEN, "answered 403"), (RENEW, http(b"no session", "404 Not Found"), "the session is over")],
)
def test_after_a_failure_nothing_is_withdrawn(what: str, answer: bytes, text: str) -> None:
    fake = Fake()
    fake.instead = {what: answer}
    published: list[bool] = []

    async def test() -> None:
        async with answering(fake) as address:
            with pytest.raises(RegistryError, match=text):
                await Consul(address, root="root", lease=3).keep([written()], lambda: published.append(True))

    run(test)
    assert published == ([True] if what == RENEW else [])
    assert not any(one.startswith(DESTROY) for one in fake.asked)


def test_transactions_are_as_long_as_they_may_be() -> None:
    def group(deletes: int, value: str = "") -> list[dict[str, Any]]:
        return [*({"KV": {"Index": one}} for one in range(deletes)), {"KV": {"Value": value}}]

    groups = [group(1) for _ in range(20)] + [group(0), group(70), group(2)]
    found = list(in_transactions(groups))
    assert [each for one in found for each in one] == [each for one in groups for each in one]
    assert [len(one) for one in found] == [IN_TRANSACTION, 11, 30, 30, 11 + 3]
    long = [group(1, "x" * (MOST_WRITTEN // 3)) for _ in range(5)]
    assert [len(one) for one in in_transactions(long)] == [6, 4]
    assert list(in_transactions([])) == []


@pytest.fixture(scope="module")
def consul() -> Iterator[ConsulKeys]:
    if why := missing("consul-keys"):
        pytest.skip(f"consul is left out: {why}")
    with ConsulKeys("root") as server:
        yield server


@pytest.fixture
def server(consul: ConsulKeys) -> ConsulKeys:
    consul.empty()
    return consul


def test_consul_takes_as_many_and_as_long_records_as_there_may_be(server: ConsulKeys) -> None:
    attributes = {f"attribute-{number}": "x" * 1000 for number in range(15)}
    services = [f"{SERVICE}{number}" for number in range(70)]

    async def test() -> None:
        store = open_store(server.name)
        records: list[Written] = []
        for port in (9, 10):  # the second time in place of what the first has left
            before = [key("a", one.data, one.record.service) for one in records]
            records = [written(port=port, service=one, attributes=attributes) for one in services]
            there = asyncio.Event()
            for where in before:
                await asyncio.to_thread(server.ask, "PUT", f"kv/{where}", b"rubbish")
            kept = asyncio.create_task(store.keep(records, there.set))
            done, _ = await asyncio.wait(
                [kept, waiting := asyncio.create_task(there.wait())], return_when="FIRST_COMPLETED"
            )
            assert waiting in done, kept.exception()
            for one in records:
                assert await asyncio.to_thread(server.entries, one.record.service) == {"a": one.data}
            kept.cancel()
            await asyncio.wait([kept])
        assert not await asyncio.to_thread(server.entries, services[0])

    run(test)


def test_more_rubbish_under_an_id_than_a_transaction_takes_is_replaced(server: ConsulKeys) -> None:
    async def test() -> None:
        for number in range(70):
            await asyncio.to_thread(server.ask, "PUT", f"kv/root/{SERVICE}/first/{number:016x}", b"rubbish")
        await asyncio.to_thread(server.ask, "PUT", f"kv/root/{SERVICE}/first/x", b"rubbish")
        first = await publish(open_store(server.name), "first")
        ((ident, data),) = (await asyncio.to_thread(server.entries, SERVICE)).items()
        assert ident == "first" and data != b"rubbish"
        await first.stop()
        found = await asyncio.to_thread(server.ask, "GET", f"kv/root/{SERVICE}/?keys")
        assert found == [f"root/{SERVICE}/first/x"]

    run(test)


def test_rubbish_in_front_of_a_record_is_replaced(server: ConsulKeys, caplog: pytest.LogCaptureFixture) -> None:
    async def test() -> None:
        store = open_store(server.name_at(server.address, lease=3))
        first = await publish(store, "first")
        rubbish = f"kv/root/{SERVICE}/first/0000000000000000"
        await asyncio.to_thread(server.ask, "PUT", rubbish, b"rubbish")
        await logged(caplog, GONE)
        async with finding(store) as client:
            await until(client, "first")
        assert await asyncio.to_thread(server.ask, "GET", rubbish, none="none") == "none"
        await first.stop()

    run(test)


def test_a_session_outlives_consul_itself(server: ConsulKeys, monkeypatch: pytest.MonkeyPatch) -> None:
    renewed: asyncio.Queue[None] = asyncio.Queue()
    lost = KeyKeeping._lost

    async def looked(self: KeyKeeping, *given: float) -> str:
        found = await lost(self, *given)
        renewed.put_nowait(None)
        return found

    monkeypatch.setattr(KeyKeeping, "_lost", looked)
    monkeypatch.setattr(consul_keys, "UNTIL_OVER", 1000)  # however long it takes to start

    async def test() -> None:
        first = await publish(open_store(server.name_at(server.address, lease=3)), "first")
        (before,) = await asyncio.to_thread(server.ask, "GET", server.key(SERVICE, "first") + "?recurse")
        server.kill()
        await asyncio.to_thread(server.start)
        while not renewed.empty():
            renewed.get_nowait()
        for _ in range(2):  # the second of which was begun behind that
            await renewed.get()
        (after,) = await asyncio.to_thread(server.ask, "GET", server.key(SERVICE, "first") + "?recurse")
        assert after == before
        await first.stop()

    run(test)


@pytest.mark.parametrize("ident", ["\u00e9", "a b", "%2f", "a?b#c", '"', "a//b", "../x", "x" * 200])
def test_whatever_a_name_is_nobody_is_hidden(server: ConsulKeys, caplog: pytest.LogCaptureFixture, ident: str) -> None:
    name = f"{ident}/0123456789abcdef"
    operation = {"Verb": "set", "Key": f"root/{SERVICE}/{name}", "Value": ""}

    async def test() -> None:
        store = open_store(server.name)
        await asyncio.to_thread(server.ask, "PUT", "txn", [{"KV": operation}])
        first = await publish(store, "first")
        async with finding(store) as client:
            await until(client, "first")
        await first.stop()

    run(test)
    assert f"{SERVICE}/consul:{name}: the key {name} is not that of a record there" in caplog.text
