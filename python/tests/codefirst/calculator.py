"""A service and its typed client, as a user writes them. The types are checked strictly, by mypy and pyright."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import AsyncIterator, Iterator
from typing import NamedTuple, Protocol

import trunkcall
from trunkcall import codefirst


@dataclasses.dataclass
class Item:
    item_id: codefirst.UInt8
    tags: list[str] = dataclasses.field(default_factory=lambda: ["new"])


class Division(NamedTuple):
    quotient: int
    remainder: int


@codefirst.service("calc")
class Calculator:
    @codefirst.method
    def div(self, a: int, b: int) -> tuple[int, int]:
        if b == 0:
            raise trunkcall.StatusError(trunkcall.Code.INVALID_ARGUMENT, "division by zero")
        return a // b, a % b

    @codefirst.method("total")
    async def add_all(self, *values: int) -> int:
        return sum(values)

    @codefirst.method
    async def next_item(self, item: Item, call: trunkcall.ServerCall) -> Item | None:
        return Item(item.item_id + 1, item.tags) if call.peer else None

    @codefirst.method
    async def wrong(self) -> str:
        answer: object = 7
        return answer  # type: ignore[return-value]

    @codefirst.method
    def on_loop(self) -> bool:
        return threading.current_thread() is threading.main_thread()

    @codefirst.method
    async def forget(self) -> None: ...

    @codefirst.method
    async def count(self, to: int) -> AsyncIterator[int]:
        for n in range(to):
            yield n

    @codefirst.method
    async def summed(self, values: AsyncIterator[int]) -> int:
        return sum([value async for value in values])

    @codefirst.method
    async def doubled(self, values: AsyncIterator[int]) -> AsyncIterator[int]:
        async for value in values:
            yield 2 * value

    async def hidden(self) -> None: ...


@codefirst.service("calc")
class RemoteCalculator(Protocol):
    async def div(self, a: int, b: int) -> Division: ...

    @codefirst.method("total")
    async def add(self, *values: int) -> int: ...

    async def next_item(self, item: Item, options: trunkcall.CallOptions | None = None) -> Item | None: ...

    async def wrong(self) -> str: ...

    async def on_loop(self) -> bool: ...

    async def forget(self) -> None: ...

    async def hidden(self) -> None: ...

    def count(self, to: int) -> AsyncIterator[int]: ...

    async def summed(self, values: AsyncIterator[int]) -> int: ...

    def doubled(self, values: AsyncIterator[int]) -> AsyncIterator[int]: ...


class Blocking(Protocol):
    def div(self, a: int, b: int) -> tuple[int, int]: ...


@codefirst.service("calc")
class BlockingCalculator(Protocol):
    def div(self, a: int, b: int) -> Division: ...

    def next_item(self, item: Item, options: trunkcall.CallOptions | None = None) -> Item | None: ...

    def wrong(self) -> str: ...

    def count(self, to: int) -> Iterator[int]: ...

    def summed(self, values: Iterator[int]) -> int: ...

    def doubled(self, values: Iterator[int]) -> Iterator[int]: ...


async def divide(client: trunkcall.Client) -> int:
    """The type checkers know what comes back."""
    calculator = codefirst.client(RemoteCalculator, client)
    division = await calculator.div(7, 2)
    return division.quotient + division.remainder
