"""Cases of registry.json, registry.md 2 to 6 and 8; those of 9 are in registry_cores.py. What can be worked out by hand stands here, for the model to agree with."""

from __future__ import annotations

import json
from typing import Any

from . import registry_cores as cores
from . import registry_model as model
from .client_model import Bad

DESCRIPTION = "Records, names of registries, what is published, the sets that watchers make, what lists of Consul's keys say, and what the embedded registry decides (registry.md)."

LEAST = {"addresses": ["10.0.0.5:4000"], "id": "a", "service": "users"}
ALL = {
    "addresses": ["10.0.0.5:4000", "[::1]:4000", "unix:/run/users.sock"],
    "attributes": {"z": "1", "a.b": 'say "hi"', "größe": "\\", "": None},
    "id": "users-7.b_2",
    "server_name": "users.example.com",
    "service": "trunkcall.example.v1.UserService",
    "version": "1.4.2+build 7",
    "weight": 30,
    "zone": "eu-west/1",
}
del ALL["attributes"][""]

LONGEST = {**LEAST, "attributes": {f"k{i:02}": "x" * 1024 for i in range(15)}}
LONGEST["attributes"]["last"] = "y" * (16_384 - len(model.written({**LONGEST, "attributes": {**LONGEST["attributes"], "last": ""}})))

# id, why, bytes as text, by hand what it has (None: what LEAST has)
RECORDS: list[tuple[str, str, str, dict[str, Any] | None]] = [
    ("least", "what must be there", '{"addresses":["10.0.0.5:4000"],"id":"a","service":"users"}', None),
    ("all", "all members", model.written(ALL), ALL),
    ("order", "members in any order", '{"service":"users","id":"a","addresses":["10.0.0.5:4000"]}', None),
    ("white-space", "any white space", '\n{ "id" : "a",\t"service":"users",\r"addresses" : [ "10.0.0.5:4000" ] } ', None),
    ("escapes", "any way of writing a text", r'{"addresses":["10.0.0.5:4000"],"id":"\u0061","service":"user\u0073"}', None),
    ("slash", "a slash may be escaped", r'{"addresses":["unix:\/x"],"id":"a","service":"users"}', {**LEAST, "addresses": ["unix:/x"]}),
    ("pair", "a character as two halves", r'{"addresses":["10.0.0.5:4000"],"id":"a","service":"users","zone":"\ud83d\ude00"}', {**LEAST, "zone": "😀"}),
    ("unknown", "unknown members are ignored", json.dumps({**LEAST, "later": {"a": [1, None, 1e99]}, "ID": 7, "": ""}), None),
    ("unknown-number", "also numbers that no type of a language holds", '{"addresses":["10.0.0.5:4000"],"id":"a","service":"users","n":' + "9" * 5000 + ',"m":-1e999}', None),
    ("unknown-deep", "32 levels", '{"addresses":["10.0.0.5:4000"],"id":"a","service":"users","n":' + "[" * 31 + "]" * 31 + "}", None),
    ("weight-one", "what says what absence says is left out", json.dumps({**LEAST, "weight": 1, "zone": "", "version": "", "server_name": "", "attributes": {}}), None),
    ("weight-most", "the greatest weight", json.dumps({**LEAST, "weight": 1_000_000}), {**LEAST, "weight": 1_000_000}),
    ("attribute-order", "attributes in the order of their bytes", json.dumps({**LEAST, "attributes": {"\U0001f600": "2", "\uffff": "1", "Z": "0"}}), {**LEAST, "attributes": {"Z": "0", "\uffff": "1", "\U0001f600": "2"}}),
    ("attribute-version", "an attribute version wins over the version", json.dumps({**LEAST, "version": "1", "attributes": {"version": "mine"}}), {**LEAST, "version": "1", "attributes": {"version": "mine"}}),
    ("attribute-empty", "an attribute may be empty", json.dumps({**LEAST, "attributes": {"a": ""}}), {**LEAST, "attributes": {"a": ""}}),
    ("attributes-most", "as many attributes as there may be", json.dumps({**LEAST, "attributes": {f"k{i:02}": "" for i in range(64)}}), {**LEAST, "attributes": {f"k{i:02}": "" for i in range(64)}}),
    ("addresses-most", "as many addresses as there may be", json.dumps({**LEAST, "addresses": [f"h:{i}" for i in range(1, 17)]}), {**LEAST, "addresses": [f"h:{i}" for i in range(1, 17)]}),
    ("names-longest", "the longest names", json.dumps({**LEAST, "id": "_" + "i" * 127, "service": "9" + "s" * 199}), {**LEAST, "id": "_" + "i" * 127, "service": "9" + "s" * 199}),
    ("zone-longest", "sizes are in bytes of UTF-8", json.dumps({**LEAST, "zone": "ö" * 64}), {**LEAST, "zone": "ö" * 64}),
    ("longest", "the longest record", model.written(LONGEST), LONGEST),
]  # fmt: skip

ADDRESSES, ATTRIBUTES = (f"{one}: want {model.WANT[one]}" for one in ("addresses", "attributes"))
ID, SERVICE, WEIGHT, ZONE = (f"{one}: want {model.WANT[one]}" for one in ("id", "service", "weight", "zone"))
NO_JSON = "not a JSON object"


