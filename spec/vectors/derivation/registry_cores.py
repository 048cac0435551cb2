"""Cases of the embedded registry, registry.md 9: what its core decides, and its file. All are worked out by hand as well."""

from __future__ import annotations

from typing import Any

from . import registry_core as core

Step = dict[str, Any]


def record(ident: str, service: str = "users", host: str = "h") -> str:
    return f'{{"addresses":["{host}:1"],"id":"{ident}","service":"{service}"}}'


def at(time: int, **step: Any) -> Step:
    return {"at": time, **step}


def publish(time: int, call: str, *records: str) -> Step:
    return at(time, call=call, publish=list(records))


def watch(time: int, call: str, service: str = "users") -> Step:
    return at(time, call=call, watch=service)


def renewed(call: str, *times: int) -> list[Step]:
    return [at(time, renew=call) for time in times]


A, B, C, D, OTHER = record("a"), record("b"), record("c"), record("d", "orders"), record("a", host="other")
TAKEN = "ALREADY_EXISTS users/a: another server is published under this id, at h:1"
LATE = "ABORTED not renewed for 15000 ms"
SERVICE = 'INVALID_ARGUMENT service: want a name of 1 to 200 letters, digits, ".", "_" or "-"'
FULL = "RESOURCE_EXHAUSTED the registry is full: "

