"""What answers for etcd or Consul and is neither, or has far too much: a stated failure, and nothing is held of it."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Callable
from typing import Any

import pytest

from trunkcall import RAW, Client
from trunkcall.registry import (
    Entry,
    InvalidRecord,
    Record,
    Registrar,
    RegistryError,
    Store,
    Written,
    open_store,
    resolver,
)
from trunkcall.registry.consul import Consul, joined, pieces
from trunkcall.registry.etcd import Etcd
from trunkcall.registry.place import Account, read_place
from trunkcall.registry.zookeeper import ZooKeeper

from ..registry.kit import SERVICE, hasten, logged, made, run
from .kit import Ended, Watching, answering, base64, failure, http, of_json, spoilt

GENERAL: list[tuple[bytes, str]] = [
    (b"", "has closed the connection"),
    (b"SSH-2.0-OpenSSH_9\r\n\r\n", "does not speak HTTP as it should"),
    (b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\nContent-Length: 11\r\n\r\n", "does not speak HTTP as it should"),
    (b"HTTP/1.1 200 OK\r\nX: " + b"x" * 200_000, "does not speak HTTP as it should"),
    (http(b"not here", "404 Not Found"), "answered 404: not here"),
    (http(b"{", more="X-Consul-Index: 1\r\n"), "answered what is no JSON"),
    (http(b"[" * 100_000, more="X-Consul-Index: 1\r\n"), "answered what is no JSON"),
    (http(b"\xff\xfe", more="X-Consul-Index: 1\r\n"), "answered what is no JSON"),
]


@pytest.mark.parametrize(("answer", "text"), GENERAL)
@pytest.mark.parametrize("scheme", ["etcd", "consul"])
def test_what_is_no_registry_is_told(scheme: str, answer: bytes, text: str) -> None:
    async def test() -> None:
        def closing(path: str, body: bytes) -> bytes:
            if not answer:
                raise ConnectionError
            return answer

        async with answering(closing) as address:
            assert text in await failure(f"{scheme}:{address}")

    run(test)


RANGE = {"header": {"revision": "3"}, "kvs": [], "count": "0"}


@pytest.mark.parametrize(
    ("ranged", "watched", "text"),
    [
        ([], {}, "no JSON object"),
        ({"kvs": []}, {}, "another form than it should: KeyError: 'header'"),
        ({"header": {"revision": "x"}}, {}, "another form than it should"),
        ({**RANGE, "kvs": 7}, {}, "another form than it should"),
        ({**RANGE, "kvs": [{"key": "?"}]}, {}, "another form than it should"),
        ({**RANGE, "kvs": [{"key": base64("/z"), "value": 1}]}, {}, "another form than it should"),
        ({**RANGE, "more": True, "kvs": [{"key": base64("/")}]}, {}, "keys that do not ascend"),
        ({**RANGE, "kvs": [{"key": base64("/z\udc80")}, {"key": base64("/z\u00e9")}]}, {}, "no JSON object"),  # they do
        (RANGE, {"error": {"message": "no leader"}}, "ended the watch: {'message': 'no leader'}"),
        (RANGE, {"result": {"canceled": True, "cancel_reason": "why"}}, "etcd has ended the watch: why"),
        (RANGE, {"result": {"compact_revision": "9"}}, "forgotten what changed up to its revision 9"),
        (RANGE, {"result": {"events": [{}]}}, "another form than it should: KeyError: 'kv'"),
        (RANGE, {"result": 1}, "no JSON object"),
        (RANGE, {}, "no JSON object"),
    ],
)
def test_what_etcd_does_not_say_is_told(ranged: Any, watched: Any, text: str) -> None:
    async def test() -> None:
        def answer(path: str, body: bytes) -> bytes:
            return of_json(ranged) if path.endswith("range") else http(json.dumps(watched).encode() + b"\n")

        async with answering(answer) as address:
            assert text in await failure(f"etcd:{address}")

    run(test)


@pytest.mark.parametrize(
    ("found", "more", "text"),
    [
        ([], "", "answered without an index"),
        ([], "X-Consul-Index: -1\r\n", "answered without an index"),
        ([], f"X-Consul-Index: {'9' * 5000}\r\n", "answered without an index"),
        (7, "X-Consul-Index: 1\r\n", "another form than it should"),
        ([{"Service": {}}], "X-Consul-Index: 1\r\n", "another form than it should: KeyError: 'Checks'"),
        ([{"Checks": [], "Service": {"ID": "a", "Meta": 3}}], "X-Consul-Index: 1\r\n", "another form than it should"),
    ],
)
def test_what_consul_does_not_say_is_told(found: Any, more: str, text: str) -> None:
    async def test() -> None:
        async with answering(lambda path, body: of_json(found, more)) as address:
            assert text in await failure(f"consul:{address}")

    run(test)


@pytest.mark.parametrize(
    ("root", "where", "rubbish"),
    [
        (
            "",
            f"/v1/health/service/{SERVICE}?",
            [{"Checks": [], "Service": {"ID": f"{SERVICE}/gone", "Meta": {"trunkcall-0": "{"}}}],
        ),
        ("/root", f"/v1/kv/root/{SERVICE}/?keys&", [f"root/{SERVICE}/gone"]),
    ],
    ids=["consul", "consul-keys"],
)
def test_consul_is_not_asked_for_its_past(
    root: str, where: str, rubbish: Any, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    hasten(monkeypatch)
    # What is asked, the index that is answered, and what; a server that has just been started tells of its past.
    answers: list[tuple[str, str, Any]] = [
        ("consistent", "9", []),
        ("index=9&wait=60s", "3", rubbish),  # which is told of if it is taken
        ("consistent", "12", []),
        ("index=12&wait=60s", "", []),  # a failure
        ("consistent", "2", []),
    ]
    asked: list[str] = []

    def answer(path: str, body: bytes) -> bytes:
        asked.append(path.removeprefix(where))
        _, index, found = answers[min(len(asked), len(answers)) - 1]
        return of_json(found, f"X-Consul-Index: {index}\r\n")

    async def test() -> None:
        async with answering(answer) as address:
            resolvers = {"registry": resolver(open_store(f"consul:{address}{root}"))}
            async with Client(f"registry:{SERVICE}", resolvers=resolvers, codec=RAW) as client:
                connecting = asyncio.create_task(client.connect())  # which has it ask
                while len(asked) <= len(answers):  # noqa: ASYNC110  # nothing tells of it
                    await asyncio.sleep(0.005)
                connecting.cancel()
                await asyncio.wait([connecting])

    run(test)
    assert asked[: len(answers)] == [one for one, _, _ in answers]
    assert "left out" not in caplog.text and "no record" not in caplog.text


@pytest.mark.parametrize(("scheme", "root"), [("etcd", ""), ("zookeeper", ""), ("consul", ""), ("consul", "/root")])
def test_nobody_there_is_told_to_both(
    scheme: str, root: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("trunkcall.registry.zookeeper.REACHED_WITHIN", 1.0)
    hasten(monkeypatch)

    async def test() -> None:
        name = f"{scheme}:127.0.0.1:1{root}?lease=2"
        server = made("x", Registrar(open_store(name)))
        await server.listen("127.0.0.1:0")
        await logged(caplog, f"not published in a registry: {SERVICE}/")
        assert "127.0.0.1" in await failure(name) and "127.0.0.1" in caplog.text
        await server.stop()

    run(test)


RECORD = Record(service=SERVICE, id="a", addresses=("127.0.0.1:9",)).to_bytes()


@pytest.mark.parametrize(
    ("make", "good"),
    [
        (
            lambda address: Etcd([address]),
            {**RANGE, "kvs": [{"key": base64(f"/trunkcall/v1/{SERVICE}/a"), "value": base64(RECORD.decode())}]},
        ),
        (Consul, [{"Checks": [{"Status": "passing"}], "Service": {"ID": f"{SERVICE}/a", "Meta": pieces(RECORD)}}]),
    ],
    ids=["etcd", "consul"],
)
def test_answers_cut_anywhere_are_failures(make: Callable[[str], Store], good: Any) -> None:
    """Good answers, spoilt at random: read or refused, and nothing else."""
    draw = random.Random(7)
    good = of_json(good)

    async def test() -> None:
        ended: dict[str, int] = {}
        for _ in range(300):
            bad = spoilt(draw, good)

            def answer(path: str, body: bytes, bad: bytes = bad) -> bytes:
                return bad

            async with answering(answer, once=True) as address:
                try:
                    await make(address).watch(SERVICE, Watching())
                except (RegistryError, OSError, Ended) as error:
                    ended[type(error).__name__] = ended.get(type(error).__name__, 0) + 1
        assert ended["RegistryError"] > 50 and ended["Ended"], ended

    run(test)


def test_pieces_of_a_record_are_cut_between_characters() -> None:
    for text in ("", "a" * 512, "a" * 513, "€" * 400, "a" + "€" * 5000, "😀" * 4096):
        cut = pieces(text.encode())
        assert all(len(piece.encode()) <= 512 for piece in cut.values())
        assert joined(cut) == text.encode()
    assert joined({"trunkcall-1": "x"}) == b""
    assert joined({"trunkcall-0": "\udc80"}) != b""  # half a character is rubbish, not an error


def test_what_is_held_is_bounded() -> None:
    account = Account()
    assert account.put("a", b"x" * 16_385) == Entry("a", fault="record of 16385 bytes, at most 16384")
    with pytest.raises(RegistryError, match=r"entries of 67[0-9]* bytes, at most 100000 of 67108864"):
        for number in range(5_000):
            account.put(f"n{number}", b"x" * 16_384)
    account = Account()
    with pytest.raises(RegistryError, match="100001 entries"):
        for number in range(100_001):
            account.put(f"n{number}", b"")


@pytest.mark.parametrize("rest", ["", "a", "a:0", "a:65536", "a:1,", "a:1//b", "a:1/-", "a:1?", "a:1?lease=0", "a:1?x"])
def test_what_is_no_place_is_refused(rest: str) -> None:
    with pytest.raises(ValueError):
        read_place(rest)
    for scheme in ("etcd", "zookeeper", "consul"):
        with pytest.raises(ValueError, match=f'registry "{scheme}:.*": want {scheme}:HOST:PORT'):
            open_store(f"{scheme}:{rest}")


def test_what_a_program_gives_wrongly_is_refused() -> None:
    for make in (Etcd, ZooKeeper):
        with pytest.raises(TypeError, match="hosts: want several texts"):
            make("a:1")
        with pytest.raises(ValueError, match="hosts: want 1 to 9"):
            make([])
        with pytest.raises(ValueError, match="root 'a/'"):
            make(["a:1"], root="a/")
    with pytest.raises(ValueError, match="lease 0"):
        Consul("a:1", lease=0)
    for root in ("", "a/"):
        with pytest.raises(ValueError, match=f"root '{root}'"):
            Consul("a:1", root=root)
    assert issubclass(InvalidRecord, ValueError)


@pytest.mark.parametrize(
    ("status", "there", "text"),
    [
        ("404 Not Found", "", "published"),
        ("503 Service Unavailable", {"AggregatedStatus": "critical"}, "published"),
        ("200 OK", {"AggregatedStatus": "passing"}, "another server is published under this id, at 127.0.0.1:10"),
        (
            "429 Too Many Requests",
            {"AggregatedStatus": "warning"},
            "another server is published under this id, at 127.0.0.1:10",
        ),
        ("503 Service Unavailable", "no leader", "answered 503: no leader"),
        ("429 Too Many Requests", "too many connections", "answered 429: too many connections"),
        ("500 Internal Server Error", "no leader", "answered 500: no leader"),
        ("200 OK", {}, "another form than it should: KeyError: 'AggregatedStatus'"),
    ],
)
def test_consul_s_agent_is_asked_what_stands_under_a_key(status: str, there: Any, text: str) -> None:
    record = Record(service=SERVICE, id="a", addresses=("127.0.0.1:9",))
    other = Record(service=SERVICE, id="a", addresses=("127.0.0.1:10",))
    if there and isinstance(there, dict):
        there = {**there, "Service": {"ID": record.key, "Meta": pieces(other.to_bytes())}}
    asked: list[str] = []

    def answer(path: str, body: bytes) -> bytes:
        asked.append(path.partition("?")[0])
        if not path.startswith("/v1/agent/health"):
            return http(b"")
        if isinstance(there, str):
            return http(there.encode(), status)
        return http(json.dumps(there).encode(), status, "Content-Type: application/json\r\n")

    async def test() -> None:
        async with answering(answer) as address:
            said: asyncio.Future[str] = asyncio.get_running_loop().create_future()
            keeping = asyncio.ensure_future(
                Consul(address).keep([Written(record, record.to_bytes())], lambda: said.set_result("published"))
            )
            either: list[asyncio.Future[Any]] = [keeping, said]
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
            if keeping.done():
                assert text in str(keeping.exception())
            else:
                assert text == said.result()
                keeping.cancel()
                await asyncio.wait([keeping])

    run(test)
    assert asked[0] == f"/v1/agent/health/service/id/{SERVICE}/a"
    assert all(one.startswith("/v1/agent/") for one in asked)