def least(**members: Any) -> str:
    """LEAST with members exchanged; None takes one away."""
    return json.dumps({name: value for name, value in {**LEAST, **members}.items() if value is not None})


def raw(member: str, text: str) -> str:
    return '{"addresses":["10.0.0.5:4000"],"id":"a","service":"users","' + member + '":' + text + "}"


# id, why, bytes as text, the error
BAD_RECORDS: list[tuple[str, str, str, str]] = [
    ("json-empty", "nothing", "", NO_JSON),
    ("json-blank", "white space alone", " \n", NO_JSON),
    ("json-array", "no object", "[]", NO_JSON),
    ("json-text", "no object", '"a"', NO_JSON),
    ("json-null", "no object", "null", NO_JSON),
    ("json-half", "half written", '{"addresses":["10.0.0.5:40', NO_JSON),
    ("json-behind", "something behind it", least() + "{}", NO_JSON),
    ("json-comma", "a comma too many", '{"id":"a",}', NO_JSON),
    ("json-comment", "a comment", "{}//", NO_JSON),
    ("json-quotes", "other quotes", "{'id':'a'}", NO_JSON),
    ("json-mark", "a byte order mark", "\ufeff" + least(), NO_JSON),
    ("json-nan", "no number", raw("n", "NaN"), NO_JSON),
    ("json-infinity", "no number", raw("n", "-Infinity"), NO_JSON),
    ("json-zeros", "no number", raw("n", "01"), NO_JSON),
    ("json-control", "a control character as it is", raw("n", '"\t"'), NO_JSON),
    ("json-zero", "a byte of zero behind it", least() + "\0", NO_JSON),
    ("json-twice", "a member twice", '{"addresses":["10.0.0.5:4000"],"id":"a","id":"a","service":"users"}', NO_JSON),
    ("json-twice-escaped", "also if written otherwise", r'{"addresses":["10.0.0.5:4000"],"id":"a","\u0069d":"b","service":"users"}', NO_JSON),
    ("json-twice-attribute", "an attribute twice", raw("attributes", '{"a":"1","a":"2"}'), NO_JSON),
    ("json-twice-unknown", "also in what is ignored", raw("n", '{"a":1,"a":1}'), NO_JSON),
    ("json-half-pair", "half a pair is no text", raw("zone", r'"\ud83d"'), NO_JSON),
    ("json-half-pair-unknown", "also in what is ignored", raw("n", r'["\ude00"]'), NO_JSON),
    ("json-deep", "33 levels", raw("n", "[" * 32 + "]" * 32), NO_JSON),
    ("json-deepest", "levels by the thousand", "[" * 8000 + "]" * 8000, NO_JSON),
    ("json-open", "and none of them closed", '{"a":' * 3000, NO_JSON),
    ("size", "a byte too many", model.written(LONGEST) + " ", "record of 16385 bytes, at most 16384"),
    ("size-before-json", "the size is looked at first", "x" * 16_385, "record of 16385 bytes, at most 16384"),
    ("addresses-absent", "no addresses", least(addresses=None), ADDRESSES),
    ("addresses-none", "none of them", least(addresses=[]), ADDRESSES),
    ("addresses-text", "a text", least(addresses="10.0.0.5:4000"), ADDRESSES),
    ("addresses-null", "null is no array", raw("x", "1").replace('["10.0.0.5:4000"]', "null"), ADDRESSES),
    ("addresses-17", "one too many", least(addresses=[f"h:{i}" for i in range(1, 18)]), ADDRESSES),
    ("addresses-number", "one that is no text", least(addresses=["a:1", 7]), ADDRESSES),
    ("addresses-empty", "an empty one", least(addresses=[""]), ADDRESSES),
    ("addresses-long", "one that is too long", least(addresses=["unix:/" + "x" * 250]), ADDRESSES),
    ("addresses-control", "one with a control character", least(addresses=["unix:/\n"]), ADDRESSES),
    ("addresses-port", "one without a port", least(addresses=["a:1", "nowhere"]), 'addresses[1]: want an address, not "nowhere"'),
    ("addresses-port-0", "one that cannot be", least(addresses=["a:0"]), 'addresses[0]: want an address, not "a:0"'),
    ("addresses-list", "a list in one text", least(addresses=["a:1,b:2"]), 'addresses[0]: want an address, not "a:1,b:2"'),
    ("addresses-dns", "resolvers are not asked again", least(addresses=["dns:a:1"]), 'addresses[0]: want an address, not "dns:a:1"'),
    ("addresses-blank", "a blank", least(addresses=[" a:1"]), 'addresses[0]: want an address, not " a:1"'),
    ("addresses-first", "members in the order of the table", least(addresses=["a"], id="", weight=0), 'addresses[0]: want an address, not "a"'),
    ("attributes-array", "no object", least(attributes=["a"]), ATTRIBUTES),
    ("attributes-number", "one that is no text", least(attributes={"a": 1}), ATTRIBUTES),
    ("attributes-null", "one that is null", raw("attributes", '{"a":null}'), ATTRIBUTES),
    ("attributes-65", "one too many", least(attributes={f"k{i}": "" for i in range(65)}), ATTRIBUTES),
    ("attributes-name-empty", "an empty name", least(attributes={"": "x"}), ATTRIBUTES),
    ("attributes-name-long", "a name that is too long", least(attributes={"n" * 129: "x"}), ATTRIBUTES),
    ("attributes-name-control", "a control character in a name", least(attributes={"a\x7f": "x"}), ATTRIBUTES),
    ("attributes-long", "a text that is too long", least(attributes={"a": "x" * 1025}), ATTRIBUTES),
    ("attributes-control", "a control character", least(attributes={"a": "\0"}), ATTRIBUTES),
    ("id-absent", "no id", least(id=None), ID),
    ("id-empty", "an empty one", least(id=""), ID),
    ("id-number", "no text", least(id=7), ID),
    ("id-long", "a byte too long", least(id="i" * 129), ID),
    ("id-slash", "it would lead elsewhere", least(id="../b"), ID),
    ("id-dot", "a file of that name would be hidden", least(id=".b"), ID),
    ("id-letter", "other letters", least(id="größe"), ID),
    ("id-line", "a line end", least(id="a\n"), ID),
    ("id-key", "not the id of its key", least(id="b"), "id: want a, as its key says"),
    ("server-name-long", "a byte too long", least(server_name="x" * 254), f"server_name: want {model.WANT['server_name']}"),
    ("service-absent", "no service", least(service=None), SERVICE),
    ("service-long", "a byte too long", least(service="s" * 201), SERVICE),
    ("service-blank", "a blank", least(service="use rs"), SERVICE),
    ("service-key", "not the service of its key", least(service="orders"), "service: want users, as its key says"),
    ("service-key-first", "the service is looked at first", least(service="orders", id="b"), "service: want users, as its key says"),
    ("version-array", "no text", least(version=["1"]), f"version: want {model.WANT['version']}"),
    ("version-long", "a byte too long", least(version="x" * 129), f"version: want {model.WANT['version']}"),
    ("weight-0", "a weight of none", least(weight=0), WEIGHT),
    ("weight-below", "below", least(weight=-1), WEIGHT),
    ("weight-above", "above", least(weight=1_000_001), WEIGHT),
    ("weight-far-above", "more digits than any type has", raw("weight", "9" * 5000), WEIGHT),
    ("weight-fraction", "a fraction, be it none", raw("weight", "5.0"), WEIGHT),
    ("weight-exponent", "an exponent", raw("weight", "1e3"), WEIGHT),
    ("weight-minus-zero", "a sign", raw("weight", "-0"), WEIGHT),
    ("weight-text", "a text", raw("weight", '"5"'), WEIGHT),
    ("weight-true", "true is no number", raw("weight", "true"), WEIGHT),
    ("weight-null", "null", raw("weight", "null"), WEIGHT),
    ("zone-long", "bytes, not characters", least(zone="ö" * 65), ZONE),
    ("zone-control", "a control character", raw("zone", r'"\u0000"'), ZONE),
    ("zone-null", "null is no text", raw("zone", "null"), ZONE),
]  # fmt: skip

