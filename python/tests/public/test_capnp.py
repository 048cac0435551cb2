"""Messages of Cap'n Proto, as vectors and in calls."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast

import capnp
import pytest

import trunkcall
from trunkcall import Code, ServerCall, StatusError
from trunkcall.capnp import CAPNP, Capnp, struct

from .kit import Case

VECTORS = Path(__file__).resolve().parents[3] / "spec" / "vectors"
LIBRARY: Any = capnp.load(str(VECTORS / "library.capnp"))
Book: Any = struct(LIBRARY.Book)
Shelf: Any = struct(LIBRARY.Shelf)
MESSAGES: dict[str, list[dict[str, Any]]] = json.loads((VECTORS / "capnp.json").read_text(encoding="utf-8"))

THICKEST = trunkcall.unary("/test.Library/Thickest", Shelf, Book)
ALL = trunkcall.server_stream("/test.Library/All", Shelf, Book)
WRONG = trunkcall.unary("/test.Library/Wrong", Book, Shelf)

encode, decode = CAPNP.encoder(Book), CAPNP.decoder(Book)


def shelf(*titles: str) -> Any:
    return Shelf.new_message(books=[{"title": title, "pages": n} for n, title in enumerate(titles)])


def behind(depth: int) -> bytes:
    first = last = Shelf.new_message()
    for _ in range(depth):
        last = last.init("behind")
    return CAPNP.encoder(Shelf)(first)


@pytest.mark.parametrize("case", MESSAGES["valid"] + MESSAGES["degenerate"], ids=lambda case: case["id"])
def test_vectors_of_messages(case: dict[str, Any]) -> None:
    book = decode(bytes.fromhex(case["hex"]))
    for _ in "as it came", "as we write it":
        assert {"title": book.title, "pages": book.pages, "cover": book.cover.hex()} == case["book"]
        book = decode(encode(book))


@pytest.mark.parametrize("case", MESSAGES["invalid"], ids=lambda case: case["id"])
def test_vectors_of_what_is_no_message(case: dict[str, Any]) -> None:
    with pytest.raises((ValueError, capnp.KjException)):
        decode(bytes.fromhex(case["hex"]))


def test_a_message_may_be_sent_again_and_then_changed() -> None:
    book = Book.new_message(title="a")
    assert encode(book) == encode(book)
    book.pages = 3
    assert decode(encode(book)).pages == 3


def test_a_struct_in_anothers_message_is_sent_alone() -> None:
    books = shelf("A", "B", "long" * 1000).books
    assert decode(encode(books[1])).title == "B"
    assert len(encode(books[1])) < 100
    received = CAPNP.decoder(Shelf)(CAPNP.encoder(Shelf)(shelf("A", "B", "long" * 1000)))
    assert len(encode(received.books[1])) < 100


def test_what_is_received_outlives_the_bytes_it_came_in() -> None:
    data = bytearray(encode(Book.new_message(title="kept", cover=b"c" * 1000)))
    book = decode(memoryview(data))  # type: ignore[arg-type]
    data[:] = bytes(len(data))
    del data
    assert (book.title, book.cover) == ("kept", b"c" * 1000)


def test_pointers_are_followed_as_far_as_the_limits() -> None:
    for codec, least, most in ((CAPNP, 60, 64), (Capnp(depth=10), 8, 10)):
        at, followed = codec.decoder(Shelf)(behind(100)), 0
        with pytest.raises(capnp.KjException, match="nest"):
            while followed < 100:
                at, followed = at.behind, followed + 1
        assert least <= followed <= most
    book = Capnp(traverse=1 << 20).decoder(Book)(encode(Book.new_message(cover=bytes(1 << 19))))
    with pytest.raises(capnp.KjException, match="limit"):
        for _ in range(4):
            assert len(book.cover) == 1 << 19


def test_limits_are_checked_where_they_are_given() -> None:
    for wrong in ({"traverse": 0}, {"traverse": "1 MiB"}, {"depth": None}, {"depth": -1}):
        with pytest.raises((TypeError, ValueError), match=f"option {next(iter(wrong))}: "):
            Capnp(**cast("Any", wrong))


def test_what_is_no_message_of_a_struct_is_named() -> None:
    for wrong, named in (
        (None, "None"),
        ("x", "a str"),
        (shelf(), "a message of Shelf"),
        (LIBRARY.Book, "a _StructModule"),
    ):
        with pytest.raises(TypeError, match=f"want a Book, not {named}"):
            encode(wrong)
    with pytest.raises(TypeError, match=r"str is no struct of Cap'n Proto: make it with trunkcall\.capnp\.struct"):
        CAPNP.decoder(str)
    for wrong in (str, None, Book, Book.new_message()):
        with pytest.raises(TypeError, match="is no struct of a schema"):
            struct(cast("Any", wrong))


class Calls(Case):
    async def library(self) -> trunkcall.Client:
        def thickest(request: Any, _: ServerCall) -> Any:
            return max(request.books, key=lambda book: book.pages)

        async def each(request: Any, _: ServerCall) -> Any:
            for book in request.books:
                yield book

        def wrong(_request: Any, _: ServerCall) -> Any:
            return Book.new_message()

        handlers = THICKEST.handler(thickest), ALL.handler(each), WRONG.handler(wrong)
        _, address = await self.serve(*handlers, codecs=[CAPNP])
        client = self.client(address, codec=CAPNP)
        return client

    async def test_structs_go_both_ways(self) -> None:
        client = await self.library()
        self.assertEqual((await client.call(THICKEST, shelf("A", "B"))).title, "B")
        stream = client.open(ALL, shelf("A", "B"))
        self.assertEqual([book.title async for book in stream], ["A", "B"])

    async def test_an_answer_of_another_struct_is_internal_and_named_in_the_log(self) -> None:
        client = await self.library()
        with self.assertLogs("trunkcall", "ERROR") as told, self.assertRaises(StatusError) as caught:
            await client.call(WRONG, Book.new_message())
        self.assertEqual(caught.exception.code, Code.INTERNAL)
        self.assertIn("want a Shelf", told.output[0])

    async def test_a_request_of_another_struct_is_refused_by_the_client(self) -> None:
        client = await self.library()
        with self.assertRaisesRegex(StatusError, "/test.Library/Thickest takes a Shelf"):
            await client.call(THICKEST, Book.new_message())
