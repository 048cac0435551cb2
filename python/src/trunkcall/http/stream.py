"""What requests, their places on a connection, and the layer above have to do with each other."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from trunkcall.wire import Code, Config, Load, Method, Settings

from .fields import FIELD_COST, Fields, listed_encodings

if TYPE_CHECKING:
    from .line import Line
    from .mounted import Mounted

_LEAST_HEADER, _MOST_HEADER = 32 << 10, 16 << 20
_ROOM = 4 << 10  # for fields of HTTP itself
_LEAST_FIELDS, _FIELD_ROOM = 192, 64


class Receiver(Protocol):
    """What comes of a request."""

    def data(self, data: bytes, credit: int) -> None:
        """Bytes of the body, and what they cost of its windows."""

    def ended(self) -> None:
        """The request is whole."""

    def lost(self) -> None:
        """The caller is gone: nothing can be answered any more."""

    def writable(self) -> None:
        """More of the answer is taken."""

    def tick(self, now: int) -> None:
        """Time has passed."""

    def cut_off(self, code: Code, text: str, soon: bool = False) -> None:
        """Ends the call without its handler."""


class Answered:
    """What comes of an answered request: nothing."""

    def data(self, data: bytes, credit: int) -> None:
        pass

    def ended(self) -> None:
        pass

    def lost(self) -> None:
        pass

    def writable(self) -> None:
        pass

    def tick(self, now: int) -> None:
        pass

    def cut_off(self, code: Code, text: str, soon: bool = False) -> None:
        pass


ANSWERED = Answered()


class Stream(Protocol):
    """The place of one request on its connection, where its answer goes."""

    multiplexed: bool  # it is HTTP/2
    most_trailers: int  # bytes that the peer takes

    @property
    def line(self) -> Line: ...

    def add(self, name: str, value: str) -> None:
        """Adds a field to whatever head the answer gets."""

    def head(self, status: int, fields: Fields, end: bool = False) -> None:
        """Begins the answer, or with `end` gives all of it."""

    def write(self, data: bytes) -> bool:
        """Writes a piece of the body. False: wait until more is taken."""
        ...

    def end(self, trailers: Fields | None = None) -> None:
        """Ends the answer, with trailers where there are some."""

    def consumed(self, credit: int) -> None:
        """Bytes of the request were consumed."""

    def proceed(self) -> None:
        """The body begins to be read: who waits for that is told to send it."""

    def handler_began(self) -> None: ...

    def handler_returned(self) -> None:
        """Perhaps behind an answer that it did not give."""

    def abandoned(self) -> None:
        """The answer was given without the handler, which runs on."""


class Events(Protocol):
    """What the layer above is told of one connection and its calls."""

    connection: Any

    def connected(self) -> None: ...
    def opened(self) -> None: ...
    def disconnected(self, why: str) -> None: ...
    def failed(self, kind: str, text: str) -> None: ...
    def start(self, call: Any) -> None: ...
    def arrived(self, call: Any) -> None: ...
    def writable(self, call: Any) -> None: ...
    def stopped(self, call: Any) -> None: ...
    def unserved(self, method: bytes, refused: bool, code: Code, text: str) -> None: ...


class Target(Protocol):
    """What a method that is served says of itself (`Method.target`)."""

    @property
    def streams(self) -> bool: ...
    @property
    def safe(self) -> bool:
        """Whether it is declared to have no side effects."""
        ...

    @property
    def bindings(self) -> Mapping[int, Any]:
        """By the numbers of codecs."""
        ...


class Terms:
    """What a call's answer has to keep to, as a session says it of its own: `peer` accepts any message, and the
    compression that was agreed upon."""

    __slots__ = ("granter", "now", "own", "peer")

    class _Granter:
        due = False  # credit is given otherwise

    def __init__(self, own: Settings, packs: int) -> None:
        self.own = own
        self.peer = Settings(max_message=1 << 62, compressions=frozenset((packs,)) if packs else frozenset())
        self.granter = self._Granter
        self.now = 0  # set by who serves; nothing of HTTP needs it


@dataclass
class HttpConfig:
    """How a server serves HTTP: with the limits that native connections have."""

    events: Callable[[], Events]
    """Makes who is told of a connection."""
    session: Config
    methods: Mapping[bytes, Method]
    codecs: Mapping[str, int]
    """Numbers of codecs by the names that content types have for them."""
    codec_list: str
    """All codecs, for people."""
    order: Sequence[int] | None
    """The compressions of answers; None: nothing was said."""
    origins: Sequence[str]
    """Pages that may read answers; "*": all."""
    mounted: Mounted | None = None
    """Serves the paths that are no services."""

    def __post_init__(self) -> None:
        settings = self.settings
        most = 4 * settings.max_metadata_bytes // 3 + FIELD_COST * min(settings.max_metadata_entries, _MOST_HEADER)
        # The longest header, whose binary values are a third longer than natively, and how many fields it may have.
        self.header_bytes = min(max(most + _ROOM, _LEAST_HEADER), _MOST_HEADER)
        self.most_fields = max(min(settings.max_metadata_entries, _MOST_HEADER) + _FIELD_ROOM, _LEAST_FIELDS)
        self.accepted = listed_encodings(settings.compressions)
        self.terms = [Terms(settings, packs) for packs in range(3)]

    @property
    def settings(self) -> Settings:
        return self.session.settings

    @property
    def load(self) -> Load:
        return self.session.load
