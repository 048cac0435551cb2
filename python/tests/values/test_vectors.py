"""spec/vectors/code-first.json, read and written with msgspec and without."""

from __future__ import annotations

import json
import unittest
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

from trunkcall.values import Ignored, Misfit, One, Place, Several, public_name, quick, shape_of

from .vectortypes import NotHere, arguments, hint_of, same, value_of

VECTORS = json.loads((Path(__file__).parents[3] / "spec" / "vectors" / "code-first.json").read_text(encoding="utf-8"))
FORMS = (("msgpack", False), ("json", True))
LEFT_OUT = {  # of Python's types: it has no float of 32 bits, and times of microseconds
    *("float32", "time-nanoseconds", "time-last", "duration-negative", "duration-longest", "duration-longest-back"),
    *("float-64-to-32", "float-32-infinity", "json-float-words", "duration-float", "json-duration-fraction"),
    "float32-range",
}


def known(entries: list[Any], types: str) -> Iterator[tuple[Any, Any]]:
    """The entries whose types Python has, with their hints."""
    for one in entries:
        try:
            hints = hint_of(one[types]) if types == "type" else [hint_of(type_) for type_ in one[types]]
        except NotHere:
            assert one["id"] in LEFT_OUT, one["id"]
            continue
        yield one, hints


class VectorsTest(unittest.TestCase):
    def test_names(self) -> None:
        for one in VECTORS["names"]:
            self.assertEqual(public_name(one["member"]), one["public"])

    def test_values(self) -> None:
        for one, hint in known(VECTORS["values"], "type"):
            try:
                value = value_of(one["type"], hint, one["value"])
            except NotHere:
                self.assertIn(one["id"], LEFT_OUT)
                continue
            for form, text in FORMS:
                with self.subTest(one["id"], form=form):
                    message = One(Place("the value", shape_of(hint)), text)
                    self._check_written(message.encode(value), one[form], text)
                    if one["type"] == "any" or (isinstance(value, float) and text):
                        continue
                    data = one[form].encode() if text else bytes.fromhex(one[form])
                    self.assertTrue(same(message.decode(data), value), message.decode(data))

    def _check_written(self, data: bytes, wanted: str, text: bool) -> None:
        if text:
            self.assertEqual(json.loads(data), json.loads(wanted))
            self.assertNotIn(b": ", data)
        else:
            self.assertEqual(data.hex(), wanted)

    def test_requests(self) -> None:
        for one, hints in known(VECTORS["requests"], "types"):
            values = tuple(value_of(*three) for three in zip(one["types"], hints, one["values"], strict=True))
            for form, text in FORMS:
                with self.subTest(one["id"], form=form):
                    message = arguments(hints, text)
                    self._check_written(message.encode(values), one[form], text)
                    data = one[form].encode() if text else bytes.fromhex(one[form])
                    self.assertTrue(same(message.decode(data), values))

    def test_responses(self) -> None:
        for one, hints in known(VECTORS["responses"], "types"):
            values = tuple(value_of(*three) for three in zip(one["types"], hints, one["values"], strict=True))
            for form, text in FORMS:
                with self.subTest(one["id"], form=form):
                    places = [Place(f"result {n}", shape_of(hint)) for n, hint in enumerate(hints, 1)]
                    message: Ignored | One | Several = Several(places, text, lambda came: f"got {came}", "the result")
                    value: Any = values
                    if len(hints) < 2:
                        message = One(places[0], text) if hints else Ignored(text, "the result")
                        value = values[0] if hints else None
                    self._check_written(message.encode(value), one[form], text)
                    data = one[form].encode() if text else bytes.fromhex(one[form])
                    self.assertTrue(same(message.decode(data), value))

    def test_read(self) -> None:
        for one, hints in known(VECTORS["read"], "types"):
            with self.subTest(one["id"]):
                text = one["codec"] == "json"
                data = one["input"].encode() if text else bytes.fromhex(one["input"])
                found = arguments(hints, text).decode(data)
                if one.get("values") is None:
                    continue
                try:
                    values = [value_of(*three) for three in zip(one["types"], hints, one["values"], strict=True)]
                except NotHere:
                    self.assertIn(one["id"], LEFT_OUT)
                    continue
                self.assertTrue(same(found, values), f"{found} is not {values}")

    def test_refused(self) -> None:
        for one, hints in known(VECTORS["refused"], "types"):
            with self.subTest(one["id"]):
                text = one["codec"] == "json"
                data = one["input"].encode() if text else bytes.fromhex(one["input"])
                with self.assertRaises(Misfit) as failed:
                    arguments(hints, text).decode(data)
                self.assertEqual(failed.exception.limit, one["code"] == "RESOURCE_EXHAUSTED")
                said = str(failed.exception)
                if "parameter" in one:
                    self.assertIn(f"parameter {one['parameter']} of /vectors/method", said)
                else:
                    self.assertNotIn("parameter 1 ", said)

    def test_strict(self) -> None:
        for one, hints in known(VECTORS["strict"], "types"):
            with self.subTest(one["id"]):
                data = one["input"].encode()
                arguments(hints, True).decode(data)
                with self.assertRaises(Misfit) as failed:
                    arguments(hints, True, strict=True).decode(data)
                wanted = f'parameter {one["parameter"]} of /vectors/method: there is no field "{one["field"]}"'
                self.assertEqual(str(failed.exception), wanted)


class WithoutMsgspecTest(VectorsTest):
    """The same with the standard library alone."""

    def setUp(self) -> None:
        patch = mock.patch.object(quick, "msgspec", None)
        patch.start()
        self.addCleanup(patch.stop)