# id, why, bytes, the error
BAD_BYTES = [
    ("utf-8", "no UTF-8", b'{"addresses":["a:1"],"id":"a","service":"users","zone":"\xff"}', NO_JSON),
    ("utf-8-surrogate", "half a pair in UTF-8", b'{"addresses":["a:1"],"id":"a","service":"users","zone":"\xed\xa0\xbd"}', NO_JSON),
    ("utf-8-long", "a character in more bytes than it takes", b'{"addresses":["a:1"],"id":"a","service":"users","zone":"\xc0\x80"}', NO_JSON),
    ("utf-16", "UTF-16", least().encode("utf-16"), NO_JSON),
]  # fmt: skip

# id, why, text, by hand: what it names or the error
REGISTRIES = [
    ("folder", "a folder", "file:/run/trunkcall", "/run/trunkcall"),
    ("folder-colon", "any path", "file:/a:b c", "/a:b c"),
    ("srv", "DNS", "srv:example.com", "example.com"),
    ("embedded", "the embedded registry", "trunkcall:127.0.0.1:4001", "127.0.0.1:4001"),
    ("embedded-unix", "at a Unix socket", "trunkcall:unix:/run/registry.sock", "unix:/run/registry.sock"),
    ("srv-label", "one label", "srv:local", "local"),
]
BAD_REGISTRIES = [
    ("empty", "nothing", "", "want SCHEME:REST"),
    ("no-colon", "no scheme", "/run/trunkcall", "want SCHEME:REST"),
    ("scheme-empty", "an empty one", ":/run", "want SCHEME:REST"),
    ("scheme-letter", "schemes are of small letters", "File:/run", "want SCHEME:REST"),
    ("scheme-unknown", "nobody knows it", "redis:a:1", 'no package for "redis" is in this program'),
    ("folder-empty", "no path", "file:", "want file:FOLDER with an absolute path"),
    ("folder-relative", "a relative path", "file:run", "want file:FOLDER with an absolute path"),
    ("embedded-empty", "no address", "trunkcall:", "want trunkcall:ADDRESS"),
    ("embedded-port", "no port", "trunkcall:localhost", "want trunkcall:ADDRESS"),
    ("embedded-two", "two addresses", "trunkcall:a:1,b:1", "want trunkcall:ADDRESS"),
    ("embedded-long", "too long", "trunkcall:unix:/" + "x" * 250, "want trunkcall:ADDRESS"),
    ("srv-empty", "no domain", "srv:", "want srv:DOMAIN"),
    ("srv-dots", "an empty label", "srv:a..b", "want srv:DOMAIN"),
    ("srv-port", "no port", "srv:a:53", "want srv:DOMAIN"),
    ("srv-long", "a label that is too long", "srv:" + "x" * 64, "want srv:DOMAIN"),
    ("srv-longest", "a domain that is too long", "srv:" + "a." * 127, "want srv:DOMAIN"),
]

