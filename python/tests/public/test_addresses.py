"""Targets with several addresses, of which some are no good."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import tempfile
from typing import Any
from unittest import mock

from trunkcall import Endpoint, StatusError
from trunkcall.resolver import Watch
from trunkcall.transport import dialer

from .kit import ECHO, PATIENCE, Case, black_hole, listener


def hanging_up() -> contextlib.AbstractAsyncContextManager[str]:
    """A listener that closes what it accepts; gives its address."""

    async def nothing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        pass

    return listener(nothing)


class SeveralEndpoints(Case):
    async def test_one_that_closes_without_a_greeting_leaves_the_calls_to_another(self) -> None:
        _, good = await self.serve()
        async with hanging_up() as first, hanging_up() as second, asyncio.timeout(PATIENCE):
            await self.client(f"{first},{second},{good}").connect()
            client = self.client(f"{first},{second},{good}")
            for _ in range(20):
                self.assertEqual(await client.call(ECHO, b"x"), b"x")

    async def test_all_that_close_are_tried_and_the_failure_says_so(self) -> None:
        async with hanging_up() as first, hanging_up() as second:
            client = self.client(f"{first},{second}")
            with self.assertRaisesRegex(StatusError, f"{first}.*{second}.*it may not be a Trunkcall server"):
                await client.connect()


class SeveralAddresses(Case):
    """Of one endpoint."""

    def to(self, *addresses: str, **options: Any) -> Any:
        async def resolve(watch: Watch) -> None:
            watch.set([Endpoint(*addresses)])

        return self.client("test:", resolvers={"test": resolve}, **options)

    async def test_one_that_closes_without_a_greeting_leads_to_the_next(self) -> None:
        _, good = await self.serve()
        async with hanging_up() as first, hanging_up() as second, asyncio.timeout(PATIENCE):
            self.assertEqual(await self.to(first, second, good).call(ECHO, b"x"), b"x")

    async def test_one_that_says_nothing_is_overtaken(self) -> None:
        _, good = await self.serve()
        async with black_hole() as first, asyncio.timeout(PATIENCE):
            client = self.to(first, good)
            with mock.patch.object(dialer, "ADDRESS_TIMEOUT", PATIENCE):
                self.assertEqual(await client.call(ECHO, b"x", wait_for_ready=True), b"x")
            (end,) = client._live  # the other one is closed
            self.assertEqual(end.connection.remote, good)

    async def test_one_that_refused_is_tried_again_when_the_others_have_failed(self) -> None:
        folder = self.enterContext(tempfile.TemporaryDirectory())
        back, other = f"unix:{folder}/back", f"unix:{folder}/other"
        attempt = dialer._Race._attempt
        tried = []

        async def restart(race: Any, place: Any) -> Any:
            tried.append(str(place))
            if str(place) == other:
                await self.serve(where=back)
            return await attempt(race, place)

        with mock.patch.object(dialer._Race, "_attempt", restart):
            self.assertEqual(await self.to(back, other).call(ECHO, b"x"), b"x")
        self.assertEqual(tried, [back, other, back])

    async def test_those_of_a_name_are_raced(self) -> None:
        server, _ = await self.serve()
        loop = asyncio.get_running_loop()
        found: list[Any] = [
            (socket.AF_INET, socket.SOCK_STREAM, 6, "", (host, server.port)) for host in ("127.0.0.2", "127.0.0.1")
        ]
        opened = dialer._Race._opened

        async def swallow(race: Any, place: Any, secure: bool) -> Any:
            if place.address.host == "127.0.0.2":
                await asyncio.Event().wait()
            return await opened(race, place, secure)

        async def resolve(*args: Any, **named: Any) -> Any:
            return found

        with mock.patch.object(loop, "getaddrinfo", resolve), mock.patch.object(dialer._Race, "_opened", swallow):
            client = self.client(f"service.test:{server.port}")
            self.assertEqual(await client.call(ECHO, b"x", wait_for_ready=True, timeout=PATIENCE), b"x")
            found.pop()
            with (
                mock.patch.object(dialer, "DIAL_TIMEOUT", 0.05),
                self.assertRaisesRegex(StatusError, rf"service.test:{server.port}: no answer in 0.[01] s"),
            ):
                await self.client(f"service.test:{server.port}").connect()
