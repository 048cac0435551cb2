"""What is read of Consul's keys: names that anybody may have put there, and the records of those that are new."""

from __future__ import annotations

import asyncio
import json
import random
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator
from hashlib import sha256
from typing import Any
from urllib.parse import unquote

import pytest

from trunkcall.registry import Entry, Record, RegistryError
from trunkcall.registry import consul_keywatch as module
from trunkcall.registry.asking import Answer
from trunkcall.registry.consul import Consul
from trunkcall.registry.consul_agent import Agent
from trunkcall.registry.consul_keywatch import ONE_BY_ONE, KeyLooking, values

from ..registry.kit import SERVICE, run
from .kit import Ended, Watching, answering, failure, http, of_json, spoilt

PREFIX = f"root/{SERVICE}/"
LIST = f"/v1/kv/{PREFIX}?keys&"
ALL = f"/v1/kv/{PREFIX}?recurse&consistent"


def record(ident: str, port: int = 9) -> bytes:
    return Record(service=SERVICE, id=ident, addresses=(f"127.0.0.1:{port}",)).to_bytes()


def name(ident: str, data: bytes) -> str:
    return f"{ident}/{sha256(data).hexdigest()[:16]}"


def pair(key: str, data: bytes | None) -> dict[str, Any]:
    """As Consul writes it."""
    value = None if data is None else b64encode(data).decode()
    return {"LockIndex": 1, "Key": key, "Flags": 0, "Value": value, "Session": "s", "CreateIndex": 3, "ModifyIndex": 3}


class Standing:
    """Answers as an agent does that has keys, and notes what it is asked for."""

    def __init__(self) -> None:
        self.there: dict[str, bytes | None] = {}  # by names
        self.gone: set[str] = set()  # which of them have gone when they are asked for
        self.index = 1
        self.asked: list[str] = []

    def put(self, *idents: str, port: int = 9) -> None:
        for ident in idents:
            self.there[name(ident, record(ident, port))] = record(ident, port)
        self.index += 1

    def __call__(self, path: str, body: bytes) -> bytes:
        self.asked.append(path)
        what, _, how = path.partition("?")
        wanted = unquote(what).removeprefix(f"/v1/kv/{PREFIX}")
        names = sorted(self.there)
        if how.startswith("keys"):
            return self._list([PREFIX + one for one in names])
        if how == "recurse&consistent":
            return self._list([pair(PREFIX + one, self.there[one]) for one in names if one not in self.gone])
        assert how == "raw&consistent"
        return http(b"", "404 Not Found") if wanted in self.gone else http(self.there[wanted] or b"")

    def _list(self, found: list[Any]) -> bytes:
        index = f"X-Consul-Index: {self.index}\r\n"
        text = json.dumps(found, separators=(",", ":")).encode()
        return http(text, more=index) if found else http(b"", "404 Not Found", index)


class Told:
    """A watcher that holds what it is told."""

    def __init__(self) -> None:
        self.there: dict[str, Entry] = {}
        self.times = 0

    def all(self, entries: Iterable[Entry], /) -> None:
        self.there = {one.id: one for one in entries}
        self.times += 1

    def change(self, came: Iterable[Entry], went: Iterable[str], /) -> None:
        for ident in went:
            del self.there[ident]
        self.there |= {one.id: one for one in came}
        self.times += 1

    async def failed(self) -> None:
        raise AssertionError


class Asking:
    """Asks for what there is, once for each call."""

    def __init__(self, agent: Agent) -> None:
        self.told = Told()
        self.index = 0
        self._agent = agent
        self._looking = KeyLooking(PREFIX)

    async def __call__(self) -> Told:
        self.index = await self._looking.ask(self._agent, self.index, self.told)
        return self.told


def asking(test: Callable[[Standing, Asking], Any]) -> None:
    async def carry_out() -> None:
        standing = Standing()
        async with answering(standing) as address, Agent(address, None, "") as agent:
            await test(standing, Asking(agent))

    run(carry_out)


