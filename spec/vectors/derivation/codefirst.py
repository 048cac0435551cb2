"""Cases of code-first.json, code-first.md."""

from __future__ import annotations

import json
import re
import string
from typing import Any

from . import codefirst_read as reader
from . import codefirst_write as writer
from .codefirst_types import Reader

DESCRIPTION = "Names, arguments and results of code-first methods (code-first.md)."

SMALL = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)
LARGE = str.maketrans(string.ascii_lowercase, string.ascii_uppercase)

NAMES = [
    ("Div", "div"), ("div", "div"), ("GetURL", "getUrl"), ("getURL", "getUrl"), ("getUrl", "getUrl"),
    ("get_url", "getUrl"), ("HTTPGet", "httpGet"), ("ID", "id"), ("UserID", "userId"), ("X", "x"), ("XAxis", "xAxis"),
    ("OAuthToken", "oAuthToken"), ("HTTP2Get", "http2Get"), ("V2API", "v2Api"), ("Sha256sum", "sha256sum"),
    ("get_2nd", "get2nd"), ("MAX_SIZE", "maxSize"), ("_private", "private"), ("__init__", "init"), ("Get_URL", "getUrl"),
    ("URLs", "urLs"), ("ParseHTTPRequest", "parseHttpRequest"), ("Größe", "größe"), ("ÄndereID", "ÄndereId"),
    ("aB", "aB"), ("ABc", "aBc"), ("a__b", "aB"), ("A1B", "a1B"),
]  # fmt: skip

POINT = {"record": [{"name": "x", "type": "int32"}, {"name": "y", "type": "int32"}]}
COLOUR = {"enumeration": ["RED", "GREEN"]}
NODE = {"record": [{"name": "name", "type": "text"}, {"name": "at", "type": {"optional": POINT}},
                   {"name": "tags", "type": {"list": "text"}}]}  # fmt: skip


def integers() -> list[tuple[str, Any, Any, str]]:
    out: list[tuple[str, Any, Any, str]] = []
    for bits in (8, 16, 32, 64):
        out.append((f"int{bits}-least", f"int{bits}", str(-(2 ** (bits - 1))), "the least of its range"))
        out.append((f"int{bits}-most", f"int{bits}", str(2 ** (bits - 1) - 1), "the most of its range"))
        out.append((f"uint{bits}-most", f"uint{bits}", str(2**bits - 1), "the most of its range"))
    edges = (0, -1, -32, -33, 127, 128, 255, 256, 65535, 65536, 2**32 - 1, 2**32, -128, -129, -(2**15), -(2**15) - 1, -(2**31) - 1)
    out += [(f"int-form-{i}", "int64", str(n), "each form of an integer at its edge") for i, n in enumerate(edges)]
    for n, ident in ((2**53 - 1, "safe"), (2**53, "beyond"), (-(2**53) + 1, "safe-negative"), (-(2**53), "beyond-negative")):
        out.append((f"int-{ident}", "int64", str(n), "up to 2^53 - 1 JSON has a number, beyond it text"))
    for n, ident in ((2**53 - 1, "safe"), (2**53, "beyond")):
        out.append((f"uint-{ident}", "uint64", str(n), "the same for unsigned ones"))
    return out


