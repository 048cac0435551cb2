"""What runs the public suite: that one way which goes wrong leaves the others."""

from __future__ import annotations

from pathlib import Path
from unittest import TestCase, mock

from harness.processes import Failed

from . import public_suite
from .public_suite import Suite, ways


class Running(TestCase):
    def test_a_way_that_does_not_end_has_failed(self) -> None:
        suite = Suite(Path("nowhere"), Path("nowhere/schema.bin"))
        with (
            mock.patch.object(Path, "write_text"),
            mock.patch.object(public_suite, "run", side_effect=Failed("did not end within 1 s")),
        ):
            result = suite.test(ways()[0])
        self.assertEqual(result.wrong, "did not end within 1 s")