def test_where_there_is_no_key_nobody_is_told_of() -> None:
    async def test(standing: Standing, ask: Asking) -> None:
        told = await ask()
        assert (told.times, told.there) == (1, {})
        standing.put("a")
        await ask()
        assert (told.times, told.there) == (2, {"a": Entry("a", record("a"))})
        standing.there.clear()
        standing.index += 1
        await ask()
        assert (told.times, told.there) == (3, {})
        assert [one for one in standing.asked if one.startswith(LIST)] == [
            f"{LIST}consistent",
            f"{LIST}index=1&wait=60s",
            f"{LIST}index=2&wait=60s",
        ]

    asking(test)


def test_records_are_asked_for_one_by_one_or_if_they_are_many_all_together() -> None:
    async def test(standing: Standing, ask: Asking) -> None:
        few = [f"few-{number}" for number in range(ONE_BY_ONE)]
        standing.put(*few)
        assert set((await ask()).there) == set(few)
        assert len(standing.asked) == 1 + ONE_BY_ONE
        assert all(one.endswith("?raw&consistent") for one in standing.asked[1:])
        standing.asked.clear()
        many = [f"many-{number}" for number in range(ONE_BY_ONE + 1)]
        standing.put(*many)
        told = await ask()
        assert told.there == {one: Entry(one, record(one)) for one in [*few, *many]}
        assert standing.asked == [f"{LIST}index=2&wait=60s", ALL]

    asking(test)


def test_what_is_known_is_not_read_again_and_told_no_more() -> None:
    async def test(standing: Standing, ask: Asking) -> None:
        standing.put("a", "b")
        await ask()
        standing.put()
        standing.asked.clear()
        assert (await ask()).times == 1
        assert standing.asked == [f"{LIST}index=2&wait=60s"]

    asking(test)


@pytest.mark.parametrize("count", [2, ONE_BY_ONE + 2])
def test_of_what_has_gone_by_the_time_nothing_is_told(count: int) -> None:
    async def test(standing: Standing, ask: Asking) -> None:
        idents = [f"one-{number}" for number in range(count)]
        standing.put(*idents)
        standing.gone = {name("one-1", record("one-1"))}
        assert set((await ask()).there) == set(idents) - {"one-1"}
        standing.gone.clear()
        standing.put()
        assert set((await ask()).there) == set(idents)  # asked for again, as it is not known

    asking(test)


@pytest.mark.parametrize("count", [1, ONE_BY_ONE + 1])
def test_rubbish_hides_nobody(count: int) -> None:
    odd = ["a", "a/b/0123456789abcdef", 'quote","', "back\\", "%2f?#&", "\u00e9\u2028", "\x00\x1b", "..", "a//b"]

    async def test(standing: Standing, ask: Asking) -> None:
        good = [f"one-{number}" for number in range(count)]
        standing.put(*good)
        standing.there |= dict.fromkeys(["", *odd], b"x")  # "" is the folder's own, and none
        standing.there["a/0123456789abcdef"] = b"not of its name"
        standing.there["null/e3b0c44298fc1c14"] = None
        long = b"x" * 20_000
        standing.there[name("long", long)] = long
        told = await ask()
        faults = {ident: entry.fault for ident, entry in told.there.items() if ident not in good}
        assert faults == {
            **{f"consul:{one}": f"the key {one} is not that of a record there" for one in odd},
            "a": "the key a/0123456789abcdef is not that of a record there",
            "null": "",  # nothing, which is no record: that is for who reads it
            "long": "record of 20000 bytes, at most 16384",
        }
        assert not any(entry.data for ident, entry in told.there.items() if ident not in [*good, "a"])
        assert [told.there[one].data for one in good] == [record(one) for one in good]
        for one in odd:
            del standing.there[one]
        standing.put()
        assert set((await ask()).there) == {*good, "a", "null", "long"}

    asking(test)


def test_rubbish_between_the_names_of_an_id_does_not_part_them() -> None:
    async def test(standing: Standing, ask: Asking) -> None:
        standing.put("a", port=9)
        standing.put("a", port=10)
        first, second = sorted(standing.there)
        assert first < f"{first}-" < second
        standing.there[f"{first}-"] = b""
        for _ in range(2):  # new, and known
            assert set((await ask()).there) == {"a", f"consul:{first}-"}
            read = [one for one in standing.asked if one.endswith("?raw&consistent")]
            assert read == [f"/v1/kv/{PREFIX}{first}?raw&consistent"]
            standing.put()

    asking(test)


