"""Follows what comes over HTTP/2 from frame to frame, ahead of the library: what has come in part, and since when; what
frames cost that are of no use (limits.md 5); and GOAWAY, behind which the library would serve nothing any more."""

from __future__ import annotations

from hyperframe.frame import GoAwayFrame

from trunkcall.transport import clock

DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = 0, 1, 2, 3, 4, 6, 7, 8, 9
FOR_DATA, FOR_ANSWER = 4, 8  # what content and answers earn
MOST_FORFEIT = 64  # of what a request has earned that its peer then has reset
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
_MOST = 4_096
_EACH = 1_000  # µs in which one comes back
_HEADER = 9
_END_STREAM, _END_HEADERS = 1, 4
_DATA_TIME, _TIME = 60_000_000, 10_000_000  # µs for a frame, once it has begun
_LARGEST = 16_384
_SETTINGS = 48  # bytes of a SETTINGS frame that cost as much as a frame: eight settings
_MOST_CONTINUED = 64  # of a header block
_NAMES = {
    PRIORITY: "PRIORITY",
    RST_STREAM: "RST_STREAM",
    SETTINGS: "SETTINGS",
    PING: "PING",
    WINDOW_UPDATE: "WINDOW_UPDATE",
}


class Flood(Exception):
    """Too much of what is of no use."""


class TooLarge(Exception):
    """A frame that is longer than any may be."""


class Allowance:
    """Frames that cost work and are of no use use it up; content, in either direction, and answers earn it back, and so
    does time, slowly."""

    __slots__ = ("_left", "_since")

    def __init__(self) -> None:
        self._left = _MOST
        self._since = clock()

    def earn(self, some: int) -> None:
        self._left = min(self._left + some, _MOST)

    def spend(self, some: int, what: str) -> None:
        """Takes from it for something that was read. Raises Flood."""
        self._left -= some
        if self._left < 0:
            earned = (clock() - self._since) // _EACH
            self._since += earned * _EACH
            self._left = min(self._left + earned, _MOST)
            if self._left < 0:
                raise Flood(f"too many frames without use ({what}): more than {_MOST:,} at once")


class Follower:
    """Where the input of a connection is."""

    def __init__(self, allowance: Allowance) -> None:
        self._allowance = allowance
        self._preface = len(PREFACE)  # bytes of it that are missing
        self._header = b""  # of a frame's, in part
        self._missing = 0  # bytes of the frame that has begun
        self._kind = -1
        self._dropping = False  # the frame that has begun is not for the library
        self._in_headers = False
        self._continued = 0  # frames of CONTINUATION
        self._since = 0  # when that began which has come in part; 0: nothing has
        self.settled = False  # the peer's SETTINGS have come

    def follow(self, data: bytes) -> bytes:
        """Takes what was read, and returns what the library is to see of it: the header of a frame only when it is
        whole, and no GOAWAY. Raises Flood, TooLarge."""
        end = len(data)
        at = min(self._preface, end)
        self._preface -= at
        begun = 0  # of what is not in `kept`
        kept: list[bytes] = []
        while at < end:
            if self._missing:
                some = min(self._missing, end - at)
                at += some
                self._missing -= some
            else:
                before = self._header
                header = before + data[at : at + _HEADER - len(before)]
                if not self._dropping:
                    kept.append(data[begun:at])
                    begun = at
                if len(header) < _HEADER:
                    self._header = header
                    at = begun = end
                    break
                self._header = b""
                at += _HEADER - len(before)
                self._begin(header)
                if before and not self._dropping:
                    kept.append(before)
            if not self._missing:
                if not self._in_headers:
                    self._since = 0
                if self._dropping:
                    self._dropping = False
                    begun = at
        if not self._dropping:
            kept.append(data[begun:])
        if not (self._missing or self._header or self._in_headers or self._preface):
            self._since = 0
        elif not self._since:
            self._since = clock()
        return b"".join(kept)

    def _begin(self, header: bytes) -> None:
        length = int.from_bytes(header[:3], "big")
        kind, flags = header[3], header[4]
        if length > _LARGEST:
            raise TooLarge(f"a frame of {length:,} bytes, {_LARGEST:,} are the most")
        self._missing = length
        self._kind = kind
        if kind == DATA:
            if not length and not flags & _END_STREAM:
                self._allowance.spend(1, "empty DATA")
        elif kind == HEADERS or kind == CONTINUATION:
            self._continued = self._continued + 1 if kind == CONTINUATION else 0
            if self._continued > _MOST_CONTINUED:
                raise Flood(f"a header block of more than {_MOST_CONTINUED} frames of CONTINUATION")
            self._in_headers = not flags & _END_HEADERS
        elif kind == GOAWAY and length >= 8 and header[5:] == b"\0\0\0\0" and not self._in_headers:
            self._dropping = True
        else:
            cost = 1
            if kind == SETTINGS:
                self.settled = True
                cost += length // _SETTINGS
            self._allowance.spend(cost, _NAMES.get(kind, "of an unknown type"))

    def late(self, now: int) -> str:
        """What has come in part for too long; "": nothing has."""
        if not self._since or now - self._since <= _TIME:
            return ""
        if self._missing and self._kind == DATA and not self._in_headers:
            return "a frame of DATA took longer than 60 s" if now - self._since > _DATA_TIME else ""
        return "a header block took longer than 10 s" if self._in_headers else "a frame took longer than 10 s"


def goaway(last: int, error: int, text: str) -> bytes:
    """A GOAWAY frame. The library would send nothing behind its own."""
    frame = GoAwayFrame(0, last, int(error), text.encode("utf-8", "replace")[:1_024])
    return frame.serialize()
