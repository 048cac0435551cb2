"""A typed client whose caller blocks."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from functools import partial
from typing import Any

from tests.blocking.kit import Case
from trunkcall import JSON, MSGPACK, CallOptions, Code, codefirst

from .calculator import BlockingCalculator, Calculator, Division, Item


class BlockingClients(Case):
    def begin(self, **options: Any) -> BlockingCalculator:
        _, address = self.serve(*codefirst.handlers(Calculator()))
        return codefirst.client(BlockingCalculator, self.client(address), **options)

    def test_calls_of_every_kind(self) -> None:
        for codec in (MSGPACK, JSON):
            with self.subTest(codec.name):
                remote = self.begin(codec=codec)
                self.assertEqual(remote.div(7, 2), Division(3, 1))
                self.assertEqual(remote.next_item(Item(1), CallOptions(timeout=60)), Item(2))
                self.fails(partial(remote.next_item, Item(1), CallOptions(max_receive=1)), Code.RESOURCE_EXHAUSTED)
                self.assertEqual(list(remote.count(4)), [0, 1, 2, 3])
                self.assertEqual(remote.summed(iter(range(5))), 10)
                self.assertEqual(list(remote.doubled(iter(range(3)))), [0, 2, 4])

    def test_failures_are_those_of_a_call(self) -> None:
        remote = self.begin()
        self.assertEqual(self.fails(lambda: remote.div(1, 0), Code.INVALID_ARGUMENT).message, "division by zero")

    def test_a_stream_that_is_left_ends(self) -> None:
        remote = self.begin()
        self.assertEqual(list(itertools.islice(remote.count(1 << 40), 3)), [0, 1, 2])
        self.assertEqual(list(itertools.islice(remote.doubled(itertools.count()), 3)), [0, 2, 4])
        self.assertEqual(remote.div(7, 2), (3, 1))

    def test_what_an_iterator_of_requests_raises_comes_out(self) -> None:
        def broken() -> Iterator[int]:
            yield 1
            raise LookupError("no more")

        remote = self.begin()
        with self.assertRaises(LookupError):
            remote.summed(broken())
        with self.assertRaises(LookupError):
            list(remote.doubled(broken()))
