"""Targets with several addresses, of which some are no good."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
import tempfile
from collections.abc import AsyncIterator
from typing import Any
from unittest import mock

from trunkcall import Code, StatusError
from trunkcall.transport import dialer

from .kit import ECHO, PATIENCE, Case


@contextlib.asynccontextmanager
async def hanging_up() -> AsyncIterator[str]:
    """A listener that closes what it accepts; gives its address."""

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.close()

    listening = await asyncio.start_server(accept, "127.0.0.1", 0)
    try:
        yield "{}:{}".format(*listening.sockets[0].getsockname()[:2])
    finally:
        listening.close()


class SeveralAddresses(Case):
    async def test_one_that_closes_without_a_greeting_leads_to_the_next(self) -> None:
        _, good = await self.serve()
        async with hanging_up() as first, hanging_up() as second, asyncio.timeout(PATIENCE):
            await self.client(f"{first},{second},{good}").connect()
            client = self.client(f"{first},{second},{good}")
            failures = 0
            while True:
                try:
                    self.assertEqual(await client.call(ECHO, b"x"), b"x")
                    break
                except StatusError as error:
                    self.assertEqual(error.code, Code.UNAVAILABLE)
                    failures += 1
            self.assertLessEqual(failures, 2)

    async def test_all_that_close_are_tried_and_the_failure_says_so(self) -> None:
        async with hanging_up() as first, hanging_up() as second:
            client = self.client(f"{first},{second}")
            with self.assertRaisesRegex(StatusError, f"{second}.*it may not be a Trunkcall server"):
                await client.connect()

    async def test_one_that_refused_is_tried_again_when_the_others_have_failed(self) -> None:
        folder = self.enterContext(tempfile.TemporaryDirectory())
        back, other = f"unix:{folder}/back", f"unix:{folder}/other"
        connect = dialer._connect
        tried = []

        async def restart(loop: asyncio.AbstractEventLoop, place: Any, *rest: Any) -> Any:
            tried.append(str(place))
            if str(place) == other:
                await self.serve(where=back)
            return await connect(loop, place, *rest)

        with mock.patch.object(dialer, "_connect", restart):
            client = self.client(f"{back},{other}")
            self.assertEqual(await client.call(ECHO, b"x"), b"x")
        self.assertEqual(tried, [back, other, back])

    async def test_of_a_name_with_several_each_has_its_time(self) -> None:
        server, _ = await self.serve()
        loop = asyncio.get_running_loop()
        found: list[Any] = [
            (socket.AF_INET, socket.SOCK_STREAM, 6, "", (host, server.port)) for host in ("127.0.0.2", "127.0.0.1")
        ]
        connect = dialer._connect

        async def swallow(
            loop: asyncio.AbstractEventLoop, place: Any, made: Any, tls: ssl.SSLContext | None, name: str | None
        ) -> Any:
            if place.host == "127.0.0.2":
                await asyncio.Event().wait()
            return await connect(loop, place, made, tls, name)

        async def resolve(*args: Any, **named: Any) -> Any:
            return found

        with (
            mock.patch.object(loop, "getaddrinfo", resolve),
            mock.patch.object(dialer, "_connect", swallow),
            mock.patch.object(dialer, "ADDRESS_TIMEOUT", 0.05),
        ):
            client = self.client(f"service.test:{server.port}")
            # The address that answers may take longer than it has: then it is tried again.
            self.assertEqual(await client.call(ECHO, b"x", wait_for_ready=True, timeout=PATIENCE), b"x")
            found.pop()
            with (
                mock.patch.object(dialer, "DIAL_TIMEOUT", 0.05),
                self.assertRaisesRegex(StatusError, rf"service.test:{server.port}: no answer in 0.[01] s"),
            ):
                await self.client(f"service.test:{server.port}").connect()
