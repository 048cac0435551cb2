"""Servers that stand in a list that somebody else keeps: an inventory that is asked over HTTP, and answers with lines
of name and address."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import trunkcall
from trunkcall.registry import Entry, InvalidRecord, Record, Watcher, resolver

WHO = trunkcall.unary("/example.Names/Who", bytes, bytes)


class Inventory:
    """A registry, by its URL."""

    def __init__(self, url: str) -> None:
        self._url = url

    async def watch(self, service: str, watcher: Watcher) -> None:
        """Called again after an exception, later each time. Until then the instances stay that are known."""
        while True:
            entries = await asyncio.to_thread(self._ask, service)
            watcher.all(entries)  # calls notice only what is new
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(watcher.failed(), 1)  # one cannot be reached: perhaps it has moved

    def _ask(self, service: str) -> list[Entry]:
        with urllib.request.urlopen(f"{self._url}/{service}", timeout=10) as answer:
            return [_entry(service, *line.split(" ", 1)) for line in answer.read().decode().splitlines()]


def _entry(service: str, name: str, address: str = "") -> Entry:
    try:
        return Entry(name, Record(service=service, id=name, addresses=(address,)).to_bytes())
    except InvalidRecord as fault:  # it is left out, and logged
        return Entry(name, fault=str(fault))


# What the inventory of this example answers.
listed = ""


class Answers(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = listed.encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


async def serve(name: bytes) -> tuple[trunkcall.Server, str]:
    async def who(request: bytes, call: trunkcall.ServerCall) -> bytes:
        return name

    server = trunkcall.Server()
    server.register(WHO.handler(who))
    return server, await server.listen("127.0.0.1:0")


async def main(url: str) -> None:
    global listed
    (first, a), (second, b) = await serve(b"first"), await serve(b"second")
    found = resolver(Inventory(url))
    async with trunkcall.Client("inventory:names", resolvers={"inventory": found}, codec=trunkcall.RAW) as client:
        for name, address in (("first", a), ("second", b)):
            listed = f"{name} {address}\nbroken nowhere\n"
            while (await client.call(WHO, b"", wait_for_ready=True)).decode() != name:
                pass
            print("answered by", name)
    await asyncio.gather(first.stop(), second.stop())


with ThreadingHTTPServer(("127.0.0.1", 0), Answers) as inventory:
    threading.Thread(target=inventory.serve_forever, daemon=True).start()
    asyncio.run(main(f"http://127.0.0.1:{inventory.server_port}/services"))
    inventory.shutdown()