WRITTEN = [
    ("true", "boolean", True, "a boolean that is true"),
    ("false", "boolean", False, "a boolean that is false"),
    *integers(),
    ("float", "float64", "1.5", "a float of 64 bits"),
    ("float-whole", "float64", "2.0", "a whole float stays a float"),
    ("float-zero-negative", "float64", "-0.0", "minus zero is kept"),
    ("float-large", "float64", "1e+300", "a large float"),
    ("float-nan", "float64", "NaN", "not a number is a word in JSON"),
    ("float-infinity", "float64", "Infinity", "infinity is a word in JSON"),
    ("float-minus-infinity", "float64", "-Infinity", "minus infinity is a word in JSON"),
    ("float32", "float32", "1.5", "a float of 32 bits"),
    ("text-empty", "text", "", "no text at all"),
    ("text", "text", "Größe ☎", "text is UTF-8"),
    ("text-escapes", "text", 'a"\\\n\u0000', "what JSON escapes"),
    *((f"text-{n}", "text", "m" * n, "lengths of text at the edges of their forms") for n in (31, 32, 255, 256)),
    ("bytes-empty", "bytes", "", "no bytes at all"),
    ("bytes", "bytes", "00fffb10", "bytes are base64 in JSON, of the standard alphabet"),
    ("time", "time", "2026-01-02T03:04:05Z", "seconds below 2^32: four bytes"),
    ("time-epoch", "time", "1970-01-01T00:00:00Z", "the epoch is four bytes too"),
    ("time-nanoseconds", "time", "2026-01-02T03:04:05.123456789Z", "nanoseconds: eight bytes"),
    ("time-tenth", "time", "2026-01-02T03:04:05.1Z", "no zeros at the end of a fraction"),
    ("time-2106", "time", "2106-02-07T06:28:16Z", "2^32 seconds: eight bytes"),
    ("time-2514", "time", "2514-05-30T01:53:04Z", "2^34 seconds: twelve bytes"),
    ("time-1969", "time", "1969-12-31T23:59:59.5Z", "before the epoch: twelve bytes, the fraction counts upwards"),
    ("time-first", "time", "0001-01-01T00:00:00Z", "the first instant"),
    ("time-last", "time", "9999-12-31T23:59:59.999999999Z", "the last instant"),
    ("duration", "duration", "1500000000", "nanoseconds; seconds in JSON"),
    ("duration-negative", "duration", "-1", "one nanosecond back"),
    ("duration-zero", "duration", "0", "no time at all"),
    ("duration-longest", "duration", str(2**63 - 1), "292 years"),
    ("duration-longest-back", "duration", str(-(2**63)), "292 years back"),
    ("enumeration", COLOUR, "GREEN", "a constant goes by its name"),
    ("optional-absent", {"optional": "int32"}, None, "what is absent is null"),
    ("optional-there", {"optional": "int32"}, "5", "what is there is as if it were not optional"),
    ("list-empty", {"list": "int32"}, [], "an empty list"),
    ("list", {"list": "int32"}, ["1", "-2"], "a list of numbers"),
    ("list-16", {"list": "boolean"}, [True] * 16, "sixteen elements: a longer header"),
    ("list-of-lists", {"list": {"list": "text"}}, [["a"], []], "lists in a list"),
    ("map-empty", {"map": {"key": "text", "value": "int32"}}, [], "an empty map"),
    ("map", {"map": {"key": "text", "value": "int32"}}, [["a", "1"]], "a map with keys of text"),
    ("map-of-numbers", {"map": {"key": "int64", "value": "text"}}, [["-7", "x"]], "whole numbers as keys are decimal in JSON"),
    ("map-of-constants", {"map": {"key": COLOUR, "value": "int8"}}, [["RED", "1"]], "constants as keys"),
    ("record", POINT, {"x": "1", "y": "-1"}, "a record is a map of its fields in order"),
    ("record-empty", {"record": []}, {}, "a record without fields"),
    ("record-nested", NODE, {"name": "n", "at": {"x": "0", "y": "0"}, "tags": ["t"]}, "a record in a record"),
    ("record-absent", NODE, {"name": "", "at": None, "tags": []}, "every field is written, also null and empty ones"),
    ("any-text", "any", {"type": "text", "value": "x"}, "any is written as the value's own type"),
    ("any-list", "any", {"type": {"list": "any"}, "value": [{"type": "int64", "value": "1"}, {"type": "boolean", "value": True}]},
     "a list of any"),
]  # fmt: skip

# Requests and responses: types, values.
REQUESTS = [
    ("none", [], [], "no arguments are an array too"),
    ("one", ["int64"], ["7"], "one argument is in an array"),
    ("two", ["int64", "int64"], ["7", "2"], "/calc/div"),
    ("four", ["text", "int32", "int32", "float64"], ["hello", "1", "-2", "0.5"], "/hello/say"),
    ("one-list", [{"list": "int8"}], [["1", "2"]], "an array in an array"),
]
RESPONSES = [
    ("none", [], [], "no result is null"),
    ("one", ["text"], ["x"], "one result is itself"),
    ("one-list", [{"list": "int8"}], [["1", "2"]], "one result that is a list is no tuple"),
    ("two", ["int64", "int64"], ["3", "1"], "several results are an array"),
    ("four", ["text", "int32", "int32", "float64"], ["hello", "1", "-2", "0.5"], "/hello/say"),
]


