"""Cases of client.json, client.md 6 to 11. What can be worked out by hand stands here too, for the model to agree with."""

from __future__ import annotations

from typing import Any

from . import client_model as model
from .client_model import SECOND, Bad

DESCRIPTION = "How a client finds servers, connects to them and chooses among them (client.md 6 to 11)."

# id, why, target, schemes that the user gave a resolver for
TARGETS = [
    ("host", "one endpoint", "example.com:50051", []),
    ("list", "one endpoint for each part, in order", "b:1,a:2", []),
    ("blanks", "blanks around parts are dropped", " a:1 , b:2 ", []),
    ("no-host", "no host is localhost", ":50051", []),
    ("ipv4", "an address of IPv4", "127.0.0.1:80", []),
    ("ipv6", "an address of IPv6", "[::1]:80", []),
    ("last-port", "the highest port", "a:65535", []),
    ("unix", "a Unix socket", "unix:/run/x.sock", []),
    ("mem", "memory of the process", "mem:echo", []),
    ("ws", "a WebSocket; the default port is 80", "ws://example.com/trunk", []),
    ("wss", "a WebSocket over TLS; the default port is 443", "wss://example.com/trunk", []),
    ("wss-port", "a WebSocket at a port", "wss://example.com:8443/a/b", []),
    ("ws-ipv6", "a WebSocket at an address of IPv6", "ws://[::1]:81/", []),
    ("mixed", "all kinds may stand in a list", "a:1,unix:/x,mem:y,ws://b:2/z", []),
    ("twice", "a part may come twice; applying the set drops one", "a:1,a:1", []),
    ("dns", "one endpoint for each address of the name", "dns:example.com:443", []),
    ("dns-literal", "an address is looked up as itself", "dns:[::1]:443", []),
    ("scheme", "a scheme of the user's", "consul:web?dc=1,2", ["consul"]),
    ("scheme-empty", "what follows the scheme is the resolver's affair", "static-file:", ["static-file"]),
    ("scheme-before-host", "a scheme of the user's is looked for first", "localhost:80", ["localhost"]),
    ("scheme-dns", "the user's resolver takes the place of ours", "dns:whatever", ["dns"]),
    ("scheme-other", "a resolver for another scheme changes nothing", "a:1", ["consul"]),
]  # fmt: skip

# id, why, target, schemes, what the message must have
BAD_TARGETS = [
    ("empty", "no target", "", [], ""),
    ("no-port", "a port is missing", "example.com", [], "example.com"),
    ("port-empty", "a port is missing behind the colon", "a:", [], "a:"),
    ("port-0", "ports begin at 1", "a:0", [], "a:0"),
    ("port-65536", "ports end at 65535", "a:65536", [], "a:65536"),
    ("port-word", "a port is a number", "a:http", [], "a:http"),
    ("port-sign", "digits only", "a:+80", [], "a:+80"),
    ("port-zeros", "at most five digits", "a:000080", [], "a:000080"),
    ("ipv6-bare", "IPv6 stands in brackets", "::1:80", [], "::1:80"),
    ("ipv6-open", "a bracket is not closed", "[::1:80", [], "[::1:80"),
    ("ipv6-ipv4", "in brackets stands no address of IPv4", "[1.2.3.4]:1", [], "[1.2.3.4]:1"),
    ("part-empty", "a part is empty", "a:1,", [], "a:1,"),
    ("part-between", "a part between is empty", "a:1,,b:2", [], "a:1,,b:2"),
    ("part-bad", "the part at fault is named", "a:1,nowhere", [], "nowhere"),
    ("unix-empty", "no path", "unix:", [], "unix:"),
    ("mem-empty", "no name", "mem:", [], "mem:"),
    ("ws-empty", "no host", "ws:///x", [], "ws:///x"),
    ("ws-user", "no user or password in a URL", "ws://me@a:1/x", [], "ws://me"),
    ("ws-port", "the port of a URL is a port", "ws://a:99999/x", [], "99999"),
    ("ws-fragment", "no # in a URL", "wss://a:1/p?q#f", [], "wss://a:1/p"),
    ("ws-fragment-empty", "nor with nothing behind it", "ws://a:1/p#", [], "ws://a:1/p"),
    ("dns-list", "dns takes one name", "dns:a:1,b:2", [], "dns"),
    ("dns-in-list", "dns is no part of a list", "a:1,dns:b:2", [], "dns:b:2"),
    ("dns-no-host", "dns needs a name", "dns::80", [], "dns"),
    ("dns-no-port", "and a port", "dns:example.com", [], "dns"),
    ("scheme-unknown", "a scheme that nobody gave a resolver for", "consul:web", [], "consul"),
    ("scheme-unknown-url", "the same, as a URL", "etcd://10.0.0.1/web", ["consul"], "etcd"),
    ("scheme-in-list", "a scheme of the user's is for whole targets", "a:1,consul:web", ["consul"], "consul:web"),
]  # fmt: skip

