"""What a client says of a port that is none of a Trunkcall server's: with its first call, whichever way it is made."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
import tempfile
from pathlib import Path
from typing import Any

from harness.certificates import Authority
from trunkcall import RAW, Code, Delivery, StatusError, blocking, client_tls, server_tls

from .kit import COUNT, ECHO, PATIENCE, Case, listener

CHECK = "check that a Trunkcall server listens there, that TLS is used at both ends or at neither"


def port(answer: bytes | None, tls: ssl.SSLContext | None = None) -> contextlib.AbstractAsyncContextManager[str]:
    """What answers so to whatever comes, and closes. None: it says nothing and closes nothing."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        if answer is None:
            await reader.read()
        else:
            writer.write(answer)

    return listener(serve, tls)


class WrongPorts(Case):
    async def test_the_first_call_says_where_it_went_and_what_answered(self) -> None:
        authority = Authority(Path(self.enterContext(tempfile.TemporaryDirectory())))
        identity = authority.server()
        secure, trusting = server_tls(identity.cert, identity.key), client_tls(authority.file)
        settings = b"\0\0\0\4\0\0\0\0\0"
        stranger = r"cannot reach ADDRESS: this is not a Trunkcall server \(it answered"
        cases: list[tuple[bytes | None, Any, Any, str]] = [
            (b"HTTP/1.1 400 Bad Request\r\n\r\n", None, None, rf"{stranger} HTTP/1.1\): call it with a client of HTTP"),
            (settings, None, None, rf"{stranger} HTTP/2, as servers of gRPC do\): call it with a client of gRPC"),
            (b"SSH-2.0-OpenSSH_9.6\r\n", None, None, rf"{stranger} 'SSH-2.0-OpenSSH_9.6'\): check the port"),
            (b"\x15\3\1\0\2\2\x28", None, None, rf"{stranger} an alert of TLS\): dial it with TLS"),
            (b"", None, None, "cannot reach ADDRESS: closed before a greeting.*: it may not be a Trunkcall server"),
            (b"HTTP/1.1 400 ", None, trusting, "cannot reach ADDRESS: the server does not speak TLS on this port"),
            (b"HTTP/1.1 400 ", secure, trusting, rf"{stranger} HTTP/1.1\): call it with a client of HTTP"),
        ]
        for answer, served, dialled, text in cases:
            async with port(answer, served) as address:
                for said in await self.told(address, tls=dialled):
                    self.assertRegex(said, "^" + text.replace("ADDRESS", address))

    async def test_who_serves_tls_only_says_so_to_a_call_in_the_clear_and_the_other_way_round(self) -> None:
        authority = Authority(Path(self.enterContext(tempfile.TemporaryDirectory())))
        _, clear = await self.serve()
        identity = authority.server()
        _, secure = await self.serve(tls=server_tls(identity.cert, identity.key))
        for address, tls, text in (
            (clear, client_tls(authority.file), "the server does not speak TLS on this port"),
            (secure, None, "the peer ended the connection: cleartext is refused on this port: use TLS"),
        ):
            for said in await self.told(address, tls=tls):
                self.assertEqual(said, f"cannot reach {address}: {text}")

    async def test_where_nobody_listens_the_first_call_says_so(self) -> None:
        with socket.socket() as bound:  # and not listening, so that nobody else is there
            bound.bind(("127.0.0.1", 0))
            address = f"127.0.0.1:{bound.getsockname()[1]}"
            for said in await self.told(address):
                self.assertEqual(said, f"cannot reach {address}: Connection refused")

    async def test_of_a_silent_port_a_deadline_tells_where_it_is(self) -> None:
        async with port(None) as address:
            for said in await self.told(address, timeout=0.5):
                # Where the machine stands still, the connection may not have been accepted yet.
                waited = f"while it waited for a connection to {address}: {ECHO.name} had 500ms"
                self.assertRegex(said, f"^the deadline passed before the call was sent, {waited}($|; .*{CHECK})")

    async def told(self, address: str, *, timeout: float = PATIENCE, **options: Any) -> list[str]:  # noqa: ASYNC109
        """What the first call says: with asyncio, of a stream, and blocking. Nothing of it was sent."""

        async def called() -> Any:
            return await self.client(address, **options).call(ECHO, b"x", timeout=timeout)

        async def streamed() -> Any:
            if timeout < PATIENCE:  # of streams that is told otherwise
                return await called()
            return await self.client(address, **options).open(COUNT, b"1").receive()

        def blocked() -> Any:
            with blocking.Client(address, codec=RAW, **options) as client:
                return client.call(ECHO, b"x", timeout=timeout)

        said: list[str] = []
        for call in (called, streamed, lambda: asyncio.to_thread(blocked)):
            with self.assertRaises(StatusError) as caught:
                await call()
            code = Code.UNAVAILABLE if timeout == PATIENCE else Code.DEADLINE_EXCEEDED
            self.assertEqual((caught.exception.code, caught.exception.delivery), (code, Delivery.NOT_SENT))
            said.append(caught.exception.message)
        return said
