"""What answers over HTTP/1.1 look like, as h11 reads them."""

from __future__ import annotations

import unittest
from typing import Any, cast

import h11

from trunkcall.http.fields import Fields
from trunkcall.http.http1stream import Http1Stream, head_of


class Line:
    """What a stream has of its connection."""

    def __init__(self) -> None:
        self.out = bytearray()
        self.lost = self.leaving = self.full = False
        self.why = ""
        self.ended = 0

    def schedule(self) -> None:
        pass

    def says_close(self) -> bool:
        return self.leaving

    def close_soon(self) -> None:
        self.leaving = True

    def write_out(self) -> None:
        pass

    def answered(self, stream: object) -> None:
        self.ended += 1

    def abort(self, why: str) -> None:
        self.lost, self.why = True, why


def stream_of(line: Line, method: str = "GET", old: bool = False, expects: bool = False) -> Http1Stream:
    return Http1Stream(cast(Any, line), method == "HEAD", old, expects)


def read(line: Line, method: str = "GET") -> tuple[h11.Response, bytes, bool]:
    """The answer, its body, and whether the connection can be used for the next one."""
    client = h11.Connection(h11.CLIENT)
    client.send(h11.Request(method=method, target="/", headers=[("Host", "here")]))
    client.send(h11.EndOfMessage())
    client.receive_data(bytes(line.out))
    if line.leaving:
        client.receive_data(b"")
    head, body = client.next_event(), b""
    assert isinstance(head, h11.Response)
    while isinstance(event := client.next_event(), h11.Data):
        body += bytes(event.data)
    assert isinstance(event, h11.EndOfMessage), event
    assert client.trailing_data[0] == b""
    return head, body, client.their_state is h11.DONE


def fields_of(head: h11.Response) -> dict[str, str]:
    return {name.decode(): value.decode("latin-1") for name, value in head.headers}


class Answers(unittest.TestCase):
    def test_a_stated_length_is_the_frame_of_the_body(self) -> None:
        line = Line()
        stream = stream_of(line)
        stream.head(200, [("content-type", "application/json"), ("content-length", "5")])
        stream.write(b"abc")
        stream.write(b"")
        stream.write(b"de")
        stream.end()
        head, body, usable = read(line)
        self.assertEqual((head.status_code, bytes(head.reason), body, usable), (200, b"OK", b"abcde", True))
        self.assertEqual(fields_of(head), {"content-type": "application/json", "content-length": "5"})
        self.assertEqual(line.ended, 1)

    def test_without_one_there_are_chunks(self) -> None:
        line = Line()
        stream = stream_of(line)
        stream.head(200, [])
        for piece in (b"a" * 1_000, b"", b"\r\n0\r\n\r\n"):
            stream.write(piece)
        stream.end()
        head, body, usable = read(line)
        self.assertEqual((body, usable), (b"a" * 1_000 + b"\r\n0\r\n\r\n", True))
        self.assertEqual(fields_of(head), {"transfer-encoding": "chunked"})

    def test_to_http_1_0_the_end_of_the_connection_is_that_of_the_body(self) -> None:
        line = Line()
        stream = stream_of(line, old=True)
        stream.head(200, [])
        stream.write(b"body")
        stream.end()
        head, body, usable = read(line)
        self.assertEqual((body, usable), (b"body", False))
        self.assertEqual(fields_of(head), {"connection": "close"})

    def test_what_has_no_body_has_none_whatever_is_written(self) -> None:
        for method, status, fields, wanted in (
            ("HEAD", 200, [("content-length", "4")], {"content-length": "4"}),
            ("HEAD", 200, [], {}),
            ("GET", 204, [], {}),
            ("GET", 304, [("content-length", "4")], {"content-length": "4"}),
        ):
            with self.subTest(method=method, status=status):
                line = Line()
                stream = stream_of(line, method)
                stream.head(status, fields)
                if method == "HEAD":
                    stream.write(b"body")
                stream.end()
                head, body, usable = read(line, method)
                self.assertEqual((body, usable, line.why), (b"", True, ""))
                self.assertEqual(fields_of(head), wanted)

    def test_an_end_at_once_says_that_nothing_comes(self) -> None:
        for status, wanted in ((200, {"content-length": "0"}), (204, {}), (304, {})):
            line = Line()
            stream_of(line).head(status, [], end=True)
            head, body, usable = read(line)
            self.assertEqual((body, usable, fields_of(head), line.ended), (b"", True, wanted, 1))

    def test_the_last_answer_says_so(self) -> None:
        line = Line()
        line.leaving = True
        stream_of(line).head(200, [], end=True)
        self.assertEqual(fields_of(read(line)[0])["connection"], "close")

    def test_a_go_ahead_is_given_once_and_not_behind_the_head(self) -> None:
        line = Line()
        stream = stream_of(line, expects=True)
        stream.proceed()
        stream.proceed()
        self.assertEqual(bytes(line.out), b"HTTP/1.1 100 Continue\r\n\r\n")
        late = Line()
        stream = stream_of(late, expects=True)
        stream.head(200, [], end=True)
        stream.proceed()
        self.assertNotIn(b" 100 ", late.out)

    def test_a_body_of_another_length_than_was_stated_ends_the_connection(self) -> None:
        for status, pieces, text in (
            (200, [b"abc", b"def"], "its body is longer than its length"),
            (200, [b"abc"], "its body is shorter than its length"),
            (204, [b"abc"], "its body is longer than its length"),
        ):
            with self.subTest(text, status=status):
                line = Line()
                stream = stream_of(line)
                stream.head(status, [("content-length", "4")] if status == 200 else [])
                for piece in pieces:
                    stream.write(piece)
                stream.end()
                self.assertEqual((line.why, line.ended), (f"an answer cannot be written: {text}", 0))
                self.assertNotIn(b"def", line.out)

    def test_a_field_cannot_bring_another_one_or_the_body(self) -> None:
        wrong: list[Fields] = [
            [("key", "value\r\nother: value")],
            [("key", "value\r\n\r\nbody")],
            [("key", "value\nother: value")],
            [("key", "value\rother: value")],
            [("key", "\0")],
            [("key: value\r\nother", "value")],
            [("key ", "value")],
            [("", "value")],
            [("schlüssel", "value")],
        ]
        for fields in wrong:
            with self.subTest(fields):
                self.assertRaises(ValueError, head_of, 200, fields)
                line = Line()
                stream_of(line).head(200, fields)
                self.assertTrue(line.lost)
                self.assertEqual(line.out, b"")
        line = Line()
        stream_of(line).head(200, [("content-length", "1"), ("content-length", "2")])
        self.assertEqual(line.why, "an answer cannot be written: it has two lengths")

    def test_values_are_of_latin_1(self) -> None:
        for value, wanted in (("é\xa0\xad", "é\xa0\xad"), ("Ċč 許", "?? ?"), ("a\tb", "a\tb"), ("", "")):
            line = Line()
            stream_of(line).head(200, [("key", value)], end=True)
            self.assertEqual(fields_of(read(line)[0])["key"], wanted)

    def test_a_status_without_a_name_has_none(self) -> None:
        line = Line()
        stream_of(line).head(299, [], end=True)
        head, _, _ = read(line)
        self.assertEqual((head.status_code, bytes(head.reason)), (299, b""))


if __name__ == "__main__":
    unittest.main()