# id, why, steps, until, by hand: when, to whom, what; limits
CORES: list[tuple[str, str, list[Step], int, list[str], dict[str, int]]] = [
    ("publish", "records stand there once they are published", [publish(0, "p", A, D), watch(10, "w")], 100, ["0 p answered", "10 w all a"], {}),
    ("publish-watched", "watchers of their services hear of them", [watch(0, "w"), watch(1, "x", "orders"), publish(10, "p", B, A)], 100,
     ["0 w all", "1 x all", "10 p answered", "10 w came a b"], {}),
    ("publish-none", "no record", [publish(0, "p")], 100, ["0 p INVALID_ARGUMENT records: want 1 to 128"], {}),
    ("publish-most", "128 records", [publish(0, "p", *(record(f"n{i}") for i in range(128)))], 100, ["0 p answered"], {}),
    ("publish-more", "129 records", [publish(0, "p", *(record(f"n{i}") for i in range(129)))], 100, ["0 p INVALID_ARGUMENT records: want 1 to 128"], {}),
    ("publish-rubbish", "one is none: none of them is published", [publish(0, "p", A, "{"), watch(1, "w")], 100,
     ["0 p INVALID_ARGUMENT records[1]: not a JSON object", "1 w all"], {}),
    ("publish-line", "a line end, which a file could not have", [publish(0, "p", A + "\n")], 100, ["0 p INVALID_ARGUMENT records[0]: want no control characters"], {}),
    ("publish-twice", "one key twice, be it with the same bytes", [publish(0, "p", A, D, A)], 100, ["0 p INVALID_ARGUMENT records[2]: users/a is there twice"], {}),
    ("publish-first-fault", "records are looked at one by one", [publish(0, "p", A, A, "{")], 100, ["0 p INVALID_ARGUMENT records[1]: users/a is there twice"], {}),
    ("key-taken", "another live server under the same id is refused, with all that it publishes",
     [watch(0, "w"), publish(10, "p", A), publish(20, "q", B, OTHER), watch(30, "x")], 100, ["0 w all", "10 p answered", "10 w came a", f"20 q {TAKEN}", "30 x all a"], {}),
    ("key-free", "until the first is gone", [publish(0, "p", A), at(10, end="p"), publish(20, "q", OTHER)], 100, ["0 p answered", "20 q answered"], {}),
    ("key-shared", "equal bytes are held together, to the last", [watch(0, "w"), publish(10, "p", A), publish(20, "q", A, B), at(30, end="p"), at(40, end="q")], 100,
     ["0 w all", "10 p answered", "10 w came a", "20 q answered", "20 w came b", "40 w went a b"], {}),
    ("end", "a call that ends takes its records with it at once", [publish(0, "p", A, D), watch(1, "w"), at(20, end="p"), at(30, end="p")], 100, ["0 p answered", "1 w all a", "20 w went a"], {}),
    ("end-watch", "a watcher that has ended is told no more", [watch(0, "w"), at(5, end="w"), publish(10, "p", A)], 100, ["0 w all", "10 p answered"], {}),
    ("lease", "what is not renewed goes after its lease", [publish(0, "p", A), watch(1, "w")], 60_000, ["0 p answered", "1 w all a", f"15000 p {LATE}", "15000 w went a"], {}),
    ("lease-renewed", "what is renewed does not", [publish(0, "p", A), watch(1, "w"), *renewed("p", 5000, 10_000, 24_999)], 60_000,
     ["0 p answered", "1 w all a", "5000 p answered", "10000 p answered", "24999 p answered", f"40000 p {LATE}", "40000 w went a"], {}),
    ("lease-over", "a renewal that comes too late is none", [publish(0, "p", A), at(15_500, renew="p")], 60_000, ["0 p answered", f"15000 p {LATE}"], {}),
    ("lease-of-one", "each call has its own", [publish(0, "p", A), publish(100, "q", B), watch(101, "w"), *renewed("q", 9000)], 20_000,
     ["0 p answered", "100 q answered", "101 w all a b", "9000 q answered", f"15000 p {LATE}", "15000 w went a"], {}),
    ("lease-again", "who was stopped publishes again", [publish(0, "p", A), publish(20_000, "q", A), watch(20_001, "w")], 30_000, ["0 p answered", f"15000 p {LATE}", "20000 q answered", "20001 w all a"], {}),
    ("stopped", "the registry itself was stopped: that time does not count", [publish(0, "p", A), watch(1, "w"), at(100_000, stopped=True), at(100_001, renew="p")], 110_000,
     ["0 p answered", "1 w all a", "100001 p answered"], {}),
    ("stopped-short", "a pause of a third of the lease does", [publish(0, "p", A), *(at(5000 * i, stopped=True) for i in range(1, 4))], 16_000, ["0 p answered", f"15000 p {LATE}"], {}),
    ("watch-name", "a service that no name is", [watch(0, "w", "a/b")], 100, [f"0 w {SERVICE}"], {}),
    ("watch-empty", "none", [watch(0, "w", "")], 100, [f"0 w {SERVICE}"], {}),
    ("restored", "what the file had stands there", [at(0, restore=[A, B], whole=True), watch(1, "w")], 100, ["1 w all a b"], {}),
    ("restored-owner", "until its owner comes back, after which it is like any other", [at(0, restore=[A, B], whole=True), watch(1, "w"), publish(20, "p", A), at(50, end="p")], 100,
     ["1 w all a b", "20 p answered", "50 w went a"], {}),
    ("restored-other", "an owner with other bytes takes its place", [at(0, restore=[A], whole=True), watch(1, "w"), publish(20, "p", OTHER)], 100, ["1 w all a", "20 p answered", "20 w came a"], {}),
    ("restored-gone", "or for two leases", [at(0, restore=[A, B], whole=True), watch(1, "w"), publish(20, "p", A), *renewed("p", 9_000, 20_000)], 31_000,
     ["1 w all a b", "20 p answered", "9000 p answered", "20000 p answered", "30000 w went b"], {}),
    ("unsure", "a file at fault: there may be more than is known, until two leases are over",
     [at(0, restore=[A], whole=False), watch(1, "w"), publish(20, "p", B), watch(21, "x", "orders"), *renewed("p", 9_000, 20_000), watch(30_500, "y")], 31_000,
     ["1 w partial a", "20 p answered", "20 w came b", "21 x partial", "9000 p answered", "20000 p answered", "30000 w all b", "30000 x all", "30500 y all b"], {}),
    ("unsure-stopped", "that time counts as all does", [at(0, restore=[], whole=False), watch(1, "w"), at(100_000, stopped=True), watch(100_001, "x")], 100_002, ["1 w partial", "100001 x partial"], {}),
    ("full", "keys", [publish(0, "p", A, B), publish(1, "q", A, C), publish(2, "r", A, B)], 100, ["0 p answered", f"1 q {FULL}2 records, {len(A) + len(B)} bytes", "2 r answered"], {"keys": 2}),
    ("full-bytes", "bytes", [publish(0, "p", A), publish(1, "q", B)], 100, ["0 p answered", f"1 q {FULL}1 records, {len(A)} bytes"], {"bytes": len(A) + len(B) - 1}),
    ("full-watches", "watches", [watch(0, "w"), watch(1, "x"), at(2, end="w"), watch(3, "x")], 100, ["0 w all", "1 x RESOURCE_EXHAUSTED 1 watches, which is the most", "3 x all"], {"watches": 1}),
]  # fmt: skip