S1 = ["trunkcall.example.v1.UserService", "calc"]
# id, why, what there is, by hand: services, addresses and id
PUBLISHED: list[tuple[str, str, dict[str, Any], tuple[list[str], list[str], str]]] = [
    ("services", "the services that are served", {"services": S1, "listening": ["10.0.0.5:4000"]}, (S1, ["10.0.0.5:4000"], "10.0.0.5_4000")),
    ("services-grpc", "without gRPC's own", {"services": ["calc", "grpc.health.v1.Health", "grpc.reflection.v1.ServerReflection"], "listening": ["a:1"]}, (["calc"], ["a:1"], "a_1")),
    ("names", "names that are given", {"names": ["users"], "services": S1, "listening": ["a:1"]}, (["users"], ["a:1"], "a_1")),
    ("names-twice", "a name that is given twice", {"names": ["users", "calc", "users"], "services": S1, "listening": ["a:1"]}, (["users", "calc"], ["a:1"], "a_1")),
    ("addresses-given", "addresses that are given", {"addresses": ["api:4000"], "services": ["calc"], "listening": ["0.0.0.0:4000"]}, (["calc"], ["api:4000"], "api_4000")),
    ("addresses-several", "all that it listens on, but memory", {"services": ["calc"], "listening": ["mem:x", "unix:/run/x", "a:1"]}, (["calc"], ["unix:/run/x", "a:1"], "unix__run_x")),
    ("id-given", "an id that is given", {"id": "i-1", "services": ["calc"], "listening": ["a:1"]}, (["calc"], ["a:1"], "i-1")),
    ("id-made-ipv6", "brackets and colons", {"services": ["calc"], "listening": ["[::1]:4000"]}, (["calc"], ["[::1]:4000"], "___1__4000")),
    ("id-made-letters", "each character that is none of ours", {"addresses": ["größe.example:1"], "services": ["calc"], "listening": []}, (["calc"], ["größe.example:1"], "gr__e.example_1")),
    ("id-made-long", "the end of a long address", {"addresses": ["unix:/" + "d" * 200 + "/x"], "services": ["calc"], "listening": []}, (["calc"], ["unix:/" + "d" * 200 + "/x"], "d" * 125 + "_x")),
    ("id-made-dot", "what may not begin a name", {"addresses": ["unix:/" + "." * 126 + "x"], "services": ["calc"], "listening": []}, (["calc"], ["unix:/" + "." * 126 + "x"], "_" + "." * 126 + "x")),
    ("record", "what else the record says", {"record": {"weight": 3, "zone": "z", "version": "7", "attributes": {"k": "v"}}, "services": ["calc"], "listening": ["a:1"]}, (["calc"], ["a:1"], "a_1")),
]  # fmt: skip
ALL_ADDRESSES = " is listened on, which is all addresses of this machine: say by which one it is reached"
BAD_PUBLISHED: list[tuple[str, str, dict[str, Any], str]] = [
    ("none", "no service", {"services": [], "listening": ["a:1"]}, "no service to publish"),
    ("none-but-grpc", "none but gRPC's own", {"services": ["grpc.health.v1.Health"], "listening": ["a:1"]}, "no service to publish"),
    ("wildcard", "all addresses", {"services": ["calc"], "listening": ["0.0.0.0:4000"]}, "0.0.0.0:4000" + ALL_ADDRESSES),
    ("wildcard-ipv6", "all of IPv6, besides another", {"services": ["calc"], "listening": ["a:1", "[::]:4000"]}, "[::]:4000" + ALL_ADDRESSES),
    ("memory", "memory alone", {"services": ["calc"], "listening": ["mem:x"]}, ADDRESSES),
    ("name", "a service whose name is none", {"services": ["a/b"], "listening": ["a:1"]}, SERVICE),
    ("address", "an address at fault", {"addresses": ["a"], "services": ["calc"], "listening": ["a:1"]}, 'addresses[0]: want an address, not "a"'),
    ("weight", "a member at fault", {"record": {"weight": 1_000_001}, "services": ["calc"], "listening": ["a:1"]}, WEIGHT),
    ("size", "a record that is too long", {"record": {"attributes": LONGEST["attributes"]}, "services": ["calculator"], "listening": ["a.example.com:1"]}, "record of 16405 bytes, at most 16384"),
]  # fmt: skip


def answer(target: str, port: int = 4000, priority: int = 0, weight: int = 0) -> dict[str, Any]:
    return {"target": target, "port": port, "priority": priority, "weight": weight}


