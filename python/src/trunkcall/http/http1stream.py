"""A request's place on a connection of HTTP/1.1, and how its answer is written (RFC 9112)."""

from __future__ import annotations

import re
from http import HTTPStatus
from typing import TYPE_CHECKING

from .fields import Fields
from .line import LineStream

if TYPE_CHECKING:
    from .http1 import Http1Line

PIECE = 64 << 10  # unsent bytes of an answer, above which its handler waits
_BODILESS = (HTTPStatus.NO_CONTENT, HTTPStatus.NOT_MODIFIED)
_LINES = {int(one): f"HTTP/1.1 {int(one)} {one.phrase}" for one in HTTPStatus}
_NAME = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_NAMES: set[str] = set()  # those that were looked at
_MOST_NAMES = 1_024
_ENDS = re.compile(r"[\0\n\v\f\r]")  # what may be taken for the end of a line, or of a text


class Http1Stream(LineStream):
    """One request, and its answer."""

    line: Http1Line

    def __init__(self, line: Http1Line, bodiless: bool, old: bool, expects: bool) -> None:
        """`old`: it came in HTTP/1.0, which knows no chunks."""
        super().__init__(line, bodiless, expects)
        self._old = old
        self.version = "1.0" if old else "1.1"
        self._begun = False
        self._chunked = False
        self._left = -1  # bytes that the answer's body may still have; -1: any number
        self.pending = 0  # bytes of the body that were not consumed
        self.dropped = 0  # bytes behind the answer

    def head(self, status: int, fields: Fields, end: bool = False) -> None:
        """The head goes with what follows: a caller whose time runs out gets both or none."""
        line = self.line
        if self._begun or line.lost:
            return
        self._begun = True
        self.expects = False
        headers = [*fields, *self.extra]
        lengths = [value for name, value in headers if name == "content-length"]
        if len(lengths) > 1:
            self._not_written("it has two lengths")
            return
        if self.bodiless or status in _BODILESS:
            self._left = 0
        elif lengths:
            self._left = int(lengths[0])
        if not lengths and status not in _BODILESS:
            if end:
                headers.append(("content-length", "0"))
                self._left = 0
            elif self._old:
                line.close_soon()  # which is how it ends
            elif not self.bodiless:
                headers.append(("transfer-encoding", "chunked"))
                self._chunked = True
        if line.says_close():
            headers.append(("connection", "close"))
        try:
            line.out += head_of(status, headers)
        except ValueError as error:
            self._not_written(str(error))
            return
        line.schedule()
        if end:
            self.end()

    def write(self, data: bytes) -> bool:
        line = self.line
        if self.answered or self.bodiless or line.lost or not data:
            return True
        if self._chunked:
            line.out += b"%x\r\n%b\r\n" % (len(data), data)
        elif self._left < 0:
            line.out += data
        elif len(data) <= self._left:
            self._left -= len(data)
            line.out += data
        else:
            self._not_written("its body is longer than its length")
            return True
        line.schedule()
        if len(line.out) > PIECE:
            line.write_out()
        return not line.full

    def end(self, trailers: Fields | None = None) -> None:
        if self.answered:
            return
        self.answered = True
        line = self.line
        if line.lost:
            return
        if self._left > 0:
            self._not_written("its body is shorter than its length")
            return
        if self._chunked:
            line.out += b"0\r\n\r\n"
        line.schedule()
        line.answered(self)

    def _not_written(self, why: str) -> None:
        self.line.abort(f"an answer cannot be written: {why}")

    def consumed(self, credit: int) -> None:
        self.pending -= credit
        self.line._read_on()

    def proceed(self) -> None:
        if self.expects and not self.request_ended and not self._begun and not self.line.lost:
            self.line.out += b"HTTP/1.1 100 Continue\r\n\r\n"
            self.line.schedule()
        self.expects = False

    def abandoned(self) -> None:
        self.line.stopped()

    def break_off(self, why: str) -> None:
        self.answered = True
        self.line.abort(why)


def head_of(status: int, fields: Fields) -> bytes:
    """The head of an answer. Raises ValueError for what would be read as something else."""
    lines = [_LINES.get(status) or f"HTTP/1.1 {status} "]
    for name, value in fields:
        if name not in _NAMES:
            _check_name(name)
        lines.append(f"{name}: {value}")
    if not "".join(lines).isprintable() and (wrong := next(filter(_ENDS.search, lines), None)):
        raise ValueError(f"{wrong.partition(':')[0]} has a line end in its value")
    return "\r\n".join([*lines, "", ""]).encode("latin-1", "replace")


def _check_name(name: str) -> None:
    if not _NAME.fullmatch(name):
        raise ValueError(f"{name!r} is no name of a field")
    if len(_NAMES) < _MOST_NAMES:
        _NAMES.add(name)
