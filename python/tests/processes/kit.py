"""Programs with several processes, and what tests look at."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from harness.processes import PATIENCE, Server
from tests.public.kit import Case as Loopback
from trunkcall import RAW, Client, Delivery, StatusError

from .program import WHO

PYTHON = Path(__file__).resolve().parents[2]


def children(pid: int) -> set[int]:
    """Processes that have ended and were not waited for included."""
    return {int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()}


def is_there(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()


async def until(what: str, condition: Callable[[], bool]) -> None:
    try:
        async with asyncio.timeout(PATIENCE):
            while not condition():  # noqa: ASYNC110
                await asyncio.sleep(0.01)
    except TimeoutError:
        raise AssertionError(what) from None


class Case(Loopback):
    async def program(self, words: list[str], env: Mapping[str, str] | None = None) -> Server:
        """Starts a program of this folder, and returns when it says where it listens. What is left of it is killed at
        the end of the test."""
        command = [sys.executable, "-W", "error", "-m", *words]
        served = await asyncio.to_thread(Server, command, cwd=PYTHON, env={**os.environ, **(env or {})})
        self.addCleanup(served.kill)
        return served

    async def begun(self, *words: str, env: Mapping[str, str] | None = None) -> Server:
        return await self.program(["tests.processes.program", *words], env)

    async def ask(self, address: str) -> int:
        """Who answers on a new connection."""
        async with Client(address, codec=RAW) as client:
            return await self.pid(client)

    async def pid(self, client: Client) -> int:
        """The process of the client's connection."""
        answer: bytes = await client.call(WHO, b"", timeout=PATIENCE, wait_for_ready=True)
        return int(answer)

    async def all_answer(self, served: Server) -> set[int]:
        """Waits until each of its processes has answered."""
        found: set[int] = set()
        async with asyncio.timeout(PATIENCE):
            while found != children(served.pid):
                found = (found & children(served.pid)) | {await self.ask(served.address)}
        return found

    @asynccontextmanager
    async def load(self, address: str) -> AsyncIterator[Load]:
        """Calls without a pause while the block lasts. Fails if a call does."""
        load = Load(self, address)
        try:
            yield load
        finally:
            load.over = True
            await asyncio.gather(*load.running)

    async def is_refused(self, address: str) -> None:
        """Expects that nobody listens at any socket of the port."""
        for _ in range(32):  # which of them a connection comes to is chance
            with self.assertRaises(ConnectionRefusedError):
                await asyncio.open_connection("127.0.0.1", int(address.rpartition(":")[2]))

    async def ends(self, served: Server, status: int, *words: str) -> None:
        """Waits for its end. Expects that status, words in what it has logged, and that no process is left."""
        ended = await asyncio.to_thread(served.finish)
        self.assertEqual(ended.status, status, ended.stderr)
        for word in words:
            self.assertIn(word, ended.stderr)


class Load:
    """Half of the callers have a connection of their own for each call. A process that is about to go may have accepted
    it, and turns it away: a call that does not wait for another fails then, provably without having been sent."""

    def __init__(self, case: Case, address: str) -> None:
        self._case = case
        self._address = address
        self.made = 0
        self.over = False
        self.running = [asyncio.create_task(one()) for one in (self._keep, self._connect) * 3]

    async def goes_on(self) -> None:
        reached = self.made
        await until("there is load", lambda: self.made > reached + 100)

    async def _keep(self) -> None:
        client = self._case.client(self._address)
        while not self.over:
            await self._case.pid(client)
            self.made += 1

    async def _connect(self) -> None:
        while not self.over:
            try:
                async with Client(self._address, codec=RAW) as client:
                    await client.call(WHO, b"", timeout=PATIENCE)
            except StatusError as error:
                if error.delivery not in (Delivery.NOT_SENT, Delivery.REFUSED):
                    raise
            self.made += 1