# id, why, service, answers, ids by hand
SRV: list[tuple[str, str, str, list[dict[str, Any]], list[str]]] = [
    ("two", "a weight of 0 counts as 1", "users", [answer("b.example.com.", weight=0), answer("a.example.com.", weight=5)], ["a.example.com_4000", "b.example.com_4000"]),
    ("priority", "the lowest priority counts", "users", [answer("a.", priority=20), answer("b.", priority=10), answer("c.", priority=10)], ["b_4000", "c_4000"]),
    ("dots", "dots in the name of the service", "trunkcall.example.v1.UserService", [answer("a.")], ["a_4000"]),
    ("nowhere", "a target that says that there is none, a port that is none", "users", [answer("."), answer("b.", port=0), answer("c.", priority=1)], ["c_4000"]),
    ("none", "no answers", "users", [], []),
    ("ports", "two ports of one host", "users", [answer("a.", port=2), answer("a.", port=1)], ["a_1", "a_2"]),
]  # fmt: skip


def entry(ident: str, **members: Any) -> str:
    return model.written({"addresses": [f"{ident}:1"], "id": ident, "service": "users", **members})


def of(names: str, **members: Any) -> dict[str, str]:
    return {one: entry(one, **members) for one in names}


def at(time: int, **step: Any) -> dict[str, Any]:
    return {"at": time, **step}


TEN = "abcdefghij"
WENT_ONE_BY_ONE = [at(1000 + 100 * i, went=[one]) for i, one in enumerate(TEN)]