def test_a_list_that_says_nothing_newer_is_not_read() -> None:
    async def test(standing: Standing, ask: Asking) -> None:
        standing.put("a")
        await ask()
        standing.there.clear()  # with the same index
        assert set((await ask()).there) == {"a"} and ask.index == 2
        standing.index = 1  # it goes back
        assert set((await ask()).there) == {"a"} and ask.index == 0
        assert (await ask()).there == {} and standing.asked[-1] == f"{LIST}consistent"

    asking(test)


def test_more_names_than_a_watcher_has_to_do_with_are_refused() -> None:
    async def test(standing: Standing, ask: Asking) -> None:
        standing.there = {f"{number:06}/0123456789abcdef": None for number in range(100_001)}
        with pytest.raises(RegistryError, match="100001 entries"):
            await ask()
        assert len(standing.asked) == 1

    asking(test)


def test_while_many_names_and_records_are_read_the_loop_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    turns = 0
    passed: list[tuple[int, int]] = []  # of what is read at once: how much that is, and the turns meanwhile

    async def others() -> None:
        nonlocal turns
        while True:
            await asyncio.sleep(0)
            turns += 1

    def noting(answer: Answer, begin: bytes) -> Iterator[list[Any]]:
        for some in values(answer, begin):
            before = turns
            yield some
            passed.append((len(some), turns - before))

    async def test(standing: Standing, ask: Asking) -> None:
        idents = [f"one-{number:05}" for number in range(10_000)]
        standing.put(*idents)
        other = asyncio.create_task(others())
        assert list((await ask()).there) == idents
        other.cancel()

    monkeypatch.setattr(module, "values", noting)
    asking(test)
    assert len(passed) > 10 and all(some < 2_500 and meanwhile for some, meanwhile in passed), passed


def test_however_an_answer_is_written_and_cut_the_same_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    seed = random.randrange(1 << 32)
    chance = random.Random(seed)
    odd = ['"', "\\", ",", f',"{PREFIX}', '{"LockIndex":', "}", "]", "[", " ", "\u00e9", "\u2028", "\x00", "x"]

    async def read(found: Any, begin: str) -> list[Any]:
        space, plain = chance.random() < 0.2, chance.random() < 0.5
        text = json.dumps(found, separators=None if space else (",", ":"), ensure_ascii=plain)
        answer = Answer("consul", 200, {}, f" {text}\n".encode())
        return [one for some in values(answer, begin.encode()) for one in some]

    async def test() -> None:
        for _ in range(300):
            monkeypatch.setattr(module, "READ", chance.randrange(200))
            keys = [PREFIX + "".join(chance.choices(odd, k=chance.randrange(6))) for _ in range(chance.randrange(12))]
            assert await read(keys, f'"{PREFIX}') == keys, f"seed {seed}"
            pairs = [pair(key, chance.randbytes(chance.randrange(30))) for key in keys]
            assert await read(pairs, '{"LockIndex":') == pairs, f"seed {seed}"

    run(test)


GOOD = f'"root/{SERVICE}/{name("a", record("a"))}"'


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (http(b"rubbish", "403 Forbidden"), "answered 403: rubbish"),
        (http(b"no leader", "500 Internal Server Error"), "answered 500: no leader"),
        (http(b"not here", "404 Not Found"), "answered without an index"),
        (of_json([], ""), "answered without an index"),
        (of_json([], "X-Consul-Index: x\r\n"), "answered without an index"),
        (of_json(7), "another form than it should: TypeError: int is no list"),
        (of_json({}), "another form than it should: TypeError: dict is no list"),
        (of_json(None), "another form than it should: TypeError: NoneType is no list"),
        (of_json([7]), "another form than it should: AttributeError"),
        (of_json([[]]), "another form than it should: AttributeError"),
        (http(b"", more="X-Consul-Index: 1\r\n"), "answered what is no JSON"),
        (http(b"[" * 100_000, more="X-Consul-Index: 1\r\n"), "answered what is no JSON"),
        (http(b"[" * 100_000 + b"]" * 100_000, more="X-Consul-Index: 1\r\n"), "answered what is no JSON"),
        (http(b"\xff\xfe", more="X-Consul-Index: 1\r\n"), "answered what is no JSON"),
        *(
            (http(one.encode(), more="X-Consul-Index: 1\r\n"), "answered what is no JSON")
            for one in (f"[{GOOD}", f"[{GOOD},]", f"[{GOOD}{GOOD}]", f"[{GOOD}]]", f"[{GOOD}]x", f"[,{GOOD}]", '["]')
        ),
    ],
)
def test_what_is_no_list_of_names_is_told(answer: bytes, text: str) -> None:
    async def test() -> None:
        async with answering(lambda path, body: answer) as address:
            assert text in await failure(f"consul:{address}/root")

    run(test)


