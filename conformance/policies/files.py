"""Policy files made up at random: made of known fields with good and bad values, and those of the vectors changed."""

from __future__ import annotations

import functools
import json
import random
from pathlib import Path
from typing import Any

VECTORS = Path(__file__).parents[2] / "spec" / "vectors" / "policy" / "files.json"

METHODS = ["a.B/Get", "a.B/Put", "c.D/Get"]

DURATIONS = [
    "1ns",
    "5ms",
    "50ms",
    "0.5s",
    "1s",
    "2.5s",
    "90s",
    "1m",
    "1h",
    "24h",
    "30h",
    "0s",
    "1.5ns",
    "5",
    "1e3s",
    "",
]
CODES = [
    "UNKNOWN",
    "DEADLINE_EXCEEDED",
    "ABORTED",
    "INTERNAL",
    "UNAVAILABLE",
    "RESOURCE_EXHAUSTED",
    "OK",
    "unavailable",
]
WORDS = [
    "none",
    "off",
    "true",
    "yes",
    "",
    "~",
    "1",
    "é",
    "a: b",
    " x",
    "#",
    "x" * 60,
    "hash",
    "first",
    "low",
    "critical",
]
NAMES = ["a", "slow", "a-1", "Slow", "", "x" * 70]

DURATION, TRUTH, PRIORITY, CODE, LIST, BALANCER, KEY = "duration truth priority code list balancer key".split()
# Durations that every field takes.
USUAL = ["1s", "2.5s", "30s", "1m"]

# The fields of groups: a kind, or the least and the most of a whole number. Those of NEEDED are there unless the group
# is bad.
TRIP: dict[str, Any] = {
    "consecutive": (1, 10**6),
    "percent": (1, 100),
    "calls": (1, 10**6),
    "window": DURATION,
    "codes": LIST,
}
SHARES = dict.fromkeys(("critical", "high", "normal", "low"), (1, 100))
RATE: dict[str, Any] = {"per_second": (1, 10**6), "burst": (1, 10**6), "shares": SHARES}
ADAPTIVE: dict[str, Any] = {"least": (1, 20), "most": (20, 10**6), "start": (20, 20), "samples": (1, 10_000)}
ADAPTIVE |= {"tolerance": (100, 1000), "window": DURATION, "remeasure": DURATION}
LIMIT: dict[str, Any] = {"limit": (1, 10**6), "adaptive": ADAPTIVE, "shares": SHARES}
RETRIES: dict[str, Any] = {"attempts": (1, 10), "backoff": DURATION, "max_backoff": DURATION}
RETRIES |= {"multiplier": (100, 1000), "jitter": (0, 100), "codes": LIST}
SCOPE: dict[str, Any] = {
    "timeout": DURATION,
    "wait_for_ready": TRUTH,
    "idempotent": TRUTH,
    "priority": PRIORITY,
    "retries": RETRIES,
    "hedging": {"delay": DURATION, "attempts": (2, 5), "stop": LIST},
    "breaker": TRIP | {"open": DURATION, "probes": (1, 100)},
    "outliers": TRIP | {"eject": DURATION, "max_eject": DURATION, "cap": (1, 100)},
    "balancer": {"name": BALANCER, "key": KEY},
    "zones": {"healthy": (1, 100), "overflow_calls": (1, 10**6)},
    "rate": RATE,
    "concurrency": LIMIT,
    "server_rate": RATE,
    "server_concurrency": LIMIT,
}
FAULT: dict[str, Any] = {"per_million": (1, 10**6), "delay": DURATION, "code": CODE}
NEEDED = {"delay", "per_second", "per_million", "percent"}

# What changed files are given: what means something in them.
PIECES = [
    *("policy: 1", "defaults:", "services:", "...", "---", "  ", "\n", "\t", "\r\n", ": ", ":", "- ", "# x", " #"),
    *("'", '"', "''", "\\", "\\u00e9", "\\ud800", "{", "}", "[", "]", ",", "{}", "[]", "[1, x]"),
    *("&a", "*a", "!t", "|", ">", "?", "%", "@", "`", "null", "~", "true", "1.5", "-0", "01", "1e3", "9" * 20),
    *("\x00", "\x7f", "\ufeff", "…", "😀", "\u2028", "\x85", "x" * 45, "retries", "timeout", "5s", "UNAVAILABLE"),
]


@functools.cache
def known() -> tuple[list[str], list[str]]:
    """The good and the bad files of the vectors that are texts."""
    vectors = json.loads(VECTORS.read_text(encoding="utf-8"))
    good, bad = (
        [case["text"] for case in vectors[group] if "text" in case and "fill" not in case] for group in ("good", "bad")
    )
    return good, bad


