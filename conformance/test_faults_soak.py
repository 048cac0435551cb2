"""The soak tells what grows from what is only busy."""

from __future__ import annotations

from unittest import TestCase

from .faults.soak import MIB, Reading, slopes


def readings(count: int, **growth: int) -> list[Reading]:
    """Readings in which all stays about the same, but for what grows by so much each time."""
    base = dict.fromkeys(("running", "tasks", "descriptors", "client_descriptors"), 20)
    base |= dict.fromkeys(("heap", "resident", "client_resident"), 20 * MIB)
    return [
        Reading(at=n, **{name: value + n % 3 + n * growth.get(name, 0) for name, value in base.items()})
        for n in range(count)
    ]


class Slopes(TestCase):
    def test_what_stays_is_no_slope(self) -> None:
        self.assertEqual(slopes(readings(30)), [])

    def test_each_slope_is_found(self) -> None:
        for name, step in (
            ("running", 4),
            ("tasks", 10),
            ("descriptors", 3),
            ("client_descriptors", 3),
            ("heap", MIB),
            ("resident", 2 * MIB),
            ("client_resident", 2 * MIB),
        ):
            with self.subTest(name):
                (found,) = slopes(readings(30, **{name: step}))
                self.assertTrue(found.startswith(name), found)

    def test_too_few_readings_prove_nothing(self) -> None:
        self.assertEqual(len(slopes(readings(5))), 1)