A, B, C = ({"addresses": [f"{name}:1"]} for name in "abc")

# id, why, endpoint, identity
IDENTITIES: list[tuple[str, str, dict[str, Any], str]] = [
    ("address", "without id the address", A, "a:1"),
    ("addresses", "addresses in their order", {"addresses": ["b:1", "a:1"]}, "b:1,a:1"),
    ("server-name", "and the server name", {"addresses": ["10.0.0.1:1"], "server_name": "x"}, "10.0.0.1:1#x"),
    ("own", "an id is all of it", {"id": "i-7", "addresses": ["a:1"], "server_name": "x"}, "i-7"),
    ("weight", "nothing else counts", {"addresses": ["a:1"], "weight": 5, "zone": "z"}, "a:1"),
]

# id, why, set before, set
SETS: list[tuple[str, str, list[Any], list[Any]]] = [
    ("first", "the first set", [], [A, B]),
    ("equal", "nothing changes", [A, B], [A, B]),
    ("added", "one more", [A], [A, B]),
    ("left", "one less", [A, B], [B]),
    ("order", "the order is that of the new set", [A, B, C], [C, A, B]),
    ("all-others", "nobody stays", [A], [B]),
    ("weight", "another weight is exchanged in place", [A], [{**A, "weight": 3}]),
    ("zone", "so is another zone", [{**A, "zone": "x"}], [A]),
    ("attributes", "and other attributes", [A], [{**A, "attributes": {"k": "v"}}]),
    ("server-name", "another server name is another endpoint", [A], [{**A, "server_name": "x"}]),
    ("id-same", "an id keeps an endpoint", [{**A, "id": "1"}], [{**A, "id": "1", "weight": 2}]),
    ("id-new-address", "but not with another address", [{**A, "id": "1"}], [{**B, "id": "1"}]),
    ("id-new-order", "nor with its addresses in another order", [{"id": "1", "addresses": ["a:1", "b:1"]}],
     [{"id": "1", "addresses": ["b:1", "a:1"]}]),
    ("id-new-name", "nor with another server name", [{**A, "id": "1"}], [{**A, "id": "1", "server_name": "x"}]),
    ("id-given", "an id in place of none is another identity", [A], [{**A, "id": "1"}]),
    ("twice", "the first of two counts", [A], [{**B, "weight": 2}, A, {**B, "weight": 3}]),
    ("twice-id", "also if the second has another address", [], [{**A, "id": "1"}, {**B, "id": "1"}]),
    ("weights", "the least and the most that a weight can be", [], [{**A, "weight": 0}, {**B, "weight": 1_000_000}]),
    ("addresses-64", "the most addresses", [], [{"addresses": [f"a:{n}" for n in range(1, 65)]}]),
]  # fmt: skip

BAD_SETS: list[tuple[str, str, list[Any]]] = [
    ("empty", "an empty set is no set", []),
    ("no-address", "an endpoint without address", [A, {"addresses": []}]),
    ("addresses-65", "one address too many", [{"addresses": [f"a:{n}" for n in range(1, 66)]}]),
    ("address-bad", "one bad address spoils the set", [A, B, {"addresses": ["a:2", "nowhere"]}]),
    ("address-scheme", "resolvers are not asked again", [{"addresses": ["dns:a:1"]}]),
    ("address-blank", "blanks are dropped in targets only", [{"addresses": [" a:1"]}]),
    ("weight-below", "a weight below 0", [{**A, "weight": -1}]),
    ("weight-above", "a weight above 1,000,000", [{**A, "weight": 1_000_001}]),
    ("twice-bad", "also the second of two is looked at", [A, {**A, "weight": -1}]),
]

HASHES = ["", "a", "foobar", "10.0.0.1:50051", "10.0.0.2:50051", "größe"]
# Known from elsewhere: FNV-1a of its authors' test vectors, and the first output of SplitMix64 from seed 0.
KNOWN = [("", 0xCBF29CE484222325), ("a", 0xAF63DC4C8601EC8C), ("foobar", 0x85944171F73967E8)]

MANY = [f"10.0.0.{n}:50051" for n in range(1, 31)]