def lower_camel_case(member: str) -> str:
    """code-first.md 2.2, in the words of a regular expression."""
    cut = re.sub(r"(?<=[^A-Z_])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][^A-Z0-9_])", "_", member)
    words = [word.translate(SMALL) for word in cut.split("_") if word]
    return "".join(words[:1] + [word[0].translate(LARGE) + word[1:] for word in words[1:]])


def any_(type_: Any, value: Any) -> dict[str, Any]:
    return {"type": type_, "value": value}


# Arguments in another form than they are written in: codec, input (hex or text), types, values.
READ = [
    ("integer-wide", "msgpack", "91d30000000000000005", ["int8"], ["5"], "an integer in a longer form than it needs"),
    ("integer-signed-form", "msgpack", "91d1007f", ["uint8"], ["127"], "a signed form for an unsigned number"),
    ("integer-float", "msgpack", "91cb4000000000000000", ["int32"], ["2"], "a whole float for a whole number"),
    ("integer-float32", "msgpack", "91cac0000000", ["int32"], ["-2"], "a whole float of 32 bits likewise"),
    ("integer-minus-zero", "msgpack", "91cb8000000000000000", ["uint8"], ["0"], "minus zero is zero"),
    ("integer-float-safe", "msgpack", "91cb433fffffffffffff", ["int64"], [str(2**53 - 1)], "a float as large as is safe"),
    ("json-integer-fraction", "json", "[2.0]", ["int32"], ["2"], "a fraction that is zero"),
    ("json-integer-exponent", "json", "[1e3]", ["int32"], ["1000"], "an exponent"),
    ("json-integer-text", "json", '["12"]', ["int8"], ["12"], "a small number as text"),
    ("json-integer-text-minus-zero", "json", '["-0"]', ["uint64"], ["0"], "minus zero as text"),
    ("json-space", "json", " [ 1 ,\t2 ]\r\n", ["int8", "int8"], ["1", "2"], "white space around everything"),
    ("float-integer", "msgpack", "9103", ["float64"], ["3.0"], "an integer for a float"),
    ("float-integer-nearest", "msgpack", "91cf0020000000000001", ["float64"], ["9007199254740992.0"], "the nearest float"),
    ("float-32-to-64", "msgpack", "91ca3fc00000", ["float64"], ["1.5"], "a float of 32 bits for one of 64"),
    ("float-64-to-32", "msgpack", "91cb3fb999999999999a", ["float32"], ["0.10000000149011612"], "rounded to 32 bits"),
    ("float-32-infinity", "msgpack", "91cb7ff0000000000000", ["float32"], ["Infinity"], "infinity fits 32 bits"),
    ("json-float-integer", "json", "[3]", ["float64"], ["3.0"], "a number without a fraction for a float"),
    ("json-float-words", "json", '["NaN","-Infinity"]', ["float64", "float32"], ["NaN", "-Infinity"], "the words for floats"),
    ("text-long-form", "msgpack", "91d90161", ["text"], ["a"], "a longer header than it needs"),
    ("json-text-escaped", "json", '["\\u00fc\\ud83d\\ude00\\/"]', ["text"], ["ü😀/"], "escapes, and a pair of surrogates"),
    ("bytes-long-form", "msgpack", "91c5000161", ["bytes"], ["61"], "a longer header than it needs"),
    ("json-bytes-url", "json", '["-_8"]', ["bytes"], ["fbff"], "the URL alphabet without padding"),
    ("json-bytes-unpadded", "json", '["+/8"]', ["bytes"], ["fbff"], "the standard alphabet without padding"),
    ("time-12-bytes", "msgpack", "91c70cff00000000000000006957a3a5", ["time"], ["2026-01-02T10:53:25Z"], "a longer form than it needs"),
    ("time-8-bytes", "msgpack", "91d7ff0000000000000000", ["time"], ["1970-01-01T00:00:00Z"], "a longer form than it needs"),
    ("json-time-offset", "json", '["2026-01-02T03:04:05.120+01:30"]', ["time"], ["2026-01-02T01:34:05.12Z"], "an offset, and a zero at the end"),
    ("json-time-small", "json", '["2026-01-02t03:04:05z"]', ["time"], ["2026-01-02T03:04:05Z"], "small letters"),
    ("duration-float", "msgpack", "91cb4008000000000000", ["duration"], ["3"], "a whole float of nanoseconds"),
    ("json-duration-fraction", "json", '["0.000000100s"]', ["duration"], ["100"], "zeros at the end of a fraction"),
    ("list-long-form", "msgpack", "91dc000101", [{"list": "int8"}], [["1"]], "a longer header than it needs"),
    ("map-twice", "msgpack", "9182a16101a16102", [{"map": {"key": "text", "value": "int8"}}], [[["a", "2"]]], "of a key that comes twice, the last counts"),
    ("json-map-twice", "json", '[{"a":1,"a":2}]', [{"map": {"key": "text", "value": "int8"}}], [[["a", "2"]]], "of a key that comes twice, the last counts"),
    ("record-twice", "msgpack", "9182a47061697281a17801a47061697281a17902",
     [{"record": [{"name": "pair", "type": POINT}]}], [{"pair": {"x": "0", "y": "2"}}], "a record that comes twice is not put together from both"),
    ("record-unknown", "msgpack", "9183a17801a17a9281a161c0d4ff00a17902", [POINT], [{"x": "1", "y": "2"}], "a field that is not known is skipped"),
    ("json-record-unknown", "json", '[{"z":[{"a":null}],"y":2,"x":1}]', [POINT], [{"x": "1", "y": "2"}], "fields come in any order, others are skipped"),
    ("record-missing", "msgpack", "9180", [NODE], [{"name": "", "at": None, "tags": []}], "missing fields are zero"),
    ("record-missing-all", "msgpack", "9180",
     [{"record": [{"name": n, "type": t} for n, t in (
         ("a", "boolean"), ("b", "int8"), ("c", "float64"), ("d", "text"), ("e", "bytes"), ("f", "time"), ("g", "duration"),
         ("h", {"map": {"key": "text", "value": "text"}}), ("i", POINT), ("j", COLOUR))]}],
     [{"a": False, "b": "0", "c": "0.0", "d": "", "e": "", "f": "0001-01-01T00:00:00Z", "g": "0", "h": [],
       "i": {"x": "0", "y": "0"}, "j": "RED"}],
     "the zero of each type"),
    ("any", "msgpack", "97c0c3cfffffffffffffffffcb3ff8000000000000a161c40161d6ff00000000", ["any"] * 7,
     [any_({"optional": "text"}, None), any_("boolean", True), any_("uint64", str(2**64 - 1)), any_("float64", "1.5"),
      any_("text", "a"), any_("bytes", "61"), any_("time", "1970-01-01T00:00:00Z")], "any of each kind"),
    ("any-map", "msgpack", "918201a16ba16102", ["any"],
     [any_({"map": {"key": "text", "value": "any"}}, [["1", any_("text", "k")], ["a", any_("int64", "2")]])],
     "keys that are whole numbers become text"),
    ("json-any", "json", '[1,1.0,18446744073709551615,1e1,"AA==",{"a":[]}]', ["any"] * 6,
     [any_("int64", "1"), any_("float64", "1.0"), any_("uint64", str(2**64 - 1)), any_("float64", "10.0"),
      any_("text", "AA=="), any_({"map": {"key": "text", "value": "any"}}, [["a", any_({"list": "any"}, [])]])],
     "a number without fraction and exponent is whole"),
    ("any-100-deep", "msgpack", "91" * 99 + "90", ["any"], None, "as deep as may be"),
    ("json-any-100-deep", "json", "[" * 100 + "]" * 100, ["any"], None, "as deep as may be"),
]  # fmt: skip

