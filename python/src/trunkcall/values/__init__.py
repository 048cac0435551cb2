"""Values of Python without generated code: from a type hint to MessagePack and JSON (spec/code-first.md 2 and 3)."""

from __future__ import annotations

from .compounds import Record
from .faults import MAX_NESTING, Fault
from .message import Ignored, MessageShape, Misfit, One, Place, Several
from .names import check_public_name, public_name
from .scalars import Shape
from .shaping import (
    Int8,
    Int16,
    Int32,
    Int64,
    Name,
    Range,
    UInt8,
    UInt16,
    UInt32,
    UInt64,
    Unsupported,
    shape_of,
    spelled,
)

__all__ = [
    "MAX_NESTING",
    "Fault",
    "Ignored",
    "Int8",
    "Int16",
    "Int32",
    "Int64",
    "MessageShape",
    "Misfit",
    "Name",
    "One",
    "Place",
    "Range",
    "Record",
    "Several",
    "Shape",
    "UInt8",
    "UInt16",
    "UInt32",
    "UInt64",
    "Unsupported",
    "check_public_name",
    "public_name",
    "shape_of",
    "spelled",
]