# id, why, client id, most, identities
PARTS = [
    ("fewer", "as many as there may be: all of them", 1, 20, MANY[:20]),
    ("all", "0 is all", 1, 0, MANY),
    ("twenty", "twenty of thirty", 1, 20, MANY),
    ("twenty-other", "another client has others", 2, 20, MANY),
    ("twenty-less-one", "when one goes that was chosen, one comes", 1, 20, MANY[1:]),
    ("three", "three of five", 0xFFFFFFFFFFFFFFFF, 3, ["a:1", "b:1", "c:1", "d:1", "e:1"]),
    ("three-order", "in the order of the set", 0xFFFFFFFFFFFFFFFF, 3, ["e:1", "d:1", "c:1", "b:1", "a:1"]),
    ("one", "one of two", 7, 1, ["a:1", "b:1"]),
]


def half(n: int) -> str:
    """The random number that makes the index n below 16 (and 8, 4, 2 by halves)."""
    return f"{n << 60:016x}"


LOW, HIGH = half(0), "f" * 16


def seen(states: str, weights: str = "", calls: str = "", latencies: str = "") -> list[dict[str, Any]]:
    words = {"r": "ready", "i": "idle", "c": "connecting", "f": "failing"}
    out: list[dict[str, Any]] = []
    for n, state in enumerate(states):
        e: dict[str, Any] = {"identity": f"{'abcdefgh'[n]}:1", "state": words[state]}
        e["weight"] = int(weights.split()[n]) if weights else 0
        e["calls"] = int(calls.split()[n]) if calls else 0
        known = latencies.split()[n] if latencies else "-"
        e["latency"] = None if known == "-" else int(known)
        out.append(e)
    return out


def turns(picks: str, **more: Any) -> list[dict[str, Any]]:
    """Steps whose picks are told by hand: a letter each, - for none."""
    return [{**more, "want": None if p == "-" else f"{p}:1"} for p in picks]


def drawn(*randoms: str, want: str = "", **more: Any) -> dict[str, Any]:
    out: dict[str, Any] = {"random": list(randoms), **more}
    return {**out, "want": None if want == "-" else f"{want}:1"} if want else out


def to(name: str, **what: Any) -> dict[str, Any]:
    return {"change": {f"{name}:1": what}}