IA, RE = "INVALID_ARGUMENT", "RESOURCE_EXHAUSTED"
INT = ["int64", "int64"]

# Requests that are refused: codec, input, types, the parameter it is about or none, code.
REFUSED = [
    ("empty", "msgpack", "", INT, None, IA, "nothing at all"),
    ("json-empty", "json", "", INT, None, IA, "nothing at all"),
    ("not-an-array", "msgpack", "07", INT, None, IA, "an argument that is in no array"),
    ("a-map", "msgpack", "82a16107a16202", INT, None, IA, "arguments by name are not there yet"),
    ("null", "msgpack", "c0", [], None, IA, "null is not an empty array"),
    ("json-null", "json", "null", [], None, IA, "null is not an empty array"),
    ("too-few", "msgpack", "9107", INT, None, IA, "one argument of two"),
    ("too-many", "msgpack", "93070201", INT, None, IA, "three arguments of two"),
    ("too-many-for-none", "msgpack", "91c0", [], None, IA, "one argument where there is none"),
    ("json-too-few", "json", "[7]", INT, None, IA, "one argument of two"),
    ("json-too-many", "json", "[7,2,1]", INT, None, IA, "three arguments of two"),
    ("behind", "msgpack", "920702c0", INT, None, IA, "a byte behind the array"),
    ("json-behind", "json", "[7,2]0", INT, None, IA, "something behind the array"),
    ("json-comma", "json", "[7,2,]", INT, None, IA, "a comma too many"),
    ("json-bom", "json", "\ufeff[7,2]", INT, None, IA, "a byte order mark"),
    ("json-garbage", "json", "{]", INT, None, IA, "no JSON"),
    ("never-used", "msgpack", "9207c1", INT, 2, IA, "the byte that is never used"),
    ("text-for-integer", "msgpack", "9207a132", INT, 2, IA, "MessagePack knows numbers from text"),
    ("null-for-integer", "msgpack", "92c002", INT, 1, IA, "null where nothing is optional"),
    ("true-for-integer", "msgpack", "9207c3", INT, 2, IA, "a boolean is no number"),
    ("fraction-for-integer", "msgpack", "9207cb3ff8000000000000", INT, 2, IA, "1.5 is not whole"),
    ("nan-for-integer", "msgpack", "9207cb7ff8000000000000", INT, 2, IA, "NaN is not whole"),
    ("infinity-for-integer", "msgpack", "9207ca7f800000", INT, 2, IA, "infinity is not whole"),
    ("float-beyond-safe", "msgpack", "9207cb4340000000000000", INT, 2, IA, "a float of 2^53 may have been another number"),
    ("int8-128", "msgpack", "91cc80", ["int8"], 1, IA, "one more than the most"),
    ("int8-less", "msgpack", "91d1ff7f", ["int8"], 1, IA, "one less than the least"),
    ("uint8-256", "msgpack", "91cd0100", ["uint8"], 1, IA, "one more than the most"),
    ("uint64-negative", "msgpack", "91ff", ["uint64"], 1, IA, "below zero"),
    ("int64-2-63", "msgpack", "91cf8000000000000000", ["int64"], 1, IA, "one more than the most"),
    ("json-int64-2-63", "json", '["9223372036854775808"]', ["int64"], 1, IA, "one more than the most"),
    ("json-uint64-2-64", "json", '["18446744073709551616"]', ["uint64"], 1, IA, "one more than the most"),
    ("json-number-beyond-safe", "json", "[9007199254740992]", ["int64"], 1, IA, "beyond 2^53 - 1 only text is safe"),
    ("json-number-beyond-safe-fraction", "json", "[-9007199254740992.0]", ["int64"], 1, IA, "with a fraction as well"),
    ("json-integer-fraction", "json", "[7,2.5]", INT, 2, IA, "2.5 is not whole"),
    ("json-integer-plus", "json", '["+1"]', ["int64"], 1, IA, "no plus sign"),
    ("json-integer-zero-in-front", "json", '["01"]', ["int64"], 1, IA, "no zeros in front"),
    ("json-integer-text-fraction", "json", '["1.0"]', ["int64"], 1, IA, "text is in plain decimal"),
    ("json-integer-text-empty", "json", '[""]', ["int64"], 1, IA, "empty text is no number"),
    ("json-integer-text-space", "json", '[" 1"]', ["int64"], 1, IA, "no space in it"),
    ("json-infinity-for-integer", "json", '["Infinity"]', ["int64"], 1, IA, "a word for floats only"),
    ("json-true-for-integer", "json", "[true,2]", INT, 1, IA, "a boolean is no number"),
    ("integer-for-boolean", "msgpack", "9101", ["boolean"], 1, IA, "1 is not true"),
    ("text-for-float", "msgpack", "91a3312e35", ["float64"], 1, IA, "text is no float"),
    ("word-for-float", "msgpack", "91a34e614e", ["float64"], 1, IA, "MessagePack has NaN itself"),
    ("json-text-for-float", "json", '["1.5"]', ["float64"], 1, IA, "text is no float"),
    ("json-inf", "json", '["inf"]', ["float64"], 1, IA, "the word is Infinity"),
    ("json-nan-literal", "json", "[NaN]", ["float64"], None, IA, "JSON has no such literal"),
    ("json-float-range", "json", "[1e999]", ["float64"], 1, IA, "beyond the range of 64 bits"),
    ("float32-range", "msgpack", "91cb7e37e43c8800759c", ["float32"], 1, IA, "beyond the range of 32 bits"),
    ("bytes-for-text", "msgpack", "91c40161", ["text"], 1, IA, "bytes are no text"),
    ("text-for-bytes", "msgpack", "91a161", ["bytes"], 1, IA, "text is no bytes"),
    ("text-not-utf-8", "msgpack", "9207a1ff", ["int8", "text"], 2, IA, "text is valid UTF-8"),
    ("text-surrogate", "msgpack", "91a3eda080", ["text"], 1, IA, "surrogates have no UTF-8"),
    ("text-overlong", "msgpack", "91a2c080", ["text"], 1, IA, "an overlong form"),
    ("json-surrogate", "json", '["\\ud800"]', ["text"], 1, IA, "an unpaired surrogate"),
    ("json-number-for-text", "json", "[1]", ["text"], 1, IA, "a number is no text"),
    ("json-base64", "json", '["a"]', ["bytes"], 1, IA, "one digit of base64"),
    ("json-base64-alphabets", "json", '["+_8="]', ["bytes"], 1, IA, "two alphabets at once"),
    ("json-base64-space", "json", '["AA ==" ]', ["bytes"], 1, IA, "no space in it"),
    ("json-base64-padding", "json", '["AA="]', ["bytes"], 1, IA, "padding in full or not at all"),
    ("integer-for-time", "msgpack", "9100", ["time"], 1, IA, "a number is no time"),
    ("time-other-extension", "msgpack", "91d60500000000", ["time"], 1, IA, "extension 5 is no timestamp"),
    ("time-length", "msgpack", "91c703ff000000", ["time"], 1, IA, "three bytes are no timestamp"),
    ("time-nanoseconds", "msgpack", "91d7ffee6b280000000000", ["time"], 1, IA, "a second of nanoseconds"),
    ("time-year-10000", "msgpack", "91c70cff000000000000003afff44180", ["time"], 1, IA, "beyond the year 9999"),
    ("json-time-date", "json", '["2026-01-02"]', ["time"], 1, IA, "a date is no time"),
    ("json-time-no-zone", "json", '["2026-01-02T03:04:05"]', ["time"], 1, IA, "a time needs its offset"),
    ("json-time-day", "json", '["2026-02-30T03:04:05Z"]', ["time"], 1, IA, "there is no such day"),
    ("json-time-digits", "json", '["2026-01-02T03:04:05.1234567890Z"]', ["time"], 1, IA, "ten digits of a fraction"),
    ("json-time-space", "json", '["2026-01-02 03:04:05Z"]', ["time"], 1, IA, "a space instead of the T"),
    ("json-time-comma", "json", '["2026-01-02T03:04:05,5Z"]', ["time"], 1, IA, "a comma instead of the point"),
    ("json-duration-number", "json", "[1]", ["duration"], 1, IA, "a duration is text"),
    ("json-duration-minutes", "json", '["1m"]', ["duration"], 1, IA, "seconds only"),
    ("json-duration-range", "json", '["9223372036.854775808s"]', ["duration"], 1, IA, "a nanosecond too long"),
    ("json-duration-point", "json", '["1.s"]', ["duration"], 1, IA, "a point without digits"),
    ("enumeration-unknown", "msgpack", "91a4424c5545", [COLOUR], 1, IA, "no such constant"),
    ("enumeration-number", "msgpack", "9100", [COLOUR], 1, IA, "constants go by name"),
    ("null-for-list", "msgpack", "91c0", [{"list": "int8"}], 1, IA, "null is no list"),
    ("map-for-list", "msgpack", "9180", [{"list": "int8"}], 1, IA, "a map is no list"),
    ("list-element", "msgpack", "9207930102a0", ["int8", {"list": "int8"}], 2, IA, "an element of the wrong type"),
    ("array-for-map", "msgpack", "9190", [{"map": {"key": "text", "value": "int8"}}], 1, IA, "an array is no map"),
    ("map-key", "msgpack", "91810101", [{"map": {"key": "text", "value": "int8"}}], 1, IA, "a key of the wrong type"),
    ("map-key-range", "json", '[{"300":1}]', [{"map": {"key": "uint8", "value": "int8"}}], 1, IA, "a key out of range"),
    ("array-for-record", "msgpack", "91920102", [POINT], 1, IA, "fields go by name"),
    ("record-field", "msgpack", "9181a178c0", [POINT], 1, IA, "null for a field that is not optional"),
    ("any-extension", "msgpack", "91d40500", ["any"], 1, IA, "an extension that nobody knows"),
    ("any-key", "msgpack", "9181c001", ["any"], 1, IA, "null as a key"),
    ("array-lies", "msgpack", "91ddffffffff", [{"list": "int8"}], 1, IA, "4 billion elements: no memory for them"),
    ("map-lies", "msgpack", "91dfffffffff", [{"map": {"key": "text", "value": "int8"}}], 1, IA, "4 billion pairs"),
    ("text-lies", "msgpack", "91dbffffffff61", ["text"], 1, IA, "4 GiB of text"),
    ("bytes-lie", "msgpack", "91c6ffffffff61", ["bytes"], 1, IA, "4 GiB of bytes"),
    ("arguments-lie", "msgpack", "ddffffffff", INT, None, IA, "4 billion arguments"),
    ("any-101-deep", "msgpack", "91" * 100 + "90", ["any"], 1, RE, "one level too deep"),
    ("json-any-101-deep", "json", "[" * 101 + "]" * 101, ["any"], 1, RE, "one level too deep"),
    ("any-10000-deep", "msgpack", "91" * 10000 + "c0", ["any"], 1, RE, "the process lives"),
    ("json-any-10000-deep", "json", "[" * 10001 + "]" * 10001, ["any"], 1, RE, "the process lives"),
    ("skipped-101-deep", "msgpack", "9181a17a" + "91" * 98 + "90", [POINT], 1, RE, "a field that is skipped has depth too"),
    ("json-skipped-101-deep", "json", '[{"z":' + "[" * 99 + "]" * 99 + "}]", [POINT], 1, RE, "a field that is skipped has depth too"),
]  # fmt: skip

