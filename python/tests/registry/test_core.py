"""The core of the embedded registry and its file: the cases of spec/vectors/registry.json, replayed as
spec/vectors/README.md says."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from trunkcall.registry import Entry, Written, parse
from trunkcall.registry.core import MILLISECOND, TICKS, Core, Telling
from trunkcall.registry.state import parse_state, write_state

from .test_vectors import cases


def texts(entries: Iterable[Entry]) -> dict[str, str]:
    return {one.id: one.data.decode() for one in entries}


def written(texts: Iterable[str]) -> list[Written]:
    return [Written(parse(text.encode()), text.encode()) for text in texts]


@cases("cores")
def test_cores(case: dict[str, Any]) -> None:
    names: dict[str, int] = {}  # of calls
    told: list[dict[str, Any]] = []

    def number(name: str) -> int:
        return names.setdefault(name, len(names))

    def tell(call: int, what: Telling) -> None:
        assert core.last is not None
        one: dict[str, Any] = {"at": core.last // MILLISECOND, "to": list(names)[call]}
        if what.error is not None:
            one.update(code=what.error.code.name, text=what.error.message)
        elif what.answered:
            one.update(answered=True)
        elif what.all:
            one["partial" if core.unsure else "all"] = texts(what.came)
        else:
            one.update(came=texts(what.came), went=sorted(what.went))
        told.append(one)

    core = Core(case["lease"] * MILLISECOND, tell)
    for name, most in case["limits"].items():
        setattr(core, name, most)
    now, each = 0, case["lease"] // TICKS

    def until(at: int, stopped: bool) -> None:
        nonlocal now
        for tick in range(now - now % each + each, at + 1, each):
            if not stopped:
                core.time(tick * MILLISECOND)
        now = at
        core.time(at * MILLISECOND)

    for step in case["steps"]:
        until(step["at"], step.get("stopped", False))
        match step:
            case {"publish": records}:
                core.publish(number(step["call"]), [record.encode() for record in records])
            case {"watch": service}:
                core.watch(number(step["call"]), service)
            case {"renew": name}:
                core.renew(number(name))
            case {"end": name}:
                core.end(number(name))
            case {"restore": records}:
                core.restore(written(records), step.get("whole", False))
            case _:
                pass  # time alone
    until(case["until"], False)
    for one, want in zip(told, case["told"], strict=False):
        if "text" in one and one["text"].startswith(f"{want.get('text')}: "):  # a reader's own words follow
            one["text"] = want["text"]
        for empty in ("came", "went"):
            if not one.get(empty):
                one.pop(empty, None)
                want.pop(empty, None)
    assert told == case["told"]


@cases("states")
def test_states(case: dict[str, Any]) -> None:
    assert write_state([record.encode() for record in case["records"]]).decode() == case["text"]
    state = parse_state(case["text"].encode())
    assert ([one.data.decode() for one in state.records], state.fault) == (case["records"], "")


@cases("bad_states")
def test_bad_states(case: dict[str, Any]) -> None:
    state = parse_state(bytes.fromhex(case["hex"]))
    assert [one.data.decode() for one in state.records] == case["records"]
    assert state.fault == case["error"] or state.fault.startswith(f"{case['error']}: ")
