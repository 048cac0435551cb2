"""A service without a .proto file: a class with type hints, and a Protocol class with the same hints that calls it.

python examples/python/codefirst.py
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import trunkcall
from trunkcall import codefirst


@dataclass
class Order:
    item: str
    count: codefirst.UInt8  # 0 to 255
    note: str | None = None


class Division(NamedTuple):
    quotient: int
    remainder: int


@codefirst.service("shop")
class Shop:
    @codefirst.method
    async def place_order(self, order: Order) -> str:
        return f"{order.count} x {order.item}"

    @codefirst.method
    def div(self, a: int, b: int) -> tuple[int, int]:  # a plain function runs on a thread
        return divmod(a, b)

    def restock(self) -> None:  # is not decorated, so nobody can call it
        raise NotImplementedError


@codefirst.service("shop")
class RemoteShop(Protocol):
    async def place_order(self, order: Order) -> str: ...

    async def div(self, a: int, b: int) -> Division: ...


async def main() -> None:
    server = trunkcall.Server()
    server.register(*codefirst.handlers(Shop()))
    address = await server.listen("127.0.0.1:0")
    async with server, trunkcall.Client(address) as client:
        shop = codefirst.client(RemoteShop, client)
        print(await shop.place_order(Order("pear", 3)))
        print(await shop.div(7, 2))
        try:
            await shop.place_order(Order("pear", 300))
        except trunkcall.StatusError as error:
            print(error.message)


if __name__ == "__main__":
    asyncio.run(main())
