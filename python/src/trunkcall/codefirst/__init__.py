"""Services without a .proto file: a class with type hints is a service, a Protocol with the same hints its client
(spec/code-first.md).

    @codefirst.service("calc")
    class Calculator:
        @codefirst.method
        def div(self, a: int, b: int) -> tuple[int, int]:
            return a // b, a % b

    server.register(*codefirst.handlers(Calculator()))

    class RemoteCalculator(Protocol):
        async def div(self, a: int, b: int) -> tuple[int, int]: ...

    calculator = codefirst.client(RemoteCalculator, client, "calc")
    quotient, remainder = await calculator.div(7, 2)

Arguments and results are of these types: bool, int (64 bits; Int8 to UInt64, or Annotated with a Range), float, str,
bytes, datetime with a zone, timedelta, Enum, dataclasses, structs of msgspec, models of pydantic, list, dict, tuple of
one type, Any, and all of these with `| None`. A method that returns a tuple of several types has several results. One
that returns an AsyncIterator streams its answers, one that takes an AsyncIterator streams its requests."""

from __future__ import annotations

from ..values import Int8, Int16, Int32, Int64, Name, Range, UInt8, UInt16, UInt32, UInt64, Unsupported
from .calling import client
from .declaring import method, service
from .remote import untyped
from .serving import handlers
from .signature import Undeclared

__all__ = [
    "Int8",
    "Int16",
    "Int32",
    "Int64",
    "Name",
    "Range",
    "UInt8",
    "UInt16",
    "UInt32",
    "UInt64",
    "Undeclared",
    "Unsupported",
    "client",
    "handlers",
    "method",
    "service",
    "untyped",
]