# id, why, steps, until, by hand: the sets that are handed over, what is told, the reason at the end
WATCHES: list[tuple[str, str, list[dict[str, Any]], int, list[tuple[int, str]], list[tuple[int, str]], str]] = [
    ("first", "all at first", [at(5, all=of("ba"))], 100, [(5, "ab")], [], ""),
    ("came", "one comes", [at(0, all=of("a")), at(50, came=of("b"))], 100, [(0, "a"), (50, "ab")], [], ""),
    ("went-one", "one of two goes", [at(0, all=of("ab")), at(50, went=["a"])], 100, [(0, "ab"), (50, "b")], [], ""),
    ("changed", "a record changes", [at(0, all=of("a")), at(50, came=of("a", weight=7))], 100, [(0, "a"), (50, "a")], [], ""),
    ("same", "what is equal is not handed over again", [at(0, all=of("ab")), at(50, came=of("a")), at(90, all=of("ab"))], 200, [(0, "ab")], [], ""),
    ("same-bytes", "other bytes that say the same are equal", [at(0, all=of("a")), at(50, came={"a": entry("a") + "\n"})], 200, [(0, "a")], [], ""),
    ("went-unknown", "one goes that was not there", [at(0, all=of("a")), at(50, went=["x"])], 100, [(0, "a")], [], ""),
    ("order", "by the bytes of the ids", [at(0, all=of("bZ_a1"))], 10, [(0, "1Z_ab")], [], ""),
    ("settling", "at most every 10 ms; the last counts", [at(0, all=of("a")), at(1, came=of("b")), at(2, came=of("c")), at(3, went=["b"])], 100, [(0, "a"), (10, "ac")], [], ""),
    ("settling-back", "a change that is taken back is none", [at(0, all=of("a")), at(1, came=of("b")), at(2, went=["b"])], 100, [(0, "a")], [], ""),
    ("settling-many", "three hundred changes a second", [at(0, all=of("a")), *(at(3 * i, came=of("b", weight=i)) for i in range(1, 7))], 100, [(0, "a"), (10, "ab"), (20, "ab")], [], ""),
    ("empty-first", "none at first", [at(0, all={})], 100, [], [], "no instance of users is registered"),
    ("empty-then", "one comes later", [at(0, all={}), at(500, came=of("a"))], 600, [(500, "a")], [], ""),
    ("empty-kept", "an empty set is never believed", [at(0, all=of("ab")), at(50, all={})], 600_000, [(0, "ab")], [(50, "kept 2")], ""),
    ("empty-kept-told", "nor when it is told again long after: that time does not count",
     [at(0, all=of("abc")), at(50, all={}), at(200_000, all={}), at(250_000, came={"x": "{"}), at(300_000, came=of("a"))], 600_000,
     [(0, "abc"), (360_000, "a")], [(50, "kept 3"), (250_000, "x: not a JSON object")], ""),
    ("empty-one-by-one", "nor one that empties step by step: half stay",
     [at(0, all=of(TEN)), *WENT_ONE_BY_ONE], 600_000, [(0, TEN), (1000, "bcdefghij"), (1100, "cdefghij"), (1200, "defghij"), (1300, "efghij"), (1400, "fghij")], [(1500, "kept 1")], ""),
    ("empty-replaced", "the only one is replaced by another", [at(0, all=of("a")), at(50, went=["a"]), at(5000, came=of("b"))], 600_000, [(0, "a"), (5000, "b")], [(50, "kept 1")], ""),
    ("empty-filled", "an emptied store that fills again: who is missing stays until as many are there",
     [at(0, all=of("abcd")), at(50, all={}), at(200_000, came=of("w")), at(200_100, came=of("x"))], 600_000,
     [(0, "abcd"), (200_000, "abcdw"), (200_100, "abcdwx"), (260_000, "wx")], [(50, "kept 4")], ""),
    ("empty-back", "and it comes back under its name", [at(0, all=of("abc")), at(50, all={}), at(900, came=of("a")), at(950, came=of("bc"))], 600_000, [(0, "abc")], [(50, "kept 3")], ""),
    ("half-went", "half of them go at once", [at(0, all=of("abcd")), at(50, went=["a", "b"])], 100, [(0, "abcd"), (50, "cd")], [], ""),
    ("most-went", "more than half: they stay for 60 s", [at(0, all=of("abcd")), at(50, went=["a", "b", "c"])], 600_000, [(0, "abcd"), (60_050, "d")], [(50, "kept 3")], ""),
    ("most-went-back", "unless they come back", [at(0, all=of("abcd")), at(50, went=["a", "b", "c"]), at(30_000, came=of("ab"))], 600_000, [(0, "abcd"), (30_000, "abd")], [(50, "kept 3")], ""),
    ("most-replaced", "all are replaced: the old ones leave when as many are there",
     [at(0, all=of("abc")), at(50, all=of("x")), at(100, came=of("y")), at(200, came=of("z"))], 600_000, [(0, "abc"), (50, "abcx"), (100, "abcxy"), (200, "xyz")], [(50, "kept 3")], ""),
    ("most-went-again", "each time that they are kept is told of",
     [at(0, all=of("abc")), at(50, all={}), at(900, came=of("abc")), at(2000, went=["b"]), at(2050, went=["c"])], 600_000,
     [(0, "abc"), (2000, "ac"), (62_000, "a")], [(50, "kept 3"), (2050, "kept 1")], ""),
    ("failed-told", "once for each time that it failed", [at(0, failed="x"), at(50, all=of("a")), at(60, came=of("b"))], 100, [(50, "a"), (60, "ab")], [(0, "x"), (50, "again")], ""),
    ("slowly", "those that went more than 60 s ago do not count",
     [at(0, all=of("abc")), at(1000, went=["a"]), at(61_000, went=["b"])], 600_000, [(0, "abc"), (1000, "bc"), (61_000, "c")], [], ""),
    ("slowly-not", "those that went just before do",
     [at(0, all=of("abc")), at(1000, went=["a"]), at(60_999, went=["b"])], 600_000, [(0, "abc"), (1000, "bc"), (61_000, "c")], [(60_999, "kept 1")], ""),
    ("failed", "a failure changes nothing", [at(0, all=of("ab")), at(50, failed="connection refused"), at(60, failed="connection refused")], 600_000,
     [(0, "ab")], [(50, "connection refused")], ""),
    ("failed-again", "it is told again after the store told something", [at(0, all=of("ab")), at(50, failed="x"), at(60, all=of("ab")), at(70, failed="y")], 100,
     [(0, "ab")], [(50, "x"), (60, "again"), (70, "y")], ""),
    ("failed-first", "there was no set yet", [at(0, failed="connection refused")], 100, [], [(0, "connection refused")], "connection refused"),
    ("failed-gap", "what went meanwhile is noticed", [at(0, all=of("abc")), at(50, failed="x"), at(90_000, all=of("bcd"))], 100_000, [(0, "abc"), (90_000, "bcd")], [(50, "x"), (90_000, "again")], ""),
    ("failed-emptied", "a store that comes back empty", [at(0, all=of("abc")), at(50, failed="x"), at(90_000, all={})], 600_000, [(0, "abc")], [(50, "x"), (90_000, "again"), (90_000, "kept 3")], ""),
    ("rubbish-one", "rubbish is left out, and told", [at(0, all={**of("ab"), "c": "{"})], 100, [(0, "ab")], [(0, "c: not a JSON object")], ""),
    ("rubbish-key", "so is a record under another key", [at(0, all={**of("a"), "c": entry("b")})], 100, [(0, "a")], [(0, "c: id: want c, as its key says")], ""),
    ("rubbish-over", "the last good record stays", [at(0, all=of("ab")), at(50, came={"a": "half"})], 100, [(0, "ab")], [(50, "a: not a JSON object")], ""),
    ("rubbish-over-all", "a store filled with rubbish", [at(0, all=of("ab")), at(50, all={"a": "1", "b": "2", "c": "3"})], 600_000, [(0, "ab")],
     [(50, "a: not a JSON object"), (50, "b: not a JSON object"), (50, "c: not a JSON object")], ""),
    ("rubbish-over-mended", "and mended", [at(0, all=of("a")), at(50, came={"a": "half"}), at(90, came=of("a", zone="z"))], 200, [(0, "a"), (90, "a")], [(50, "a: not a JSON object")], ""),
    ("rubbish-over-went", "and it goes", [at(0, all=of("ab")), at(50, came={"a": "half"}), at(90, went=["a"])], 200, [(0, "ab"), (90, "b")], [(50, "a: not a JSON object")], ""),
    ("rubbish-once", "the same bytes are told once", [at(0, all={**of("a"), "c": "{"}), at(50, all={**of("a"), "c": "{"}), at(60, came={"c": "{"}), at(70, came={"c": "["})], 100,
     [(0, "a")], [(0, "c: not a JSON object"), (70, "c: not a JSON object")], ""),
    ("rubbish-many", "8 are named", [at(0, all={**of("a"), **dict.fromkeys("bcdefghijkl", "x")})], 100, [(0, "a")],
     [*((0, f"{one}: not a JSON object") for one in "bcdefghi"), (0, "more 3")], ""),
    ("rubbish-alone", "nothing but rubbish", [at(0, all={"a": "x", "b": "y"})], 100, [], [(0, "a: not a JSON object"), (0, "b: not a JSON object")],
     "no instance of users is registered, and 2 entries are left out"),
    ("rubbish-missing", "what is missing comes back as rubbish", [at(0, all=of("abc")), at(50, all=of("c")), at(60, came={"a": "x", "b": "y"})], 600_000,
     [(0, "abc")], [(50, "kept 2"), (60, "a: not a JSON object"), (60, "b: not a JSON object")], ""),
    ("rubbish-forgotten", "what is forgotten does not", [at(0, all=of("abc")), at(50, went=["a"]), at(90, came={"a": "x"})], 600_000, [(0, "abc"), (50, "bc")], [(90, "a: not a JSON object")], ""),
]  # fmt: skip