HEAD = core.FIRST + "\n"
# id, why, records: their file is derived
STATES = [
    ("none", "no record", []),
    ("order", "in the order of their keys", [A, record("a", "orders"), record("a.b"), record("a-b")]),
    ("key-order", "a key is SERVICE/ID", [record("a", "users.b"), A]),
    ("unknown", "what is not known stays", ['{"addresses":["h:1"],"id":"a","later":[1, 2],"service":"users"}']),
]
# id, why, text, by hand: the ids that count, what is at fault
BAD_STATES: list[tuple[str, str, str, str, str]] = [
    ("empty", "it was emptied", "", "", f'1: want "{core.FIRST}"'),
    ("rubbish", "rubbish", "\0\0\xff rubbish\n", "", f'1: want "{core.FIRST}"'),
    ("version", "another form", "trunkcall registry 2\nend 0\n", "", f'1: want "{core.FIRST}"'),
    ("first-half", "half a line", core.FIRST, "", f'1: want "{core.FIRST}"'),
    ("half", "the half of it", HEAD + A + "\n" + B[:20], "a", '3: want a record or "end 1"'),
    ("half-line", "up to the end of a line", HEAD + A + "\n", "a", '3: want a record or "end 1"'),
    ("half-end", "all but the last byte", HEAD + A + "\nend 1", "a", '3: want a record or "end 1"'),
    ("end-number", "records that were taken away", HEAD + A + "\nend 2\n", "a", '3: want "end 1"'),
    ("end-zeros", "the number in another way", HEAD + A + "\nend 01\n", "a", '3: want "end 1"'),
    ("behind", "more behind the end", HEAD + A + "\nend 1\n" + B + "\n", "a", "4: want nothing behind the end"),
    ("behind-half", "without a line end", HEAD + "end 0\nx", "", "3: want nothing behind the end"),
    ("record", "a line that is no record", HEAD + A + "\n{}\n" + B + "\nend 2\n", "a", "3: addresses: want 1 to 16 addresses of at most 255 bytes"),
    ("control", "a control character", HEAD + A + "\t\nend 1\n", "", "2: want no control characters"),
    ("twice", "a key twice", HEAD + A + "\n" + OTHER + "\nend 2\n", "a", "3: users/a is there twice"),
    ("carriage-return", "other line ends", HEAD.replace("\n", "\r\n"), "", f'1: want "{core.FIRST}"'),
    ("blank", "an empty line", HEAD + "\nend 0\n", "", "2: not a JSON object"),
]


def head(ident: str, why: str) -> dict[str, Any]:
    return {"id": ident, "why": why}


def content() -> dict[str, Any]:
    return {
        "cores": [
            {**head(i, w), "lease": 15_000, "limits": m, "steps": s, "until": u, "told": core.decided(s, u, 15_000, m)}
            for i, w, s, u, _, m in CORES
        ],
        "states": [{**head(i, w), "records": sorted(r, key=lambda one: "/".join(core.keyed(one))), "text": core.written(r)} for i, w, r in STATES],
        "bad_states": [
            {**head(i, w), "hex": t.encode("latin-1").hex(), "records": core.read(t.encode("latin-1"))[0], "error": e}
            for i, w, t, _, e in BAD_STATES
        ],
    }  # fmt: skip


def faults(told: dict[str, Any]) -> list[str]:
    """Where the model and what was worked out by hand are not one."""
    found = []
    for (i, _, _, _, hand, _), one in zip(CORES, told["cores"], strict=True):
        lines = [line(entry) for entry in one["told"]]
        if lines != hand:
            found.append(f"cores: {i}: by hand {hand!r}, the model says {lines!r}")
    for (i, _, _), one in zip(STATES, told["states"], strict=True):
        if core.read(one["text"].encode()) != (one["records"], ""):
            found.append(f"states: {i}: is read otherwise")
    for (i, _, t, ids, e), one in zip(BAD_STATES, told["bad_states"], strict=True):
        got, why = core.read(t.encode("latin-1"))
        if (got, why, "".join(core.keyed(text)[1] for text in one["records"])) != (one["records"], e, ids):
            found.append(f"bad_states: {i}: by hand {ids!r} {e!r}, the model says {got!r} {why!r}")
    return found


def line(told: dict[str, Any]) -> str:
    words = [str(told["at"]), told["to"]]
    for kind in ("all", "partial", "came", "went"):
        if told.get(kind) or kind in told and kind in ("all", "partial"):
            words += [kind, *told[kind]]
    if "code" in told:
        words += [told["code"], told["text"]]
    return " ".join([*words, *(["answered"] if "answered" in told else [])])
