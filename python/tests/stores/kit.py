"""What tests of etcd and Consul share: servers that answer for them, with whatever a test wants."""

from __future__ import annotations

import asyncio
import contextlib
import json
import random
from base64 import b64encode
from collections.abc import Callable
from typing import Any

import pytest

from trunkcall import RAW, Client, StatusError
from trunkcall.registry import Entry, open_store, resolver

from ..public.kit import listener
from ..registry.kit import SERVICE, WHO

Answering = Callable[[str, bytes], bytes]


def answering(answer: Answering, *, once: bool = False) -> contextlib.AbstractAsyncContextManager[str]:
    """A server that answers each request with bytes that a test makes of its path and body. Its address."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            lines = head.split("\r\n")
            lengths = [line.split(":")[1] for line in lines if line.lower().startswith("content-length")]
            length = int(lengths[0]) if lengths else int(await reader.readline(), 16)  # a watch goes on after that
            body = await reader.readexactly(length)
            writer.write(answer(lines[0].split()[1], body))
            await writer.drain()
            if once:
                return

    return listener(serve, limit=1 << 20)


def http(body: bytes, status: str = "200 OK", more: str = "") -> bytes:
    return f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\n{more}\r\n".encode() + body


def of_json(value: Any, more: str = "X-Consul-Index: 7\r\n") -> bytes:
    return http(json.dumps(value).encode(), more=more)


def base64(text: str) -> str:
    return b64encode(text.encode("utf-8", "surrogateescape")).decode()


async def failure(name: str) -> str:
    """What a call is told of a registry, once it has failed."""
    resolvers = {"registry": resolver(open_store(name))}
    async with Client(f"registry:{SERVICE}", resolvers=resolvers, codec=RAW) as client:
        while True:
            with pytest.raises(StatusError) as failed:
                await client.call(WHO, b"", timeout=60)
            if "watching" in failed.value.message:
                return failed.value.message
            await asyncio.sleep(0.005)  # it is asked again, not relied on


def spoilt(draw: random.Random, good: bytes) -> bytes:
    """A good answer that ends too soon, or has other bytes, or fewer."""
    data = bytearray(good)
    for _ in range(draw.randint(1, 3)):
        place = draw.randrange(len(data))
        match draw.randrange(3):
            case 0:
                del data[place:]
                data += b"\r\n\r\n"
            case 1:
                data[place] = draw.randrange(256)
            case _:
                del data[place : place + draw.randint(1, 9)]
    return bytes(data)


class Ended(Exception):
    """A watcher was told."""


class Watching:
    """A watcher that ends what it is told by."""

    def all(self, entries: Any, /) -> None:
        for one in entries:
            assert isinstance(one, Entry)
        raise Ended

    def change(self, came: Any, went: Any, /) -> None:
        raise AssertionError

    async def failed(self) -> None:
        raise AssertionError
