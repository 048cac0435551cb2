"""A proxy: stands in front of a server, does to the bytes of each connection what rules say, and counts them.

    python -m harness.proxy --target HOST:PORT [--listen HOST:PORT] [--rules FILE] [--seed N] [RULE…]

Prints `listening HOST:PORT` and runs until it is ended. rules.py has the language of the rules. In tests:

    async with Proxy(address, "0 up: pass 100; reset") as proxy:
        … proxy.address …
        await proxy.has_passed("up", 100)

Everything belongs to one event loop and is used on its thread. Standard library only. Its delays are as fine as the
loop's timers, a millisecond; the lab has a program of its own for its distances (decision 0045).
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import itertools
import random
import re
import socket
import struct
import sys
from collections import Counter, deque
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from harness.rules import DOWN, UP, Plan, RuleError, Step, parse

PIECE = 1 << 16
FASTEST = 1 << 28  # the rate, in bytes a second, that a way without one has room for
PIECES_A_SECOND = 20  # where there is a rate
NUMBERS = itertools.count()  # of Unix sockets
RESET = struct.pack("ii", 1, 0)  # SO_LINGER without time: closing resets


class Link:
    """One connection through the proxy: two sockets, and what is done to either direction."""

    def __init__(self, proxy: Proxy, number: int, client: socket.socket, server: socket.socket) -> None:
        self.proxy = proxy
        self.number = number
        self.ends = {UP: (client, server), DOWN: (server, client)}
        self.over = asyncio.Event()
        self.silent = False  # whatever comes is lost
        self.draw = random.Random(proxy.seed * 1_000_003 + number)

    async def run(self) -> None:
        """Carries both directions until both have ended, or the connection has."""
        directions = [asyncio.create_task(self.direction(direction)) for direction in (UP, DOWN)]
        over = asyncio.create_task(self.over.wait())
        try:
            left = {*directions}
            while left and not over.done():
                done, _ = await asyncio.wait({*left, over}, return_when=asyncio.FIRST_COMPLETED)
                left -= done
        finally:
            tasks: set[asyncio.Task[Any]] = {*directions, over}
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
            for end in self.ends[UP]:
                end.close()

    async def direction(self, direction: str) -> None:
        try:
            await Flow(self, direction).run(self.proxy.plan(self.number, direction))
        except (OSError, asyncio.IncompleteReadError):
            self.reset()  # an end by error is passed on as one

    def close(self) -> None:
        """Ends the connection in order. Bytes on their way to it are lost, and then make a reset of it."""
        for end in self.ends[UP]:
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_WR)
        self.over.set()

    def reset(self) -> None:
        """Ends the connection with a reset to both sides, of a Unix socket with an end."""
        for end in self.ends[UP]:
            with contextlib.suppress(OSError):
                end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        self.over.set()


class Flow:
    """One direction of a connection while its steps are taken."""

    def __init__(self, link: Link, direction: str) -> None:
        self.link = link
        self.name = direction
        self.source, self.sink = link.ends[direction]
        self.loop = asyncio.get_running_loop()
        self.slice = PIECE
        self.delay = 0.0
        self.jitter = 0.0
        self.rate = 0
        self.left = 0.0  # when the last byte has left, where there is a rate
        self.arrives = 0.0  # when what was read last is to be written
        self.under_way: deque[tuple[float, bytes]] = deque()  # each with when it is to be written
        self.held = 0  # bytes under way
        self.changed = asyncio.Event()  # something was put under way, or has arrived
        self.delivering: asyncio.Task[None] | None = None

    async def run(self, steps: Sequence[Step]) -> None:
        try:
            for step in (*steps, Step("pass")):
                if not await self.take(step):
                    return
        finally:
            if self.delivering:
                self.delivering.cancel()
                await asyncio.gather(self.delivering, return_exceptions=True)

    async def take(self, step: Step) -> bool:
        """Takes a step. False when nothing of this direction is left to do."""
        if step.kind in ("stall", "end", "close", "reset"):
            await self.arrival()
        match step.kind:
            case "pass" | "swallow":
                return await self.carry(step.amount(self.link.draw), lost=step.kind == "swallow")
            case "stall":
                await asyncio.sleep(step.seconds)
            case "slice":
                self.slice = step.least
            case "delay":
                self.delay = step.seconds
            case "jitter":
                self.jitter = step.seconds
            case "throttle":
                self.rate = step.least
            case "end":
                self.shut()
                return await self.carry(None, lost=True)
            case "close":
                self.link.close()
                return False
            case _:
                self.link.reset()
                return False
        return True

    async def carry(self, amount: int | None, lost: bool) -> bool:
        """Passes a number of bytes on, or loses them. False when the input has ended."""
        while amount is None or amount > 0:
            piece = await self.loop.sock_recv(self.source, PIECE if amount is None else min(PIECE, amount))
            if not piece:
                if lost or self.link.silent:
                    await self.link.over.wait()
                await self.arrival()
                self.shut()
                return False
            if amount is not None:
                amount -= len(piece)
            if lost or self.link.silent:
                self.link.proxy.lost[self.name] += len(piece)
            else:
                await self.pass_on(piece)
        return True

    async def pass_on(self, data: bytes) -> None:
        """Writes, or puts under way."""
        if not (self.delay or self.jitter or self.rate or self.under_way):
            await self.write(data)
            return
        if self.delivering is None:
            self.delivering = asyncio.create_task(self.deliver())
        size = max(self.rate // PIECES_A_SECOND, 1) if self.rate else len(data)
        room = int((self.delay + self.jitter) * (self.rate or FASTEST)) + PIECE
        self.left = max(self.left, self.loop.time())
        jitter = self.link.draw.uniform(0, self.jitter) if self.jitter else 0.0
        for at in range(0, len(data), size):
            piece = data[at : at + size]
            while self.held > room:
                await self.change()
            if self.rate:
                self.left = max(self.left, self.loop.time()) + len(piece) / self.rate
            self.arrives = max(self.arrives, self.left + self.delay + jitter)
            self.under_way.append((self.arrives, piece))
            self.held += len(piece)
            self.changed.set()
            if self.rate:  # what has no room on the way stays with the sender
                await asyncio.sleep(self.left - self.loop.time())

    async def deliver(self) -> None:
        """Writes what is under way when it is due."""
        try:
            while True:
                while not self.under_way:
                    await self.change()
                due, piece = self.under_way[0]
                if (early := due - self.loop.time()) > 0:
                    await asyncio.sleep(early)
                await self.write(piece)
                self.under_way.popleft()
                self.held -= len(piece)
                self.changed.set()
        except OSError:
            self.link.reset()

    async def arrival(self) -> None:
        """Waits until nothing is under way."""
        while self.under_way and not self.link.over.is_set():
            await self.change()

    async def change(self) -> None:
        self.changed.clear()
        await self.changed.wait()

    async def write(self, data: bytes) -> None:
        for at in range(0, len(data), self.slice):
            piece = data[at : at + self.slice]
            self.link.proxy.count(self.link.number, self.name, len(piece))
            await self.loop.sock_sendall(self.sink, piece)
            if self.slice < PIECE:
                await asyncio.sleep(0)  # so that the slices leave apart

    def shut(self) -> None:
        with contextlib.suppress(OSError):
            self.sink.shutdown(socket.SHUT_WR)


class Proxy:
    """A proxy that listens while it is entered: on `listen`, or a free port, or beside a target that is a Unix socket.

    `connections` counts what was accepted, `passed` the bytes passed on and `lost` those swallowed, by direction.
    `plan` may be replaced: it holds for the connections that come after. `watch` is told of all bytes before they are
    passed on: a connection's number, the direction, how many."""

    def __init__(
        self,
        target: str,
        rules: str | Plan = "",
        *,
        listen: str = "",
        seed: int = 1,
        watch: Callable[[int, str, int], None] | None = None,
    ) -> None:
        self.target = target
        self.plan: Plan = parse(rules) if isinstance(rules, str) else rules
        self.seed = seed
        self.watch = watch
        self.connections = 0
        self.accepted_at: list[float] = []  # by the loop's clock
        self.passed: Counter[str] = Counter()
        self.lost: Counter[str] = Counter()
        self.address = listen or beside(target)
        self._listener: socket.socket | None = None
        self._links: dict[asyncio.Task[None], Link | None] = {}
        self._counted = asyncio.Event()

    async def __aenter__(self) -> Proxy:
        self.listen()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop_listening()
        for task in list(self._links):
            task.cancel()
        await asyncio.gather(*self._links, return_exceptions=True)

    def listen(self) -> None:
        """Begins to listen, on the same port as before if it did."""
        self._listener, self.address = listening(self.address)
        asyncio.get_running_loop().add_reader(self._listener, self._accept, self._listener)

    async def stop_listening(self) -> None:
        """Takes no more connections: the port refuses. Those that are there go on."""
        if self._listener:
            asyncio.get_running_loop().remove_reader(self._listener)
            self._listener.close()
            self._listener = None

    def count(self, number: int, direction: str, size: int) -> None:
        self.passed[direction] += size
        self._counted.set()
        if self.watch:
            self.watch(number, direction, size)

    async def has_passed(self, direction: str, size: int) -> None:
        """Returns when that many bytes have been passed on."""
        while self.passed[direction] < size:
            self._counted.clear()
            await self._counted.wait()

    async def all_ended(self) -> None:
        """Returns when the connections that there are have ended by themselves."""
        if self._links:
            await asyncio.wait(self._links)

    def reset_all(self) -> None:
        """Resets all connections that there are."""
        for link in self._links.values():
            if link:
                link.reset()

    def silence_all(self) -> None:
        """Loses what comes from now on over the connections that there are, and hides their end."""
        for link in self._links.values():
            if link:
                link.silent = True

    @property
    def open(self) -> int:
        """How many connections there are."""
        return len(self._links)

    def _accept(self, listener: socket.socket) -> None:
        """Not by a task: one that is cancelled just then would lose the socket that it was about to have."""
        try:
            client, _ = listener.accept()
        except (BlockingIOError, ConnectionAbortedError):
            return
        self.accepted_at.append(asyncio.get_running_loop().time())
        task = asyncio.create_task(self._join(client, self.connections))
        self.connections += 1
        self._links[task] = None
        task.add_done_callback(self._links.pop)
        task.add_done_callback(lambda _: client.close())  # also if it was cancelled before it began

    async def _join(self, client: socket.socket, number: int) -> None:
        family, target = where(self.target)
        server = socket.socket(family)
        with client, server:
            for end in (client, server):
                end.setblocking(False)
                if end.family != socket.AF_UNIX:
                    end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            link = Link(self, number, client, server)
            task = asyncio.current_task()
            assert task
            self._links[task] = link
            try:
                await asyncio.get_running_loop().sock_connect(server, target)
            except OSError:
                link.reset()
                return
            await link.run()