class FileMaker:
    """Files from one source of random numbers. `odd` is how many of a hundred values are bad."""

    def __init__(self, draw: random.Random) -> None:
        self.draw = draw
        self.odd = 0
        self._good, self._bad_ones = known()

    def case(self) -> dict[str, Any]:
        """A file as a case of the programs."""
        data = self.changed() if self.draw.random() < 0.5 else self.made_up()
        return {"file": data.hex(), "methods": METHODS}

    # Files of the vectors, changed

    def changed(self) -> bytes:
        draw = self.draw
        text = draw.choice(self._good if draw.random() < 0.8 else self._bad_ones)
        for _ in range(draw.randint(1, 4)):
            text = self._change(text)
        data: bytes = text.encode()
        if data and draw.random() < 0.1:
            at = draw.randrange(len(data))
            data = data[:at] + bytes([draw.randrange(256)]) + data[at + draw.randint(0, 1) :]
        return data

    def _change(self, text: str) -> str:
        draw = self.draw
        at = draw.randint(0, len(text))
        kind = draw.randrange(6)
        if kind == 0:
            return text[:at]
        if kind == 1:
            return text[:at] + text[at + draw.randint(1, 8) :]
        if kind in (2, 3):
            return text[:at] + draw.choice(PIECES) + text[at + draw.choice((0, 0, 1, 4)) :]
        lines = text.split("\n")
        one, other = draw.randrange(len(lines)), draw.randrange(len(lines))
        if kind == 4:
            lines[one], lines[other] = lines[other], lines[one]
        else:
            lines.insert(one, lines[other])
        return "\n".join(lines)

    # Files made of known fields

    def made_up(self) -> bytes:
        draw = self.draw
        self.odd = draw.choice((0, 0, 0, 2, 20))
        file: dict[str, Any] = {"policy": 1}
        if draw.random() < 0.3:
            file["budget"] = self._group({"percent": (0, 100), "least": (0, 10**6)})
        if draw.random() < 0.7:
            file["defaults"] = self._scope()
        if draw.random() < 0.7:
            file["services"] = {
                name: self._service() for name in draw.sample(["a.B", "c.D", "x/y"][: 3 if self._bad() else 2], 2)
            }
        if draw.random() < 0.5:
            return json.dumps(file, indent=draw.choice((None, 1)), ensure_ascii=draw.random() < 0.5).encode()
        return ("\n".join([*self._lines(file, 0), "..."]) + "\n").encode()

    def _bad(self) -> bool:
        return self.draw.randrange(100) < self.odd

    def _service(self) -> dict[str, Any]:
        said = self._scope()
        if self.draw.random() < 0.7:
            said["methods"] = {
                name: self._scope() for name in self.draw.sample(["Get", "Put"], self.draw.randint(1, 2))
            }
        return said

    def _scope(self) -> dict[str, Any]:
        said = self._group(SCOPE, self.draw.choice((0.1, 0.3)))
        if self.draw.random() < 0.2:
            said["faults"] = {
                name: self._group(FAULT) for name in self.draw.sample(NAMES[:3] if not self.odd else NAMES, 2)
            }
        if self._bad() or not said:
            said["timeout"] = self._value(DURATION)
        return said

    def _group(self, fields: dict[str, Any], share: float = 0.6) -> dict[str, Any]:
        draw = self.draw
        names = [name for name in fields if draw.random() < share or name in NEEDED and not self._bad()]
        if "limit" in fields and not self._bad():
            names = [*(set(names) & {"shares"}), draw.choice(("limit", "adaptive"))]
        if "key" in fields and not self._bad():
            return draw.choice(({"name": "hash", "key": "user-id"}, {"name": "first"}))
        draw.shuffle(names)
        said = {name: self._value(fields[name]) for name in names}
        if self._bad():
            said[draw.choice(("unknown", "é", "a.b", "x" * 50))] = 1
        return said

    def _value(self, kind: Any) -> Any:
        draw = self.draw
        if self._bad():
            return draw.choice(
                [None, True, 1, -1, 0, 1.5, 10**20, "", draw.choice(WORDS), [], {}, [1], draw.choice(DURATIONS)]
            )
        if isinstance(kind, dict):
            if kind is SHARES and not self._bad():
                return dict(zip(SHARES, sorted(draw.sample(range(1, 101), 4), reverse=True), strict=True))
            return "none" if draw.random() < 0.1 and kind is not SHARES and kind is not ADAPTIVE else self._group(kind)
        if isinstance(kind, tuple):
            return draw.choice((*kind, draw.randint(*kind), min(kind[1], kind[0] + 9)))
        return {
            DURATION: draw.choice(DURATIONS if self._bad() else USUAL),
            TRUTH: draw.random() < 0.7,
            PRIORITY: draw.choice(("critical", "high", "normal", "low")),
            CODE: draw.choice(CODES[:6]),
            LIST: draw.sample(CODES[:6] if not self.odd else CODES, draw.randint(1, 3)),
            BALANCER: draw.choice(("hash", "first", "round_robin")),
            KEY: "user",
        }[kind]

    def _lines(self, said: dict[str, Any], depth: int) -> list[str]:
        """YAML of a mapping, in one of the ways in which it may be written."""
        draw, lines = self.draw, list[str]()
        indent = " " * depth
        for name, value in said.items():
            key = f"{indent}{self._scalar(name)}:"
            if isinstance(value, dict) and value:
                lines += [key, *self._lines(value, depth + draw.choice((1, 2, 4)))]
            elif isinstance(value, list) and value and draw.random() < 0.5:
                deeper = " " * draw.choice((0, 2))
                lines += [key, *(f"{indent}{deeper}- {self._scalar(one)}" for one in value)]
            elif isinstance(value, list):
                lines.append(f"{key} [{', '.join(self._scalar(one) for one in value)}]")
            else:
                lines.append(f"{key} {'{}' if value == {} else self._scalar(value)}")
            if draw.random() < 0.05:
                lines.append(draw.choice(("", "# x", f"{indent}   # x")))
        return lines

    def _scalar(self, value: Any) -> str:
        if not isinstance(value, str):
            return json.dumps(value)
        draw = self.draw
        if draw.random() < 0.2:
            return json.dumps(value, ensure_ascii=draw.random() < 0.5)
        if draw.random() < 0.2:
            return "'" + value.replace("'", "''") + "'"
        return value if value or self.odd else "''"
