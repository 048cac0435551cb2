"""spec/vectors/registry.json, replayed as spec/vectors/README.md says."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from trunkcall import Endpoint
from trunkcall.registry import Embedded, Entry, Folder, InvalidRecord, Record, Registrar, open_registry, parse, srv
from trunkcall.registry.consul_listing import Listing
from trunkcall.registry.record import parse_at
from trunkcall.registry.srv import SRV
from trunkcall.registry.view import View

VECTORS = json.loads((Path(__file__).parents[3] / "spec/vectors/registry.json").read_text(encoding="utf-8"))


def cases(group: str) -> pytest.MarkDecorator:
    """Those of a group."""
    return pytest.mark.parametrize("case", VECTORS[group], ids=lambda case: case["id"])


def endpoint(told: dict[str, Any]) -> Endpoint:
    return Endpoint(*told["addresses"], **{name: value for name, value in told.items() if name != "addresses"})


def told(error: BaseException, want: str) -> bool:
    return str(error) == want or str(error).startswith(f"{want}: ")


@cases("records")
def test_records(case: dict[str, Any]) -> None:
    record = parse(case["input"].encode())
    assert record == Record(**{**case["record"], "addresses": tuple(case["record"]["addresses"])})
    assert record.to_bytes().decode() == case["written"]
    assert record.endpoint == endpoint(case["endpoint"])


@cases("bad_records")
def test_bad_records(case: dict[str, Any]) -> None:
    data = bytes.fromhex(case["hex"]) if "hex" in case else case["input"].encode()
    with pytest.raises(InvalidRecord) as failure:
        parse_at(case["service"], case["key"], data)
    assert told(failure.value, case["error"]), failure.value


@cases("registries")
def test_registries(case: dict[str, Any]) -> None:
    source = open_registry(case["name"])
    if case["scheme"] == "file":
        assert isinstance(source, Folder) and str(source.path) == case["rest"]
    elif case["scheme"] == "srv":
        assert isinstance(source, SRV) and source.domain == case["rest"]
    else:
        assert isinstance(source, Embedded) and source.address == case["rest"]


@cases("bad_registries")
def test_bad_registries(case: dict[str, Any]) -> None:
    with pytest.raises(ValueError) as failure:
        open_registry(case["name"])
    assert told(failure.value, case["error"]), failure.value


def test_the_schemes_that_there_are_stand_behind_one_that_is_not() -> None:
    with pytest.raises(
        ValueError, match='"foo" is in this program: there are consul, etcd, file, srv, trunkcall, zookeeper'
    ):
        open_registry("foo:bar")


def published(given: dict[str, Any]) -> list[str]:
    said: dict[str, Any] = {name: given[name] for name in ("names", "addresses", "id") if name in given}
    registrar = Registrar(Folder("/"), **said, **given.get("record", {}))
    return [one.data.decode() for one in registrar.records(given["services"], given["listening"])]


@cases("published")
def test_published(case: dict[str, Any]) -> None:
    assert published(case["given"]) == case["records"]


@cases("bad_published")
def test_bad_published(case: dict[str, Any]) -> None:
    with pytest.raises(ValueError) as failure:
        published(case["given"])
    assert told(failure.value, case["error"]), failure.value


@cases("srv")
def test_srv(case: dict[str, Any]) -> None:
    assert srv.question(case["service"], case["domain"]) == case["question"]
    found = srv.entries(case["service"], [srv.Answer(**one) for one in case["answers"]])
    assert {one.id: one.data.decode() for one in found} == case["entries"]


@pytest.mark.parametrize("together", [False, True])
@cases("listings")
def test_listings(case: dict[str, Any], together: bool) -> None:
    listing = Listing()
    for step, want in zip(case["steps"], case["told"], strict=True):
        listing.begin()
        parts = [step["names"]] if together else [[one] for one in step["names"]]
        asked = [name for part in parts for name in listing.take(part)]
        for name in asked:
            if name in step["records"]:
                listing.put(name, step["records"][name].encode())
        first = not listing.begun
        came, went = listing.end()
        assert not first or not went
        data = {one.id: one.data.decode() for one in came}
        changes = {"all": data} if first else {"came": data, "went": sorted(went)}
        assert {"asked": asked, "spoilt": sorted(one.id for one in came if one.fault), **changes} == want


def in_ms(at: float) -> int:
    return round(at * 1000)


def counted(one: dict[str, Any]) -> str:
    """A telling that has no text of its own."""
    return "again" if "again" in one else next(f"{what} {one[what]}" for what in ("more", "kept") if what in one)


@cases("watches")
def test_watches(case: dict[str, Any]) -> None:
    handed: list[tuple[int, list[Endpoint]]] = []
    tells: list[tuple[int, str, str]] = []

    def left_out(at: float, left: list[tuple[Entry, str]], more: int) -> None:
        tells.extend((in_ms(at), entry.id, why) for entry, why in left)
        if more:
            tells.append((in_ms(at), "", f"more {more}"))

    view = View(
        case["service"],
        lambda at, found: handed.append((in_ms(at), found)),
        left_out,
        lambda at, why: tells.append((in_ms(at), "", why)),
        lambda at: tells.append((in_ms(at), "", "again")),
        lambda at, kept: tells.append((in_ms(at), "", f"kept {kept}")),
    )

    def until(end: float) -> None:
        while (due := view.due) is not None and due <= end + 1e-9:
            view.compute(due)

    def entries(texts: dict[str, str]) -> list[Entry]:
        return [Entry(ident, text.encode()) for ident, text in texts.items()]

    for step in case["steps"]:
        at = step["at"] / 1000
        until(at)
        if "failed" in step:
            view.fail(at, step["failed"])
        elif "all" in step:
            view.all(at, entries(step["all"]))
        else:
            view.change(at, entries(step.get("came", {})), step.get("went", []))
    until(case["until"] / 1000)
    assert handed == [(one["at"], [endpoint(e) for e in one["set"]]) for one in case["handed"]]
    assert [(at, ident) for at, ident, _ in tells] == [(one["at"], one.get("id", "")) for one in case["told"]]
    for (_, _, text), one in zip(tells, case["told"], strict=True):
        assert told(ValueError(text), one.get("text") or one.get("failed") or counted(one))
    assert view.reason == case["reason"]


def test_spoilt_records_have_a_stated_error() -> None:
    """Good records, spoilt at random by the thousand: read as what is written the same way again, or refused."""
    draw = random.Random(7)
    good = [case["input"].encode() for case in VECTORS["records"]] + [
        b'{"addresses":["a:1"],"id":"a","service":"b"}'
    ] * 20
    refused = 0
    for _ in range(5_000):
        data = bytearray(draw.choice(good))
        for _ in range(draw.randint(1, 3)):
            place = draw.randrange(len(data))
            match draw.randrange(4):
                case 0:
                    del data[place:]
                    data += b"{"
                case 1:
                    data[place] = draw.randrange(256)
                case 2:
                    data[place:place] = draw.choice([b'"', b"{", b"[", b"\\", b"0", b"null", b'"id":"a",'])
                case _:
                    del data[place : place + draw.randint(1, 9)]
                    data += b"}"
        try:
            record = parse(bytes(data))
        except InvalidRecord:
            refused += 1
        else:
            assert parse(record.to_bytes()) == record
    assert refused > 1_000
