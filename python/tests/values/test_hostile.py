"""Bytes that nobody wrote: what msgspec reads is what the shapes read, nothing else than Misfit is raised, and memory
grows with what came alone."""

from __future__ import annotations

import dataclasses
import random
import tracemalloc
import unittest
from datetime import UTC, datetime, timedelta
from typing import Any, Protocol
from unittest import mock

from trunkcall.values import Int8, Misfit, One, Place, Several, shape_of
from trunkcall.values.compounds import Record
from trunkcall.values.flat import Flat

from .vectortypes import arguments, same


@dataclasses.dataclass
class Node:
    name: str = ""
    inner: list[Node] = dataclasses.field(default_factory=list["Node"])
    at: datetime | None = None
    left: dict[int, timedelta] = dataclasses.field(default_factory=dict[int, timedelta])


@dataclasses.dataclass
class Wide:
    """Its missing fields take more memory than a byte is worth."""

    a: list[int] = dataclasses.field(default_factory=list[int])
    b: dict[str, int] = dataclasses.field(default_factory=dict[str, int])
    c: Node = dataclasses.field(default_factory=Node)


@dataclasses.dataclass
class Plain:
    """All of it is looked at together."""

    a_number: int
    small: Int8
    x: float
    yes: bool
    text: str
    more_text: str = "there"

    def __post_init__(self) -> None:
        if self.small == 7:
            raise ValueError("not seven")


@dataclasses.dataclass
class Around:
    one: Plain
    several: list[Plain]
    named: dict[str, Plain]
    maybe: Plain | None
    number: int
    numbers: tuple[int, ...] = ()


QUICK: list[Any] = [int, Int8, float, str, bool, bytes, list[int], dict[str, float], int | None, tuple[str, ...]]
SLOW: list[Any] = [Node, Any, list[Node | None]]
NODE = Node("n", [Node("m")], datetime(2026, 1, 2, tzinfo=UTC), {7: timedelta(seconds=1)})
PLAIN = Plain(1 << 40, -7, 1.5, True, "é", "more")
AROUND = Around(PLAIN, [PLAIN, PLAIN], {"a": PLAIN}, PLAIN, 5, (1, 2))
VALUES: list[Any] = [-7, 3, 1.5, "é", True, b"ab", [1, 1 << 40], {"a": 2.0}, None, ("x", "y")]


class Decodes(Protocol):
    def decode(self, data: bytes) -> Any: ...


def read(message: Decodes, data: bytes) -> Any:
    try:
        return message.decode(data)
    except Misfit as misfit:
        return str(misfit)


def written(message: Several, value: Any) -> Any:
    try:
        return message.encode([value])
    except Misfit as misfit:
        return str(misfit)


class _EachOfItsOwn:
    """Reads records field by field."""

    def __init__(self, message: Several) -> None:
        self._message = message

    def decode(self, data: bytes) -> Any:
        with mock.patch.object(Flat, "read", return_value=None):
            return self._message.decode(data)


