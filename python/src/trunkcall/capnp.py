"""The codec of Cap'n Proto messages (codec 4, client.md 4.5), for structs of schemas that pycapnp loads. Needs pycapnp,
which `trunkcall[capnp]` brings.

    library = capnp.load("library.capnp")
    Shelf, Book = struct(library.Shelf), struct(library.Book)
    FIND = trunkcall.unary("/example.Library/Find", Shelf, Book)

    client = trunkcall.Client(target, codec=CAPNP)
    server = trunkcall.Server(codecs=[CAPNP])

A message that is sent is a builder (`Book.new_message(title="Ulysses")`) or a reader; of one that stands in another
message, that struct alone is sent. A message that is received is a reader, which keeps the bytes it came in.
"""

from __future__ import annotations

from importlib import import_module
from struct import unpack_from
from typing import Any, TypeVar, cast

from .checking import check_count
from .codec import Decode, Encode, kind_of, one_of

__all__ = ["CAPNP", "Capnp", "struct"]

T = TypeVar("T")

_pycapnp: Any = import_module("capnp.lib.capnp")  # it has no types
_MESSAGES: Any = (_pycapnp._DynamicStructBuilder, _pycapnp._DynamicStructReader)

WORD = 8
MOST_SEGMENTS = 512  # client.md 4.5; each costs memory beyond its bytes
LEAST_TRAVERSED = 64 << 20
TRAVERSED_TIMES = 4
DEPTH = 64


class _Struct(type):
    """A class of messages that stands for a struct of a schema, and has what pycapnp's own object has."""

    schema_struct: Any
    number: int

    def __instancecheck__(cls, message: object) -> bool:
        return isinstance(message, _MESSAGES) and cast("Any", message).schema.node.id == cls.number

    def __getattr__(cls, name: str) -> Any:
        return getattr(cls.schema_struct, name)


def struct(schema_struct: type[T]) -> type[T]:
    """The class of messages for a struct of a schema that capnp.load has read: what methods are declared with. Messages
    are instances of it. Raises TypeError for anything else."""
    given: Any = schema_struct
    if not isinstance(given, _pycapnp._StructModule):
        raise TypeError(f"{kind_of(given)} is no struct of a schema that capnp.load has read")
    return _Struct(_name(given), (), {"schema_struct": given, "number": given.schema.node.id})  # type: ignore[return-value]


def _name(given: Any) -> str:
    """Of the struct of a message, or of a schema."""
    node = given.schema.node
    return str(node.displayName)[node.displayNamePrefixLength :]


def _told(message: object) -> str:
    """What a message is, for people."""
    return f"a message of {_name(message)}" if isinstance(message, _MESSAGES) else kind_of(message)


class Capnp:
    """A codec. Safe for concurrent use.

    `traverse`: how many bytes may be read of a received message, since its pointers can lead to the same bytes any
    number of times; bytes read twice count twice. None: four times its length, and 64 MiB at least. `depth`: how many
    pointers may follow each other. A getter that would exceed either raises capnp.KjException. Raises TypeError,
    ValueError for what is no such number."""

    name = "capnp"
    number = 4

    def __init__(self, *, traverse: int | None = None, depth: int = DEPTH) -> None:
        check_count(1, none=True, traverse=traverse)
        check_count(1, depth=depth)
        self._traverse = traverse
        self._depth = depth

    def encoder(self, kind: type[Any]) -> Encode:
        """Raises TypeError for what `struct` has not made."""
        of = _struct_of(kind)

        def encode(message: Any) -> bytes:
            if not isinstance(message, of):
                raise TypeError(f"want {one_of(of)}, not {_told(message)}")
            return _bytes_of(message)

        return encode

    def decoder(self, kind: type[Any]) -> Decode:
        """Raises as `encoder`."""
        from_segments, traverse, depth = _struct_of(kind).from_segments, self._traverse, self._depth

        def decode(data: bytes) -> Any:
            most = max(LEAST_TRAVERSED, TRAVERSED_TIMES * len(data)) if traverse is None else traverse
            return from_segments(segments(data), most // WORD, depth)

        return decode


def segments(data: bytes) -> list[bytes]:
    """Those of a message in the framing of client.md 4.5, each aligned to words. Raises ValueError for what is none."""
    if len(data) < WORD:
        raise ValueError("the table of segments is cut short")
    count = int.from_bytes(data[:4], "little") + 1
    if count > MOST_SEGMENTS:
        raise ValueError(f"{count} segments exceed {MOST_SEGMENTS}")
    at = (4 + 4 * count + WORD - 1) // WORD * WORD
    if len(data) < at:
        raise ValueError("the table of segments is cut short")
    found: list[bytes] = []
    for words in unpack_from(f"<{count}I", data, 4):
        found.append(bytes(data[at : at + words * WORD]))
        at += words * WORD
    if at > len(data):
        raise ValueError(f"{at - len(data)} bytes are missing")
    if at < len(data):
        raise ValueError(f"{len(data) - at} bytes are left over")
    return found


def _bytes_of(message: Any) -> bytes:
    """A struct with all that it leads to."""
    if isinstance(message, _pycapnp._DynamicStructReader):
        message = message.as_builder()
    elif not message.is_root:
        message = message.copy()
    written: bytes = message.to_bytes()
    message.clear_write_flag()  # it warns of what is written twice, and a call may be repeated
    return written


def _struct_of(kind: type[Any]) -> Any:
    if not isinstance(kind, _Struct):
        raise TypeError(f"{kind.__name__} is no struct of Cap'n Proto: make it with trunkcall.capnp.struct")
    return kind


CAPNP = Capnp()