class Hole:
    """An address that swallows: connecting to it neither succeeds nor fails, since its queue is full and nobody takes
    from it. Linux only."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=0)
        where = self._listener.getsockname()
        self.address = f"{where[0]}:{where[1]}"
        self._waiting: list[socket.socket] = []
        for _ in range(3):
            filler = socket.socket()
            filler.setblocking(False)
            filler.connect_ex(where)
            self._waiting.append(filler)

    def __enter__(self) -> Hole:
        return self

    def __exit__(self, *_: object) -> None:
        for end in (*self._waiting, self._listener):
            end.close()


def where(address: str) -> tuple[socket.AddressFamily, Any]:
    """HOST:PORT of IPv4 or unix:PATH, as sockets take it. ValueError for anything else."""
    path = address.removeprefix("unix:")
    if path != address and path:
        return socket.AF_UNIX, path
    host, _, port = address.rpartition(":")
    if not host or ":" in host or not re.fullmatch("[0-9]{1,5}", port) or int(port) > 65_535:
        raise ValueError(f"{address!r} is not HOST:PORT of IPv4 or unix:PATH")
    return socket.AF_INET, (host, int(port))


def listening(address: str) -> tuple[socket.socket, str]:
    """A socket that listens there, and where that is. The file of a Unix socket may be there from before."""
    family, place = where(address)
    if family == socket.AF_UNIX:
        Path(place).unlink(missing_ok=True)
    listener = socket.create_server(place, family=family, backlog=1024)
    listener.setblocking(False)
    if family != socket.AF_UNIX:
        host, port = listener.getsockname()[:2]
        address = f"{host}:{port}"
    return listener, address


def beside(target: str) -> str:
    """Where to listen before a target: on a free port, or a Unix socket whose name nobody else has."""
    return f"{target}.{next(NUMBERS)}" if target.startswith("unix:") else "127.0.0.1:0"


def address(text: str) -> str:
    """An argument that says where."""
    try:
        where(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return text


async def serve(options: argparse.Namespace, rules: str) -> None:
    async with Proxy(options.target, rules, listen=options.listen, seed=options.seed) as proxy:
        print(f"listening {proxy.address}", flush=True)
        await asyncio.Event().wait()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    either = "HOST:PORT of IPv4 or unix:PATH"
    parser.add_argument("--target", required=True, type=address, metavar="ADDRESS", help=f"the server: {either}")
    parser.add_argument(
        "--listen", default="127.0.0.1:0", type=address, metavar="ADDRESS", help=f"where clients connect: {either}"
    )
    parser.add_argument("--rules", metavar="FILE", help="rules, before those of the command line")
    parser.add_argument("--seed", type=int, default=1, help="decides what is drawn")
    parser.add_argument("rule", nargs="*", metavar="RULE")
    options = parser.parse_args()
    lines = list(options.rule)
    if options.rules:
        with open(options.rules, encoding="utf-8") as text:
            lines.insert(0, text.read())
    try:
        asyncio.run(serve(options, "\n".join(lines)))
    except RuleError as error:
        print(error, file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        pass
    return 0


if __name__ == "__main__":
    sys.exit(main())
