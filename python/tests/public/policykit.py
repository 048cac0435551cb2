"""What tests of the parts of policy files share: servers in memory that count, and clients with a file."""

from __future__ import annotations

import asyncio
import contextlib
import tempfile
import unittest
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

from tests.public.kit import ECHO
from trunkcall import (
    RAW,
    CallAttempt,
    CallOptions,
    Client,
    Code,
    Endpoint,
    Observer,
    Priority,
    Server,
    ServerCall,
    StatusError,
    Watch,
)

Answer = Callable[[int], Awaitable[None]]


class Served:
    """A handler that counts its runs and does what it is told to with each; it notes who called."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        self.runs = 0
        self.cancelled = 0
        self.priorities: list[Priority] = []

    async def __call__(self, request: bytes, call: ServerCall) -> bytes:
        self.runs += 1
        self.priorities.append(call.priority)
        try:
            await self.answer(self.runs)
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        return request


async def succeeds(run: int) -> None: ...


def takes(seconds: float) -> Answer:
    async def answer(run: int) -> None:
        await asyncio.sleep(seconds)

    return answer


def fails(code: Code) -> Answer:
    async def answer(run: int) -> None:
        raise StatusError(code, "on purpose")

    return answer


class Told(Observer):
    """Keeps what it is told of policy files, and of attempts."""

    def __init__(self) -> None:
        self.files: list[tuple[str, ...]] = []
        self.attempts: list[CallAttempt] = []

    def policy_taken(self, file: str) -> None:
        self.files.append(("taken", file))

    def policy_refused(self, file: str, why: str) -> None:
        self.files.append(("refused", file, why))

    def attempt_began(self, attempt: CallAttempt) -> None:
        self.attempts.append(attempt)

    def attempt_ended(self, attempt: CallAttempt) -> None: ...


class PolicyCase(unittest.IsolatedAsyncioTestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def write(self, text: str, name: str = "policy.yaml") -> Path:
        """Puts a file in the place of the one that is there."""
        new, path = self.folder / "new", self.folder / name
        new.write_text(f"policy: 1\n{text}\n...\n")
        return new.replace(path)

    @contextlib.asynccontextmanager
    async def several(self, text: str, *served: Served, **options: Any) -> AsyncIterator[Client]:
        """A client with a policy file, of servers whose zones are here and there, in turns."""
        path = self.write(text)
        async with contextlib.AsyncExitStack() as stack:
            endpoints: list[Endpoint] = []
            for n, one in enumerate(served):
                server = await stack.enter_async_context(Server())
                server.register(ECHO.handler(one))
                where = await server.listen(f"mem:{self.id()}/{n}")
                endpoints.append(Endpoint(where, id=str(n), zone=("here", "there")[n % 2]))

            async def resolver(watch: Watch) -> None:
                watch.set(endpoints)

            made = Client("some:where", codec=RAW, resolvers={"some": resolver}, policy_file=path, **options)
            client = await stack.enter_async_context(made)
            await client.connect()
            yield client

    async def code(self, client: Client, options: CallOptions | None = None) -> Code:
        try:
            await client.unary(ECHO, b"x", options or CallOptions())
        except StatusError as error:
            return error.code
        return Code.OK