# id, why, balancer, endpoints, counter, steps
PICKS: list[tuple[str, str, str, list[dict[str, Any]], int, list[dict[str, Any]]]] = [
    ("first", "the first in order", "first", seen("rrr"), 0, turns("aaa")),
    ("first-idle", "also if it is idle and others are ready", "first", seen("irr"), 0, turns("a")),
    ("first-connecting", "or connecting", "first", seen("crr"), 0, turns("a")),
    ("first-failing", "the next when it is failing, and the first again when it is not", "first", seen("fir"), 0,
     [*turns("b"), {**turns("c")[0], **to("b", state="failing")}, {**turns("-")[0], **to("c", state="failing")},
      {**turns("a")[0], **to("a", state="ready")}]),
    ("first-avoid", "not the one to avoid", "first", seen("rii"), 0, turns("b", avoid="a:1")),
    ("first-avoid-only", "unless there is no other", "first", seen("rff"), 0, turns("a", avoid="a:1")),
    ("first-avoid-failing", "and none that is failing", "first", seen("ff"), 0, turns("-", avoid="a:1")),
    ("turns", "in turns", "round_robin", seen("rrr"), 0, turns("abcabc")),
    ("turns-start", "from where the counter stands", "round_robin", seen("rrr"), 5, turns("cab")),
    ("turns-wrap", "the counter wraps", "round_robin", seen("rr"), 2**64 - 2, turns("abab")),
    ("turns-two-to-one", "weights two and one", "round_robin", seen("rr", "2 1"), 0, turns("abaaba")),
    ("turns-weights", "weights five, one and one", "round_robin", seen("rrr", "5 1 1"), 0, turns("acaabaaacaabaa")),
    ("turns-large", "large weights", "round_robin", seen("rrr", "1000000 500000 250000"), 2**63, [{}] * 14),
    ("turns-zero", "weight 0 is 1", "round_robin", seen("rr", "0 1"), 0, turns("abab")),
    ("turns-ready", "only ready ones", "round_robin", seen("rfrc"), 0, turns("acac")),
    ("turns-none-ready", "idle and connecting ones if none is ready", "round_robin", seen("fci"), 0, turns("bcb")),
    ("turns-failing", "none, if all are failing", "round_robin", seen("ff"), 0, turns("--")),
    ("turns-counter-stays", "the counter goes on when the states change", "round_robin", seen("rrr"), 0,
     [*turns("ab"), {**turns("a")[0], **to("c", state="failing")}, *turns("ba")]),
    ("turns-avoid", "the others in turns in place of the one to avoid", "round_robin", seen("rrr"), 0,
     turns("bcb", avoid="a:1")),
    ("turns-avoid-last", "the only other one", "round_robin", seen("rr"), 1, turns("aa", avoid="b:1")),
    ("turns-avoid-apart", "calls that avoid one take no turn of the others", "round_robin", seen("rr"), 0,
     [*turns("a"), *turns("b", avoid="a:1"), *turns("b"), *turns("a"), *turns("b", avoid="a:1"), *turns("b")]),
    ("turns-avoid-weights", "of the others' weights the largest counts", "round_robin", seen("rrr", "5 1 1"), 0,
     [*turns("bcbc", avoid="a:1"), *turns("acaa", avoid="b:1")]),
    ("turns-avoid-coming", "one that connects rather than the one to avoid", "round_robin", seen("rcf"), 0,
     turns("b", avoid="a:1")),
    ("turns-avoid-only", "the one to avoid if there is no other", "round_robin", seen("rf"), 0, turns("a", avoid="a:1")),
    ("turns-avoid-failing", "but not if it is failing", "round_robin", seen("ff"), 0, turns("-", avoid="a:1")),
    ("less-one", "a single candidate needs no random number", "least_loaded", seen("rf"), 0, turns("aa")),
    ("less-none", "none", "least_loaded", seen("ff"), 0, turns("-")),
    ("less-calls", "without latencies the calls decide", "least_loaded", seen("rr", calls="3 2"), 0,
     [drawn(LOW, LOW, want="b")]),
    ("less-tie", "the first that was drawn, if they are equal", "least_loaded", seen("rrr"), 0,
     [drawn(half(15), half(0), want="c")]),
    ("less-drawn", "of three the two that were drawn count", "least_loaded", seen("rrr", calls="9 5 0"), 0,
     [drawn(half(0), half(0), want="b")]),
    ("less-latency", "calls times latency", "least_loaded", seen("rr", calls="0 3", latencies="5000000 1000000"), 0,
     [drawn(half(0), LOW, want="b")]),
    ("less-mean", "one without samples has the mean of the others", "least_loaded",
     seen("rrr", calls="0 0 0", latencies="1000000 - 9000000"), 0,
     [drawn(half(0), half(0), want="a"), drawn(half(0), half(0), **to("a", state="failing"), want="b")]),
    ("less-mean-ready", "the mean is that of the candidates", "least_loaded",
     seen("rrf", calls="0 0 0", latencies="5000000 - 1"), 0, [drawn(half(15), LOW, want="b")]),
    ("less-keeps", "it stays while its load is at most 1.25 times the other's", "least_loaded",
     seen("rr", latencies="1000 1000"), 0,
     [drawn(LOW, LOW, want="a"), drawn(LOW, want="a", change={"a:1": {"calls": 4}, "b:1": {"calls": 3}}),
      drawn(LOW, want="b", change={"a:1": {"calls": 4, "latency": 1001}})]),
    ("less-keeps-64", "for 64 calls", "least_loaded", seen("rr"), 0,
     [drawn(LOW, LOW, want="a"), *[drawn(LOW, want="a")] * 63, drawn(HIGH, LOW, want="b"), *[drawn(LOW, want="b")] * 2]),
    ("less-keeps-anew", "one that it went to is kept from then on", "least_loaded", seen("rr"), 0,
     [drawn(LOW, LOW, want="a"), drawn(LOW, want="b", **to("a", calls=1)), *[drawn(LOW, want="b")] * 63,
      drawn(HIGH, LOW, want="b")]),
    ("less-new-picker", "a new picker has kept none", "least_loaded", seen("rrr"), 0,
     [drawn(LOW, LOW, want="a"), drawn(HIGH, LOW, want="b", **to("c", state="failing"))]),
    ("less-avoid", "the one to avoid is no candidate, kept or not", "least_loaded", seen("rrr", calls="0 9 1"), 0,
     [drawn(LOW, LOW, want="a"), drawn(LOW, LOW, want="c", avoid="a:1")]),
    ("less-avoid-one", "one other candidate: nothing is drawn or remembered", "least_loaded", seen("rr", calls="0 9"), 0,
     [drawn(LOW, LOW, want="a"), drawn(want="b", avoid="a:1"), drawn(LOW, want="a")]),
    ("hash", "each key has its endpoint", "hash", seen("rrrr"), 0,
     [{"key": key} for key in ("a", "b", "c", "d", "user-1", "user-2", "größe", "user-1")]),
    ("hash-idle", "whatever its state, but for failing", "hash", seen("icri"), 0,
     [{"key": key} for key in ("a", "b", "c", "d")]),
    ("hash-failing", "the next in rank, and the first again", "hash", seen("rrrr"), 0,
     [{"key": "user-1"}, *({"key": "user-1", "change": {f"{e}:1": {"state": "failing"}}} for e in "abcd"),
      *({"key": "user-1", "change": {f"{e}:1": {"state": "idle"}}} for e in "abcd")]),
    ("hash-avoid", "the next in rank for the one to avoid", "hash", seen("rrrr"), 0,
     [{"key": "user-1", "avoid": f"{e}:1"} for e in "abcd"]),
    ("hash-avoid-only", "unless there is no other", "hash", seen("fr"), 0, turns("b", key="x", avoid="b:1")),
    ("hash-no-key", "without a key a random number", "hash", seen("rrrr"), 0,
     [{"random": [r]} for r in (LOW, half(3), half(7), HIGH)]),
]  # fmt: skip


