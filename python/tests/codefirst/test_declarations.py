"""What cannot be served or called is refused when the service or client is made, with class, method and parameter."""

from __future__ import annotations

import datetime
import decimal
import unittest
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from enum import Flag
from typing import Annotated, Any, Protocol

import trunkcall
from trunkcall import codefirst
from trunkcall.codefirst import Range, handlers, method, service


@dataclass
class Twice:
    user_id: int
    userID: int


class Mode(Flag):
    A = 1


class WithoutName:
    @method
    def one(self) -> None: ...


@service
class Nothing:
    def one(self) -> None: ...


@service
class SameName:
    @method
    def get_url(self) -> None: ...

    @method("getUrl")
    def other(self) -> None: ...


@service
class Hints:
    @method
    def one(self, a) -> None: ...  # type: ignore[no-untyped-def]


@service
class Returns:
    @method
    def one(self, a: int):  # type: ignore[no-untyped-def]
        ...


@service
class Unreadable:
    @method
    def one(self, a: Missing) -> None: ...  # type: ignore[name-defined]  # noqa: F821


@service
class ByName:
    @method
    def one(self, *, a: int) -> None: ...


@service
class Options:
    @method
    def one(self, a: trunkcall.CallOptions) -> None: ...


def served(hint: Any) -> Any:
    class Made:
        def one(self, a: Any, given: Any) -> None: ...

    Made.one.__annotations__["given"] = hint
    method(Made.one)
    return Made


class Sync(Protocol):
    def one(self) -> None: ...


class Async(Protocol):
    async def one(self) -> None: ...


class SyncStreams(Protocol):
    def one(self, values: Iterator[int]) -> int: ...


class MixedStreams(Protocol):
    def one(self, values: AsyncIterator[int]) -> int: ...


@service
class TakesIterator:
    @method
    def one(self, values: Iterator[int]) -> int: ...  # type: ignore[empty-body]


class Blocking:
    def call(self, method: Any, request: Any) -> None: ...


class Declarations(unittest.TestCase):
    def refused(self, kind: Any, *said: str) -> None:
        with self.assertRaises((TypeError, ValueError)) as failed:
            handlers(kind())
        for part in said:
            self.assertIn(part, str(failed.exception))

    def test_contradictions_are_refused_by_name(self) -> None:
        self.refused(WithoutName, 'WithoutName is no service: decorate it with @service("name")')
        self.refused(Nothing, "Nothing has no method to be served")
        self.refused(SameName, "SameName: get_url and other are both getUrl in public")
        self.refused(Hints, "parameter a of Hints.one has no type hint")
        self.refused(Returns, "Returns.one does not say what it returns: -> None")
        self.refused(Unreadable, "Unreadable.one: a type hint cannot be read", "Missing")
        self.refused(ByName, "parameter a of ByName.one: arguments go by their position")
        self.refused(Options, "parameter a of Options.one", "its caller's")

    def test_types_that_cannot_travel_are_refused_by_name(self) -> None:
        for hint, said in (
            (decimal.Decimal, "the type Decimal cannot travel"),
            (datetime.date, "the type date cannot travel"),
            (int | str, "only one and None"),
            (set[int], "the type set[int] cannot travel"),
            (list, "it does not say of what"),
            (tuple[int, str], "a tuple is a list of one type"),
            (dict[float, int], "keys are texts, whole numbers or constants"),
            (dict[str, list[complex]], "the type complex cannot travel"),
            (Twice, "the fields user_id and userID are both userId in public"),
            (Mode, "flags that are combined have no name"),
            (Annotated[int, Range(-1, 2**63)], "want a range of whole numbers of 64 bits"),
        ):
            with self.subTest(str(hint)), self.assertRaises((TypeError, ValueError)) as failed:
                handlers(served(hint)(), "made")
            self.assertIn("parameter given of Made.one: ", str(failed.exception))
            self.assertIn(said, str(failed.exception))

    def test_what_is_no_service_is_refused(self) -> None:
        self.assertRaisesRegex(TypeError, "give an object of it, Nothing", handlers, Nothing)
        self.assertRaisesRegex(TypeError, "is for a class", service("a"), 7)
        self.assertRaisesRegex(TypeError, "for a method of a class", method, 7)
        self.assertRaisesRegex(ValueError, 'no "/"', method, "a/b")
        self.assertRaisesRegex(ValueError, "at least one character", service, "")
        self.assertRaisesRegex(TypeError, "Protocol class", codefirst.client, 7, Blocking(), "a")

    def test_a_client_is_asynchronous_as_its_caller_is(self) -> None:
        client = trunkcall.Client("127.0.0.1:1")
        with self.assertRaisesRegex(TypeError, "Sync.one is a plain function, and its caller is of asyncio"):
            codefirst.client(Sync, client, "a")
        with self.assertRaisesRegex(TypeError, "Async.one is asynchronous, and its caller blocks"):
            codefirst.client(Async, Blocking(), "a")
        for kind in (SyncStreams, MixedStreams):
            with self.assertRaisesRegex(TypeError, f"{kind.__name__}.one is a plain function, and its caller is of"):
                codefirst.client(kind, client, "a")
        with self.assertRaisesRegex(TypeError, "MixedStreams.one is asynchronous, and its caller blocks"):
            codefirst.client(MixedStreams, Blocking(), "a")

    def test_requests_that_stream_are_asynchronous_at_the_server(self) -> None:
        self.refused(TakesIterator, "parameter values of TakesIterator.one", "AsyncIterator")

    def test_a_class_that_overrides_serves_what_its_base_declares(self) -> None:
        class Derived(SameNameBase):
            def one(self, a: int) -> int:
                return a

        (handler,) = handlers(Derived(), "made")
        self.assertEqual(handler.method.name, "/made/one")


class SameNameBase:
    @method
    def one(self, a: int) -> int:
        raise NotImplementedError


if __name__ == "__main__":
    unittest.main()