def head(ident: str, why: str) -> dict[str, Any]:
    return {"id": ident, "why": why}


def bad(act: Any, *arguments: Any) -> str:
    try:
        act(*arguments)
    except Bad as why:
        return str(why)
    return "nothing is wrong"


def keys(*records: str) -> dict[str, str]:
    """Records by their names, in Consul's order: of "a" the record of that id, of "a:2" another."""
    made = {}
    for one in records:
        ident, _, port = one.partition(":")
        text = json.dumps({**LEAST, "id": ident, "addresses": [f"{ident}:{port or 1}"]})
        made[model.key_name(ident, text)] = text
    return dict(sorted(made.items()))


def listed(there: dict[str, str], gone: str = "") -> dict[str, Any]:
    """A list, of which some records have gone once they are asked for."""
    return {"names": list(there), "records": {name: text for name, text in there.items() if name.partition("/")[0] != gone}}


A, A2 = keys("a"), keys("a:2")
BOTH = keys("a", "a:2")
FIRST, SECOND = ({name: BOTH[name]} for name in BOTH)
ZEROS = "0" * 16
SPOILT = {f"a/{ZEROS}": A[next(iter(A))]}
FOREIGN = [f"-e/{ZEROS}", f"a/{ZEROS[1:]}", f"a/{ZEROS}0", "a/" + "A" * 16, "b", f"c/d/{ZEROS}"]
OTHERS = [f"consul:{one}" for one in FOREIGN]
FOREIGN = dict(sorted({**dict.fromkeys([*FOREIGN, f"a/{ZEROS}"], "x"), **keys("a", "b")}.items()))

# id, why, lists, by hand what is asked for and told behind each
LISTINGS: list[tuple[str, str, list[dict[str, Any]], list[str]]] = [
    ("none", "no name", [listed({})], ["all "]),
    ("all", "all at first", [listed(keys("a", "a-b", "b"))], ["asked a-b a b, all a-b a b"]),
    ("same", "the same once more", [listed(A), listed(A)], ["asked a, all a", ""]),
    ("came", "one came", [listed(A), listed(keys("a", "b"))], ["asked a, all a", "asked b, came b"]),
    ("went", "one went", [listed(keys("a", "b")), listed(A)], ["asked a b, all a b", "went b"]),
    ("back", "it went, and is back", [listed(A), listed({}), listed(A)], ["asked a, all a", "went a", "asked a, came a"]),
    ("exchanged", "another record of an id", [listed(A), listed(A2)], ["asked a, all a", "asked a, came a"]),
    ("gone", "it has gone by the time that it is asked for", [listed(keys("a", "b"), "b"), listed(keys("a", "b"))], ["asked a b, all a", "asked b, came b"]),
    ("gone-another", "another record has gone: the next list says whether the one before is there", [listed(A), listed(A2, "a"), listed(A)], ["asked a, all a", "asked a", ""]),
    ("gone-another-none", "it is not", [listed(keys("a", "b")), listed({**A2, **keys("b")}, "a"), listed(keys("b"))], ["asked a b, all a b", "asked a", "went a"]),
    ("gone-another-third", "nor is what has come meanwhile", [listed(A), listed(A2, "a"), listed(keys("a:3"))], ["asked a, all a", "asked a", "asked a, came a"]),
    ("gone-in-front", "one that came in front has gone", [listed(SECOND), listed(BOTH, "a"), listed(SECOND)], ["asked a, all a", "asked a", ""]),
    ("folder", "the key of the service's folder is none", [listed({"": "", **A}), listed({"": ""})], ["asked a, all a", "went a"]),
    ("two", "of two records of an id the first counts", [listed(BOTH), listed(BOTH)], ["asked a, all a", ""]),
    ("two-first", "one that comes in front, and goes", [listed(SECOND), listed(BOTH), listed(SECOND)], ["asked a, all a", "asked a, came a", "asked a, came a"]),
    ("two-second", "one that comes behind", [listed(FIRST), listed(BOTH), listed(SECOND)], ["asked a, all a", "", "asked a, came a"]),
    ("two-went", "both go", [listed(BOTH), listed({})], ["asked a, all a", "went a"]),
    ("spoilt", "a value that is not that of its key", [listed(SPOILT), listed(A)], ["asked a, all a, spoilt a", "asked a, came a"]),
    ("foreign", "names that are none, of which each counts for itself, and is not asked for", [listed(FOREIGN), listed(A)], [
        "asked a b, all {0} {1} a {2} {3} {4} b {5}, spoilt a {0} {1} {2} {3} {4} {5}".format(*OTHERS),
        "asked a, came a, went b {} {} {} {} {} {}".format(*OTHERS),
    ]),
]  # fmt: skip