# Requests in JSON that a server refuses which is to be strict, and that are read else: input, types, parameter, the field.
STRICT = [
    ("top", '[{"x":1,"y":2,"z":3}]', [POINT], 1, "z", "a field of a parameter"),
    ("second", '[1,{"y":2,"X":1}]', ["int32", POINT], 2, "X", "names have their case"),
    ("inside-a-list", '[[{"x":1},{"x":1,"w":null}]]', [{"list": POINT}], 1, "w", "a field of an element, null though it is"),
    ("inside-a-map", '[{"a":{"x":1,"":2}}]', [{"map": {"key": "text", "value": POINT}}], 1, "", "the empty name"),
]


def same(a: Any, b: Any) -> bool:
    return json.dumps(a, sort_keys=True) == json.dumps(b, sort_keys=True)


def written(entry: dict[str, Any]) -> list[str]:
    """What is wrong with an entry whose forms are what is written."""
    out = []
    for codec, data in (("msgpack", bytes.fromhex(entry["msgpack"])), ("json", entry["json"].encode())):
        taken = Reader(codec)
        if not same(taken.value(entry["type"], taken.tree(data)), entry["value"]) and entry["type"] != "any":
            out.append(f"{entry['id']}: reads otherwise from {codec}")
    return out


def refused(entry: dict[str, Any], data: bytes, strict: bool = False) -> list[str]:
    try:
        Reader(entry["codec"], strict).arguments(entry["types"], data)
    except reader.Refused as fault:
        if fault.code == entry["code"]:
            # What breaks the syntax may be found before or at the parameter where it stands.
            told = fault.parameter is None or fault.parameter == entry["parameter"]
            return [] if told else [f"{entry['id']}: is about parameter {fault.parameter}"]
        return [f"{entry['id']}: is {fault.code}"]
    return [f"{entry['id']}: can be read"]