def ended(
    at: int, duration: int, code: str = "OK", kind: str = "unary", delivery: str = "executed", local: bool = False
) -> dict[str, Any]:
    return {"at": at, "kind": kind, "code": code, "delivery": delivery, "local": local, "duration": duration}


MS = SECOND // 1000

# id, why, events, what can be told by hand
LATENCIES: list[tuple[str, str, list[dict[str, Any]], list[int | None] | None]] = [
    ("none", "no sample", [{"at": 0}], [None]),
    ("one", "the first is the mean", [ended(SECOND, MS)], [MS]),
    ("at-once", "one at the same time weighs nothing", [ended(SECOND, MS), ended(SECOND, 9 * MS)], [MS, MS]),
    ("second", "the second takes the place of the first, which stands for no time",
     [ended(0, MS, "UNAVAILABLE", delivery="refused"), ended(16 * MS, 20 * MS)], [SECOND, 20 * MS]),
    ("young", "until there are 10 s each weighs the time since the one before",
     [ended(n * SECOND, d * MS) for n, d in ((0, 90), (1, 20), (2, 40), (4, 10))], [90 * MS, 20 * MS, 30 * MS, 20 * MS]),
    ("refused-first", "so refusals before the first answers are soon forgotten",
     [*(ended(n * MS, MS, "RESOURCE_EXHAUSTED", delivery="refused") for n in range(3)),
      *(ended(n * MS, 20 * MS) for n in (22, 42, 502))], None),
    ("half", "then one 10 s later weighs a half", [ended(n * 10 * SECOND, d * MS) for n, d in ((0, 2), (1, 2), (2, 4))],
     [2 * MS, 2 * MS, 3 * MS]),
    ("full", "also if there are more than 10 s", [ended(n * 10 * SECOND, d * MS) for n, d in ((0, 2), (1, 2), (2, 2), (3, 4))],
     [2 * MS, 2 * MS, 2 * MS, 3 * MS]),
    ("old", "a mean is none 10 s after its last sample", [ended(0, MS), {"at": 10 * SECOND}, {"at": 10 * SECOND + 1}],
     [MS, MS, None]),
    ("anew", "and the next is the first", [ended(0, MS), ended(SECOND, MS), ended(12 * SECOND, 7 * MS), ended(13 * SECOND, 9 * MS)],
     [MS, MS, 7 * MS, 9 * MS]),
    ("many", "many in a second", [ended(n * SECOND // 16, (1 + n % 3) * MS) for n in range(17)], None),
    ("back", "one that is told late, of a time before the last, weighs nothing",
     [ended(0, MS), ended(5 * SECOND, MS), ended(4 * SECOND, 9 * MS), ended(10 * SECOND, 3 * MS)], [MS, MS, MS, 2 * MS]),
    ("unavailable", "UNAVAILABLE is a second", [ended(0, MS, "UNAVAILABLE", delivery="refused")], [SECOND]),
    ("exhausted", "so is RESOURCE_EXHAUSTED", [ended(0, MS, "RESOURCE_EXHAUSTED", delivery="refused")], [SECOND]),
    ("unavailable-longer", "or more", [ended(0, 3 * SECOND, "UNAVAILABLE", delivery="unknown", local=True)], [3 * SECOND]),
    ("unavailable-stream", "a second for streams too", [ended(0, 90 * SECOND, "UNAVAILABLE", "bidi", "unknown")], [SECOND]),
    ("stream", "streams are no samples else", [ended(0, 90 * SECOND, kind="server_streaming")], [None]),
    ("one-way", "nor are one-way calls", [ended(0, MS, kind="one_way")], [None]),
    ("not-sent", "nor what this side did not send", [ended(0, MS, "RESOURCE_EXHAUSTED", delivery="not_sent", local=True),
     ended(0, MS, "UNAVAILABLE", delivery="not_sent", local=True)], [None, None]),
    ("failed", "other codes are samples like any", [ended(0, MS, "NOT_FOUND")], [MS]),
    ("deadline-first", "a deadline that passed, if there is no mean",
     [ended(0, MS, "DEADLINE_EXCEEDED", delivery="unknown", local=True)], [MS]),
    ("deadline-shorter", "or if it took longer than that", [ended(0, 5 * MS),
     ended(10 * SECOND, 3 * MS, "DEADLINE_EXCEEDED", delivery="unknown", local=True),
     ended(10 * SECOND, 7 * MS, "CANCELLED", delivery="unknown", local=True)], [5 * MS, 5 * MS, 7 * MS]),
    ("deadline-old", "a mean that is old is none", [ended(0, 5 * MS),
     ended(11 * SECOND, 3 * MS, "CANCELLED", delivery="unknown", local=True)], [5 * MS, 3 * MS]),
]  # fmt: skip

# id, why, addresses, answers of look-ups, order by hand
RACES: list[tuple[str, str, list[str], dict[str, list[str]], list[str]]] = [
    ("one", "one address", ["10.0.0.1:1"], {}, ["10.0.0.1:1"]),
    ("given", "addresses in the order given", ["10.0.0.2:1", "10.0.0.1:1"], {}, ["10.0.0.2:1", "10.0.0.1:1"]),
    ("six-first", "IPv6 and IPv4 take turns, the kind of the first first", ["h:1"],
     {"h": ["::1", "::2", "::3", "10.0.0.1", "10.0.0.2"]}, ["[::1]:1", "10.0.0.1:1", "[::2]:1", "10.0.0.2:1", "[::3]:1"]),
    ("four-first", "the kind of the first first", ["h:1"], {"h": ["10.0.0.1", "10.0.0.2", "::1"]},
     ["10.0.0.1:1", "[::1]:1", "10.0.0.2:1"]),
    ("two-names", "over all names", ["h:1", "g:2"], {"h": ["::1", "::2"], "g": ["10.0.0.1"]},
     ["[::1]:1", "10.0.0.1:2", "[::2]:1"]),
    ("again", "an address that comes again is dropped", ["h:1", "10.0.0.1:1"], {"h": ["10.0.0.1", "10.0.0.2"]},
     ["10.0.0.1:1", "10.0.0.2:1"]),
    ("unresolved", "a name without address is left out", ["h:1", "g:1"], {"h": [], "g": ["10.0.0.1"]}, ["10.0.0.1:1"]),
    ("mem", "others count as not of IPv6", ["[::1]:1", "[::2]:1", "mem:x", "unix:/y"], {},
     ["[::1]:1", "mem:x", "[::2]:1", "unix:/y"]),
]  # fmt: skip


def tried(name: str, *attempts: tuple[str, int]) -> dict[str, Any]:
    return {"address": f"{name}:1", "attempts": [{"how": how, "after": after} for how, after in attempts]}


# id, why, tries, who begins when by hand, who wins, when
RUNS: list[tuple[str, str, list[dict[str, Any]], str, str, int]] = [
    ("quick", "the first greets at once", [tried("a", ("greets", 5)), tried("b", ("greets", 1))], "a0", "a", 5),
    ("slow", "the second is tried after 250 ms; the first wins all the same",
     [tried("a", ("greets", 300)), tried("b", ("greets", 100))], "a0 b250", "a", 300),
    ("slower", "or the second does", [tried("a", ("greets", 400)), tried("b", ("greets", 100))], "a0 b250", "b", 350),
    ("third", "a third follows after another 250 ms",
     [tried("a", ("hangs", 9000)), tried("b", ("hangs", 9000)), tried("c", ("greets", 10))], "a0 b250 c500", "c", 510),
    ("refused", "the next at once when one has failed", [tried("a", ("fails", 7)), tried("b", ("greets", 10))], "a0 b7", "b", 17),
    ("refused-second", "also while an earlier one is under way",
     [tried("a", ("hangs", 9000)), tried("b", ("fails", 20)), tried("c", ("greets", 5))], "a0 b250 c270", "c", 275),
    ("none", "all fail", [tried("a", ("fails", 10)), tried("b", ("fails", 10))], "a0 b10", "", 20),
    ("hangs", "each has 3 s", [tried("a", ("hangs", 9000)), tried("b", ("hangs", 9000))], "a0 b250", "", 3250),
    ("once-more", "one that refused is tried once more",
     [tried("a", ("refuses", 10), ("greets", 5)), tried("b", ("fails", 30))], "a0 b10 a40", "a", 45),
    ("last-not", "but not the last", [tried("a", ("fails", 10)), tried("b", ("refuses", 30))], "a0 b10", "", 40),
    ("once-only", "and not a third time",
     [tried("a", ("refuses", 10), ("refuses", 10)), tried("b", ("refuses", 10))], "a0 b10 a20", "", 30),
]  # fmt: skip

# id, why, balancer, which endpoints have a server, states while calls are made and once the client is idle, by hand
IDLE: list[tuple[str, str, str, list[bool], str, str]] = [
    ("all", "all connections are closed together", "round_robin", [True, True], "rr", "ii"),
    ("failing", "with them failing endpoints become idle", "round_robin", [True, False], "rf", "ii"),
    ("failing-least-loaded", "whatever the balancer that is not lazy", "least_loaded", [False, True, False], "frf", "iii"),
    ("lazy", "of a lazy balancer only what was picked is connected", "first", [True, True], "ri", "ii"),
    ("lazy-failing", "there a failing one stays so", "first", [False, True], "fr", "fi"),
]  # fmt: skip

S, S1, ALL = "/p.S/M", "/p.S/", ""

# id, why, policies, [method, streaming, by hand]
POLICIES: list[tuple[str, str, list[dict[str, Any]], list[tuple[str, bool, dict[str, Any]]]]] = [
    ("none", "no policies", [], [(S, False, {})]),
    ("specific", "the most specific counts, whatever the order",
     [{"method": ALL, "timeout": 1}, {"method": S, "timeout": 3}, {"method": S1, "timeout": 2}],
     [(S, False, {"timeout": 3}), ("/p.S/N", False, {"timeout": 2}), ("/p.T/M", False, {"timeout": 1})]),
    ("field", "each field on its own",
     [{"method": ALL, "wait_for_ready": True, "repeat": False}, {"method": S1, "timeout": 5}, {"method": S, "repeat": True}],
     [(S, False, {"timeout": 5, "wait_for_ready": True, "repeat": True}),
      ("/p.S/N", False, {"timeout": 5, "wait_for_ready": True, "repeat": False}),
      ("/x/y", False, {"wait_for_ready": True, "repeat": False})]),
    ("false", "to say no is to say something", [{"method": ALL, "wait_for_ready": True}, {"method": S, "wait_for_ready": False}],
     [(S, False, {"wait_for_ready": False}), ("/p.S/N", False, {"wait_for_ready": True})]),
    ("streaming", "a timeout of a service is none for its streams", [{"method": S1, "timeout": 5, "wait_for_ready": True}],
     [(S, True, {"wait_for_ready": True}), (S, False, {"timeout": 5, "wait_for_ready": True})]),
    ("streaming-named", "that of the method itself is", [{"method": S, "timeout": 5}, {"method": ALL, "timeout": 1}],
     [(S, True, {"timeout": 5}), ("/p.S/N", True, {})]),
    ("prefix", "a service is its whole name", [{"method": S1, "timeout": 5}], [("/p.S2/M", False, {}), ("/p/S/M", False, {})]),
]  # fmt: skip

BAD_POLICIES = [
    ("twice", "two for one method", [{"method": S, "timeout": 1}, {"method": S, "repeat": True}]),
    ("form", "no such form", [{"method": "p.S/M", "timeout": 1}]),
    ("package", "nor this", [{"method": "/p.S", "timeout": 1}]),
    ("says-nothing", "one that says nothing", [{"method": S}]),
    ("timeout-zero", "a timeout of none", [{"method": S, "timeout": 0}]),
    ("timeout-below", "a timeout below 0", [{"method": S, "timeout": -1}]),
]


def head(ident: str, why: str) -> dict[str, Any]:
    return {"id": ident, "why": why}


def picked(
    ident: str, why: str, kind: str, endpoints: list[dict[str, Any]], counter: int, steps: list[dict[str, Any]]
) -> dict[str, Any]:
    chooser = model.Chooser(kind, [model.Seen(**e) for e in endpoints], counter)
    out = []
    for step in steps:
        for name, what in step.get("change", {}).items():
            chooser.change(name, what)
        told = {k: v for k, v in step.items() if k != "want" and v != []}
        out.append({**told, "pick": agreed(ident, chooser.pick(step), step)})
    start = {"counter": f"{counter:016x}"} if kind == "round_robin" else {}
    return {**head(ident, why), "balancer": kind, "endpoints": endpoints, **start, "steps": out}


def agreed(ident: str, pick: str | None, step: dict[str, Any]) -> str | None:
    if "want" in step and step["want"] != pick:
        raise ValueError(f"{ident}: by hand {step['want']}, the model says {pick}")
    return pick


def content() -> dict[str, Any]:
    return {
        "description": DESCRIPTION,
        "targets": [{**head(i, w), "target": t, "schemes": s, **model.target(t, s)} for i, w, t, s in TARGETS],
        "bad_targets": [{**head(i, w), "target": t, "schemes": s, "names": n} for i, w, t, s, n in BAD_TARGETS],
        "identities": [{**head(i, w), "endpoint": e, "identity": model.identity(e)} for i, w, e, _ in IDENTITIES],
        "sets": [{**head(i, w), "before": b, "set": s, **model.applied(b, s)} for i, w, b, s in SETS],
        "bad_sets": [{**head(i, w), "set": s} for i, w, s in BAD_SETS],
        "hashes": [{"text": t, "hash": f"{model.hashed(t):016x}"} for t in HASHES],
        "scores": [
            {"a": f"{a:016x}", "text": t, "score": f"{model.score(a, model.hashed(t)):016x}"}
            for a in (0, 1, 2**64 - 1)
            for t in HASHES[:3]
        ],
        "parts": [
            {**head(i, w), "client": f"{c:016x}", "most": m, "of": o, "chosen": model.part(c, m, o)}
            for i, w, c, m, o in PARTS
        ],
        "pauses": [{"failures": n, "longest": model.pause(n)} for n in (1, 2, 3, 7, 8, 9, 64, 100_000)],
        "races": [{**head(i, w), "addresses": a, "answers": s, "order": model.raced(a, s)} for i, w, a, s, _ in RACES],
        "runs": [{**head(i, w), "tries": t, **model.run(t)} for i, w, t, *_ in RUNS],
        "idle": [{**head(i, w), "balancer": b, "serves": s, **model.idled(b, s)} for i, w, b, s, *_ in IDLE],
        "picks": [picked(*case) for case in PICKS],
        "latencies": [{**head(i, w), "events": e, "moving": model.latencies(e)} for i, w, e, _ in LATENCIES],
        "policies": [
            {
                **head(i, w),
                "policies": p,
                "calls": [{"method": m, "streaming": s, "holds": model.policy(p, m, s)} for m, s, _ in c],
            }
            for i, w, p, c in POLICIES
        ],
        "bad_policies": [{**head(i, w), "policies": p} for i, w, p in BAD_POLICIES],
    }


def refuses(call: Any, *arguments: Any) -> bool:
    try:
        call(*arguments)
    except Bad:
        return True
    return False


def faults(told: dict[str, Any]) -> list[str]:
    out = [f"bad_targets: {i} is good" for i, _, t, s, _ in BAD_TARGETS if not refuses(model.target, t, s)]
    out += [f"bad_sets: {i} is good" for i, _, s in BAD_SETS if not refuses(model.applied, [], s)]
    out += [f"bad_policies: {i} is good" for i, _, p in BAD_POLICIES if not refuses(model.check_policies, p)]
    out += [f"policies: {i} is bad" for i, _, p, _ in POLICIES if refuses(model.check_policies, p)]
    out += [f"identities: {i} differs" for i, _, e, want in IDENTITIES if model.identity(e) != want]
    out += [f"hashes: FNV-1a of {t!r} differs" for t, want in KNOWN if model.fnv1a(t.encode()) != want]
    if model.mix(0) != 0xE220A8397B1DCDAF:
        out.append("hashes: SplitMix64 of 0 differs")
    out += [f"races: {i} differs" for i, _, a, s, want in RACES if model.raced(a, s) != want]
    out += [
        f"latencies: {i} differs: {model.latencies(e)}"
        for i, _, e, want in LATENCIES
        if want and model.latencies(e) != want
    ]
    for i, _, t, began, wins, at in RUNS:
        found = model.run(t)
        if (
            " ".join(f"{b['address'][0]}{b['at']}" for b in found["began"]),
            (found["wins"] or "")[:1],
            found["at"],
        ) != (began, wins, at):
            out.append(f"runs: {i} differs: {found}")
    for i, _, b, s, before, after in IDLE:
        found = model.idled(b, s)
        if ["".join(state[0] for state in found[when]) for when in ("before", "after")] != [before, after]:
            out.append(f"idle: {i} differs: {found}")
    for i, _, p, calls in POLICIES:
        out += [f"policies: {i}, {m} differs" for m, s, want in calls if model.policy(p, m, s) != want]
    for group, entries in told.items():
        idents = [e["id"] for e in entries if isinstance(e, dict) and "id" in e]
        out += [f"{group}: id {i} twice" for i in {i for i in idents if idents.count(i) > 1}]
    return out
