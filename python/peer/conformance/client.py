"""The client: reads cases, a line each, carries them out one after the other, and prints a line for each."""

from __future__ import annotations

import asyncio
import json
import ssl
import sys
from collections.abc import Callable
from typing import Any

import trunkcall
from trunkcall import blocking

from ..onthreads import OnThreads
from .carrying import Carrying
from .lines import outcome_line
from .service import Service

# Bounds a case in which something hangs, in seconds.
LIMIT = 30.0

TLS = Callable[[dict[str, str]], ssl.SSLContext]


class Unchanging:
    """Protobuf that lets bytes pass as if they were a message already."""

    name = trunkcall.PROTOBUF.name
    number = trunkcall.PROTOBUF.number

    def encoder(self, kind: type[Any]) -> Callable[[Any], bytes]:
        encode = trunkcall.PROTOBUF.encoder(kind)
        return lambda message: message if isinstance(message, bytes) else encode(message)

    def decoder(self, kind: type[Any]) -> Callable[[bytes], Any]:
        return trunkcall.PROTOBUF.decoder(kind)


class CasesClient:
    """`tls` makes the configuration for a port with TLS from the files that a case names. `threads` has the blocking
    client make the calls."""

    def __init__(self, tls: TLS, threads: bool = False) -> None:
        self._tls = tls
        self._threads = threads
        self._kept: dict[str, Any] = {}

    async def run(self) -> None:
        """Reads standard input to its end."""
        try:
            while line := await next_line():
                case = json.loads(line)
                told: dict[str, Any] = {"name": case["name"]}
                try:
                    async with asyncio.timeout(LIMIT):
                        told["outcomes"] = await self._carry_out(case)
                except Exception as error:
                    told["error"] = f"{type(error).__name__}: {error}"
                tell(told)
        finally:
            for client in self._kept.values():
                await client.close()

    async def _carry_out(self, case: dict[str, Any]) -> list[dict[str, Any]]:
        client = self._client(case)
        try:
            carrying = Carrying(client, lambda what: ask_for(case["name"], what))
            return [outcome_line(result) for result in await carrying.carry_out(case["calls"])]
        finally:
            if case.get("ownConnection"):
                await client.close()

    def _client(self, case: dict[str, Any]) -> Any:
        """One of the case's own, or the one for all cases that want the same."""
        if case.get("ownConnection"):
            return self._make(case)
        key = json.dumps([case["target"], case.get("tls"), case.get("client")])
        if key not in self._kept:
            self._kept[key] = self._make(case)
        return self._kept[key]

    def _make(self, case: dict[str, Any]) -> Any:
        wanted = case.get("client", {})
        codec = trunkcall.JSON if wanted.get("codec") == trunkcall.JSON.name else Unchanging()
        options: dict[str, Any] = {"codec": codec}
        if "tls" in case:
            options["tls"] = self._tls(case["tls"])
        if "maxMessage" in wanted:
            options["limits"] = trunkcall.Limits(message_bytes=wanted["maxMessage"])
        if "compression" in wanted:
            options["compression"] = getattr(trunkcall, wanted["compression"].upper())
        options["balancer"] = trunkcall.first()
        handlers = Service().handlers() if wanted.get("serves") else ()
        if self._threads:
            return OnThreads(blocking.Client(case["target"], **options), handlers)
        client = trunkcall.Client(case["target"], **options)
        client.register(*handlers)
        return client


async def next_line() -> str:
    return await asyncio.to_thread(sys.stdin.readline)


def tell(line: dict[str, Any]) -> None:
    print(json.dumps(line), flush=True)


async def ask_for(name: str, what: str) -> None:
    """Has the runner do something, and waits until that is done."""
    tell({"name": name, "do": what})
    await next_line()