class Hostile(unittest.TestCase):
    def test_what_is_changed_at_random_is_read_the_same_with_msgspec_and_without(self) -> None:
        for text in (False, True):
            hints = [hint for hint in QUICK if not (text and hint is bytes)]
            values = [value for hint, value in zip(QUICK, VALUES, strict=True) if hint in hints]
            message, slow = arguments(hints, text), arguments(hints, text)
            slow._read = None
            self._change(message.encode(values), message, slow, 1)

    def test_records_are_read_the_same_with_msgspec_and_together_and_field_by_field(self) -> None:
        for text in (False, True):
            message, without = arguments([Around, Plain], text), arguments([Around, Plain], text)
            self.assertIsNotNone(message._read)
            without._read = None
            data = message.encode([AROUND, PLAIN])
            with mock.patch.object(Flat, "written", return_value=None):
                self.assertEqual(message.encode([AROUND, PLAIN]), data)
            self.assertEqual(message.decode(data), (AROUND, PLAIN))
            with mock.patch.object(Record, "_load_each", side_effect=AssertionError("is not needed")):
                self.assertEqual(without.decode(data), (AROUND, PLAIN))
            self._change(data, message, without, 3)
            self._change(data, without, _EachOfItsOwn(without), 4)

    def test_what_is_special_in_a_record_is_read_the_same(self) -> None:
        message = arguments([Plain], True)
        without = arguments([Plain], True)
        without._read = None
        before = '"aNumber":1,"small":2,"x":3.0,"yes":true,"text":"t","moreText":"m"'
        for old, new in (
            (":1,", ':"9223372036854775807",'),  # beyond 2^53 it is text
            (":1,", ":9223372036854775807,"),
            (":1,", ":1.0,"),
            (":1,", ":true,"),
            (":2,", ":128,"),
            (":2,", ":7,"),  # the class does not take it
            (":3.0", ":3"),
            (":3.0", ":1e999"),
            (":3.0", ':"NaN"'),
            ('"t"', r'"\ud800"'),
            ('"t"', r'"\ud83d\ude00"'),
            ('"t"', "null"),
            (',"moreText":"m"', ""),
            (',"moreText":"m"', ',"moreText":"m","moreText":"last"'),
            (',"moreText":"m"', ',"moreText":"m","unknown":{"a":[]}'),
            (',"moreText":"m"', ',"moreText":"m","unknown":' + "[" * 200 + "]" * 200),
            ('"yes":true,"text":"t"', '"text":"t","yes":true'),
        ):
            with self.subTest(new[:40]):
                self.assertIn(old, before)
                data = f"[{{{before.replace(old, new, 1)}}}]".encode()
                wanted = read(_EachOfItsOwn(without), data)
                self.assertTrue(same(read(message, data), wanted), wanted)
                self.assertTrue(same(read(without, data), wanted), wanted)

    def test_what_no_field_takes_is_told_the_same_when_it_is_written(self) -> None:
        for member, value in (
            *(("a_number", one) for one in (True, 1.0, None, 1 << 63, -(1 << 63), 1 << 53, "1")),
            *(("small", one) for one in (128, -129, 127)),
            *(("x", one) for one in (1, float("nan"), float("inf"), "1", 10**400)),
            *(("text", one) for one in ("\ud800", b"a", None, "\U0001f600")),
            ("yes", 1),
        ):
            changed = dataclasses.replace(PLAIN)
            setattr(changed, member, value)
            for text in (False, True):
                with self.subTest(member, value=str(value)[:20], text=text):
                    message = arguments([Plain], text)
                    with mock.patch.object(Flat, "written", return_value=None):
                        wanted = written(message, changed)
                    self.assertEqual(written(message, changed), wanted)

    def test_records_that_are_changed_at_random_raise_nothing_else(self) -> None:
        for text in (False, True):
            message = arguments(SLOW, text)
            data = message.encode([NODE, {"a": [1, None, "x"]}, [NODE, None]])
            self._change(data, message, message, 2)

    def _change(self, data: bytes, one: Decodes, other: Decodes, seed: int) -> None:
        draw = random.Random(seed)
        for _ in range(3_000):
            changed = bytearray(data)
            for _ in range(draw.randint(1, 3)):
                changed[draw.randrange(len(changed))] = draw.randrange(256)
            if draw.random() < 0.2:
                del changed[draw.randrange(len(changed)) :]
            found, wanted = read(one, bytes(changed)), read(other, bytes(changed))
            self.assertTrue(same(found, wanted), f"{bytes(changed)!r}: {found} is not {wanted}")

    def test_lengths_that_are_announced_and_do_not_come_cost_nothing(self) -> None:
        lies = (
            "91ddffffffff",
            "91dfffffffff",
            "91dbffffffff61",
            "91c6ffffffff61",
            "91" + "ddffffffff" * 50,
            "ddffffffff",
        )
        for hint in (list[int], dict[str, int], str, bytes, Any, Node, list[list[list[int]]]):
            message = arguments([hint], False)
            for lie in lies:
                tracemalloc.start()
                try:
                    self.assertRaises(Misfit, message.decode, bytes.fromhex(lie))
                    self.assertLess(tracemalloc.get_traced_memory()[1], 1 << 20)
                finally:
                    tracemalloc.stop()

    def test_empty_maps_that_would_become_records_of_many_fields_are_a_limit(self) -> None:
        count = 100_000
        packed = b"\x91\xdd" + count.to_bytes(4, "big") + b"\x80" * count
        for text, data in ((False, packed), (True, b"[[{}" + b",{}" * count + b"]]")):
            for message in (arguments([list[Wide]], text), One(Place("the value", shape_of(list[list[Wide]])), text)):
                with self.assertRaisesRegex(Misfit, "need more memory than 64 bytes") as failed:
                    message.decode(data)
                self.assertTrue(failed.exception.limit)

    def test_records_as_they_are_written_are_no_limit(self) -> None:
        many = [Wide() for _ in range(20_000)]
        for text in (False, True):
            message = arguments([list[Wide]], text)
            self.assertEqual(message.decode(message.encode([many])), (many,))

    def test_hours_and_seconds_that_there_are_not_are_refused(self) -> None:
        for clock in ("24:00:00", "23:60:00", "23:59:60"):  # the first is one to newer versions of Python
            self.assertRaises(Misfit, arguments([datetime], True).decode, f'["2026-01-02T{clock}Z"]'.encode())

    def test_what_nests_too_deep_to_be_written_is_a_limit(self) -> None:
        deep: Any = []
        for _ in range(120):
            deep = [deep]
        for text in (False, True):
            with self.assertRaises(Misfit) as failed:
                arguments([Any], text).encode([deep])
            self.assertTrue(failed.exception.limit)


if __name__ == "__main__":
    unittest.main()