def source(codec: str, text: str) -> bytes:
    return bytes.fromhex(text) if codec == "msgpack" else text.encode()


def content() -> dict[str, Any]:
    values = [
        {"id": i, "why": why, "type": t, "value": v, "msgpack": writer.msgpack(t, v).hex(), "json": writer.as_json(t, v)}
        for i, t, v, why in WRITTEN
    ]
    requests = [tuple_of(*case) for case in REQUESTS]
    responses = [tuple_of(*case, response=True) for case in RESPONSES]
    reads = [
        {"id": i, "why": why, "codec": c, "input": data, "types": types, **({} if v is None else {"values": v})}
        for i, c, data, types, v, why in READ
    ]
    refusals = [
        {"id": i, "why": why, "codec": c, "input": data, "types": t, **({} if p is None else {"parameter": p}), "code": code}
        for i, c, data, t, p, code, why in REFUSED
    ]
    strict = [
        {"id": i, "why": why, "codec": "json", "input": data, "types": t, "parameter": p, "code": IA, "field": field}
        for i, data, t, p, field, why in STRICT
    ]
    names = [{"member": member, "public": public} for member, public in NAMES]
    return {"description": DESCRIPTION, "names": names, "values": values, "requests": requests, "responses": responses,
            "read": reads, "refused": refusals, "strict": strict}  # fmt: skip