def content() -> dict[str, Any]:
    key = ("users", "a")
    return {
        "description": DESCRIPTION,
        "records": [
            {**head(i, w), "input": t, "record": (r := model.read(t.encode())), "written": model.written(r), "endpoint": model.endpoint(r)}
            for i, w, t, _ in RECORDS
        ],
        "bad_records": [
            {**head(i, w), "input": t, "service": key[0], "key": key[1], "error": e} for i, w, t, e in BAD_RECORDS
        ] + [{**head(i, w), "hex": b.hex(), "service": key[0], "key": key[1], "error": e} for i, w, b, e in BAD_BYTES],
        "registries": [{**head(i, w), "name": t, **model.named(t)} for i, w, t, _ in REGISTRIES],
        "bad_registries": [{**head(i, w), "name": t, "error": f'registry "{t}": {e}'} for i, w, t, e in BAD_REGISTRIES],
        "published": [{**head(i, w), "given": g, "records": model.published(g)} for i, w, g, _ in PUBLISHED],
        "bad_published": [{**head(i, w), "given": g, "error": e} for i, w, g, e in BAD_PUBLISHED],
        "srv": [
            {**head(i, w), "service": s, "domain": "example.com", "answers": a, **model.srv(s, "example.com", a)}
            for i, w, s, a, _ in SRV
        ],
        "watches": [
            {**head(i, w), "service": "users", "steps": s, "until": u, **model.watched("users", s, u)}
            for i, w, s, u, *_ in WATCHES
        ],
        "listings": [{**head(i, w), "steps": s, "told": model.listed(s)} for i, w, s, _ in LISTINGS],
        **cores.content(),
    }  # fmt: skip


def faults(told: dict[str, Any]) -> list[str]:
    """Where the model and what was worked out by hand are not one, and ids that come twice."""
    found = []

    def same(group: str, ident: str, is_: Any, hand: Any) -> None:
        if is_ != hand:
            found.append(f"{group}: {ident}: by hand {hand!r}, the model says {is_!r}")

    for (i, _, _, r), one in zip(RECORDS, told["records"], strict=True):
        same("records", i, one["record"], r or LEAST)
        same("records", i, model.read(one["written"].encode(), (one["record"]["service"], one["record"]["id"])), one["record"])
    for i, _, t, e in BAD_RECORDS:
        same("bad_records", i, bad(model.read, t.encode(), ("users", "a")), e)
    for i, _, b, e in BAD_BYTES:
        same("bad_records", i, bad(model.read, b, ("users", "a")), e)
    for (i, _, _, rest), one in zip(REGISTRIES, told["registries"], strict=True):
        same("registries", i, one["rest"], rest)
    for i, _, t, e in BAD_REGISTRIES:
        same("bad_registries", i, bad(model.named, t), f'registry "{t}": {e}')
    for (i, _, _, (services, addresses, ident)), one in zip(PUBLISHED, told["published"], strict=True):
        read = [model.read(text.encode()) for text in one["records"]]
        same("published", i, [(r["service"], r["addresses"], r["id"]) for r in read], [(s, addresses, ident) for s in services])
    for i, _, g, e in BAD_PUBLISHED:
        same("bad_published", i, bad(model.published, g), e)
    for (i, _, _, _, ids), one in zip(SRV, told["srv"], strict=True):
        same("srv", i, sorted(one["entries"]), ids)
    for (i, _, _, _, handed, lines, reason), one in zip(WATCHES, told["watches"], strict=True):
        same("watches", i, [(h["at"], "".join(e["id"] for e in h["set"])) for h in one["handed"]], handed)
        same("watches", i, [(t["at"], line(t)) for t in one["told"]], lines)
        same("watches", i, one["reason"], reason)
    for (i, _, _, lines), one in zip(LISTINGS, told["listings"], strict=True):
        same("listings", i, [listing(t) for t in one["told"]], lines)
    found += cores.faults(told)
    for group, entries in told.items():
        ids = [e["id"] for e in entries] if isinstance(entries, list) else []
        found += [f"{group}: id {one} twice" for one in sorted({one for one in ids if ids.count(one) > 1})]
    return found


def listing(told: dict[str, Any]) -> str:
    parts = {"asked": [one.partition("/")[0] for one in told["asked"]], **{w: told[w] for w in ("all", "came", "went", "spoilt") if w in told}}
    return ", ".join(f"{what} {' '.join(ids)}" for what, ids in parts.items() if ids or what == "all")


def line(told: dict[str, Any]) -> str:
    if "id" in told:
        return f"{told['id']}: {told['text']}"
    for what in ("kept", "more"):
        if what in told:
            return f"{what} {told[what]}"
    return told.get("failed", "again")