MANY = ONE_BY_ONE + 1
ONE = pair(f"{PREFIX}b/0123456789abcdef", b"")


@pytest.mark.parametrize(
    ("count", "answer", "text"),
    [
        (1, http(b"rubbish", "403 Forbidden"), "answered 403: rubbish"),
        (MANY, http(b"rubbish", "403 Forbidden"), "answered 403: rubbish"),
        (1, b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhalf", "does not speak HTTP as it should"),
        (MANY, b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n[{}]", "does not speak HTTP as it should"),
        (MANY, http(b"{}"), "another form than it should: TypeError: dict is no list"),
        (MANY, http(b"[{}]"), "another form than it should: KeyError: 'Key'"),
        (MANY, http(b'["x"]'), "another form than it should: TypeError"),
        (MANY, http(b"[[]]"), "another form than it should: TypeError"),
        (MANY, of_json([{**ONE, "Key": None}]), "a key is no text"),
        (MANY, of_json([{**ONE, "ModifyIndex": "3"}]), "its index no number"),
        (MANY, of_json([{**ONE, "ModifyIndex": 3.5}]), "its index no number"),
        (MANY, of_json([{**ONE, "Value": 3}]), "another form than it should: TypeError"),
        (MANY, of_json([{**ONE, "Value": "?"}]), "another form than it should: Error"),
        (MANY, of_json([{**ONE, "Value": "QQ"}]), "another form than it should: Error: Incorrect padding"),
        (MANY, of_json([{**ONE, "Value": "\u00e9"}]), "another form than it should: ValueError"),
        (MANY, http(b'[{"LockIndex":0'), "answered what is no JSON"),
    ],
)
def test_what_is_no_record_s_answer_is_told(count: int, answer: bytes, text: str) -> None:
    async def test() -> None:
        standing = Standing()
        standing.put(*(f"one-{number}" for number in range(count)))

        def spoiling(path: str, body: bytes) -> bytes:
            return standing(path, body) if "?keys" in path else answer

        async with answering(spoiling, once=True) as address:
            with pytest.raises((RegistryError, OSError), match=text):
                await Consul(address, root="root").watch(SERVICE, Watching())

    run(test)


@pytest.mark.parametrize("count", [1, MANY])
def test_answers_spoilt_anywhere_are_failures(count: int) -> None:
    """Good answers, spoilt at random: read or refused, and nothing else."""
    draw = random.Random(7)

    async def test() -> None:
        ended: dict[str, int] = {}
        for _ in range(300):
            standing = Standing()
            standing.put(*(f"one-{number}" for number in range(count)))
            of_list = draw.random() < 0.5

            def spoiling(path: str, body: bytes, standing: Standing = standing, of_list: bool = of_list) -> bytes:
                good = standing(path, body) if path.startswith((LIST, ALL)) else http(record("one-0"))
                return spoilt(draw, good) if ("?keys" in path) == of_list else good

            async with answering(spoiling, once=True) as address:
                try:
                    await Consul(address, root="root").watch(SERVICE, Watching())
                except (RegistryError, OSError, Ended) as error:
                    ended[type(error).__name__] = ended.get(type(error).__name__, 0) + 1
        assert ended["RegistryError"] > 50 and ended["Ended"], ended

    run(test)