def tuple_of(ident: str, types: list[Any], values: list[Any], why: str, response: bool = False) -> dict[str, Any]:
    packed = [writer.msgpack(t, v) for t, v in zip(types, values, strict=True)]
    plain = [writer.plain(t, v) for t, v in zip(types, values, strict=True)]
    if response and len(types) < 2:
        data, told = (packed[0], plain[0]) if types else (b"\xc0", None)
    else:
        data, told = writer.array_header(len(packed)) + b"".join(packed), plain
    form = json.dumps(told, ensure_ascii=False, separators=(",", ":"))
    return {"id": ident, "why": why, "types": types, "values": values, "msgpack": data.hex(), "json": form}


def faults(told: dict[str, Any]) -> list[str]:
    out = [f"name {n['member']}: is otherwise" for n in told["names"] if lower_camel_case(n["member"]) != n["public"]]
    for group in ("values", "requests", "responses", "read", "refused", "strict"):
        idents = [entry["id"] for entry in told[group]]
        out += [f"{group}: id {i} twice" for i in {i for i in idents if idents.count(i) > 1}]
    for entry in told["values"]:
        out += written(entry)
    for entry in told["requests"]:
        for codec in ("msgpack", "json"):
            if Reader(codec).arguments(entry["types"], source(codec, entry[codec])) != entry["values"]:
                out.append(f"{entry['id']}: reads otherwise from {codec}")
    for entry in told["read"]:
        values = Reader(entry["codec"]).arguments(entry["types"], source(entry["codec"], entry["input"]))
        if not same(values, entry.get("values", values)):
            out.append(f"{entry['id']}: reads as {values}")
    for entry in told["refused"]:
        out += refused(entry, source(entry["codec"], entry["input"]))
    for entry in told["strict"]:
        data = entry["input"].encode()
        Reader("json").arguments(entry["types"], data)
        out += refused(entry, data, strict=True)
    return out


def rendered(told: dict[str, Any]) -> str:
    groups = []
    for group, entries in told.items():
        if isinstance(entries, str):
            groups.append(f" {json.dumps(group)}: {json.dumps(entries)}")
            continue
        lines = ",\n".join("  " + json.dumps(entry, ensure_ascii=False) for entry in entries)
        groups.append(f" {json.dumps(group)}: [\n{lines}\n ]")
    return "{\n" + ",\n".join(groups) + "\n}\n"
