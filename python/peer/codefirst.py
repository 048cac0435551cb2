"""The services without a .proto file, and calls of any method that has none."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import make_dataclass
from typing import TYPE_CHECKING, Any

import trunkcall
from load import message
from trunkcall import codefirst


@codefirst.service("calc")
class Calc:
    @codefirst.method
    async def div(self, dividend: int, divisor: int) -> tuple[int, int]:
        """The quotient, rounded towards zero, and the remainder."""
        if divisor == 0:
            raise trunkcall.StatusError(trunkcall.Code.INVALID_ARGUMENT, "division by zero")
        quotient = abs(dividend) // abs(divisor)
        quotient = quotient if (dividend < 0) == (divisor < 0) else -quotient
        remainder = dividend - quotient * divisor
        return min(quotient, 2**63 - 1) if quotient < 2**63 else -(2**63), remainder


@codefirst.service("hello")
class Hello:
    @codefirst.method
    async def say(self, text: str, a: int, b: int, x: float) -> tuple[str, int, int, float]:
        """Its arguments."""
        return text, a, b, x


if TYPE_CHECKING:

    class Record:
        field1: str
        field2: int

else:  # the message of BenchService's Say without its .proto file, for what the lab measures of JSON
    Record = make_dataclass("Record", [(name, type(value)) for name, value in message.fields().items()], slots=True)


@codefirst.service("bench")
class Bench:
    @codefirst.method
    async def say(self, request: Record) -> Record:
        request.field1, request.field2 = message.ANSWER_TEXT, message.ANSWER_NUMBER
        return request


def handlers() -> list[trunkcall.Handler]:
    return [handler for service in (Calc(), Hello(), Bench()) for handler in codefirst.handlers(service)]


class Call:
    """A call of a method of which no more is known than its name: a JSON array of arguments, JSON for what comes
    back."""

    def __init__(self, name: str, arguments: str, codec: trunkcall.Codec) -> None:
        """Raises ValueError, which says what is wrong with the arguments."""
        self.method = codefirst.untyped(name, codec)
        self._json = self.method.binding(trunkcall.JSON)
        try:
            self.arguments: list[Any] = self._json.decode_request(arguments.encode())
        except Exception as error:
            raise ValueError(str(error)) from None

    async def make(self, client: trunkcall.Client, **options: Any) -> str:
        """The result as JSON. Raises StatusError."""
        return self._json.encode_response(await client.call(self.method, self.arguments, **options)).decode()


def is_one(name: str, arguments: str, described: Container[str]) -> bool:
    """Whether a method belongs to a service that no .proto file describes."""
    service, slash, method = name.removeprefix("/").partition("/")
    return bool(service and slash and method) and service not in described and arguments.lstrip().startswith("[")
