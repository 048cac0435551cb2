"""Faults of group wire: raw bytes at a live server, beside callers who must not notice."""

from __future__ import annotations

import asyncio
import contextlib
import random
import ssl
from collections.abc import Callable

from harness.proxy import Proxy

from .faults import raw
from .faults.kit import SERVERS, FaultTest, each, elsewhere, in_full, over, size
from .faults.ledger import gather, read
from .faults.process import FAULTS
from .faults.scripts import WORDS, scripts

BEHAVE = "/" + FAULTS + "Behave"
TAKE = "/" + FAULTS + "Take"

# What fails one call, and not the connection: the code of its RESULT.
BAD_CALLS: dict[str, tuple[bytes, int]] = {
    "a method that nobody serves": (raw.call("/nobody/Knows"), 12),
    "a bad metadata entry": (raw.call(BEHAVE, metadata={"Upper": "x"}), 3),
    "an inline name that lies": (raw.frame(raw.CALL, b"\x7fx", stream=raw.stream(), codec=1, flags=3), 3),
    "a codec that is not there": (raw.frame(raw.CALL, b"\1x", stream=raw.stream(), codec=7, flags=3), 12),
    "a total above the limit": (
        raw.frame(raw.CALL, (raw.text(TAKE) + raw.varint((64 << 20) + 1)).ljust(65_536, b"x"),
                  stream=raw.stream(), codec=1, flags=raw.MSG | raw.MORE), 8),
    "a request that does not decode": (raw.call(BEHAVE, b"\xff\xff\xff"), 3),
    "10,000 levels of nesting": (raw.call(BEHAVE, b"\x0b" * 10_000), 3),
    "a length in a message that lies": (raw.call(BEHAVE, b"\x7a\xff\xff\xff\xff\x07x"), 3),
    "metadata above the limit": (raw.call(BEHAVE, metadata={f"k{i}": "x" * 250 for i in range(100)}), 8),
}  # fmt: skip


@each(*SERVERS, in_full=elsewhere(SERVERS))
class Wire(FaultTest):
    async def asyncSetUp(self) -> None:
        await super().asyncSetUp()
        self.server = await self.serve()

    async def test_what_breaks_the_protocol_ends_its_connection_and_says_why(self) -> None:
        """The scripts of sessions."""
        chosen = [script for script in scripts("acceptor") if script.reason is not None]
        self.assertGreater(len(chosen), 40)
        async with self.unharmed(self.server):
            for script in chosen:
                for _ in range(size(1, 20)):
                    with self.subTest(script.id):
                        async with self.raw(self.server) as client:
                            await client.send(script.greeting, script.data)
                            _, _, _, reason, text = await client.frame(raw.GOAWAY)
                            self.assertEqual(reason, script.reason)
                            self.assertTrue(text.decode().startswith(f"{script.fails}: "), text)
                            self.assertIn(WORDS.get(script.fails, ""), text.decode())
                            await client.to_end()

    async def test_credit_that_a_handler_has_not_given_back_cannot_be_spent(self) -> None:
        data = raw.frame(raw.DATA, bytes(65_000), stream=raw.stream(), flags=raw.MSG, codec=raw.PROTOBUF)
        async with self.unharmed(self.server), self.raw(self.server) as client:
            # A window, and the four that Java takes for a handler that has one.
            await client.send(raw.preface(), raw.call(TAKE, raw.field(2, 60_000), flags=raw.MSG), data * 9)
            _, _, _, reason, text = await client.frame(raw.GOAWAY)
            self.assertEqual(reason, 1)
            self.assertIn("window", text.decode())
            await client.to_end()

    async def test_what_is_no_preface_is_closed_without_a_word(self) -> None:
        chosen = [script.greeting for script in scripts("acceptor") if script.fails in ("preface", "version")]
        self.assertGreater(len(chosen), 10)
        async with self.unharmed(self.server):
            for opening in (*chosen, b"\x00", b"GET / HTTP/1.0\r\n\r\n"):
                for _ in range(size(1, 20)):
                    async with self.raw(self.server) as client:
                        await client.send(opening)
                        if opening[:1] != raw.MAGIC[:1]:
                            client.half_close()  # it may be another protocol, of which more could come
                        with self.subTest(opening):
                            self.assertEqual(await client.frames_to_end(), [])

    async def test_a_bad_call_fails_alone(self) -> None:
        async with self.unharmed(self.server):
            for name, (data, code) in BAD_CALLS.items():
                with self.subTest(name):
                    async with self.raw(self.server) as client:
                        await client.send(raw.preface(), data, raw.call(BEHAVE, slot=2))
                        got = {}
                        for _ in range(2):
                            word, _, status, _, _ = await client.frame(raw.RESULT)
                            got[word & 0xFFFFF] = status
                        self.assertEqual(got, {1: code, 2: 0})

    async def test_input_cut_off_at_every_offset_is_a_clean_end(self) -> None:
        whole = raw.preface() + raw.call(BEHAVE, raw.field(2, 1), metadata={"k": "v"}) + raw.frame(raw.PING)
        async with self.unharmed(self.server):
            for ending in (raw.Raw.half_close, raw.Raw.reset):
                await self.at_every_offset(whole, ending)

    async def at_every_offset(self, whole: bytes, ending: Callable[[raw.Raw], None]) -> None:
        async def cut(offset: int) -> None:
            async with self.raw(self.server) as client:
                await client.send(whole[:offset])
                ending(client)
                if ending is raw.Raw.half_close:
                    await client.to_end()

        for first in range(0, len(whole), 20):
            await asyncio.gather(*(cut(offset) for offset in range(first, min(first + 20, len(whole)))))

    async def test_noise_harms_nobody(self) -> None:
        """Good frames with a few bytes changed, and nothing but noise, from a fixed seed."""
        draw = random.Random(1)
        whole = (
            raw.call(BEHAVE, raw.field(2, 1), metadata={"k": "v"})
            + raw.frame(raw.PING)
            + raw.call(TAKE, slot=2, flags=0)
        )
        async with self.unharmed(self.server):
            for number in range(size(150, 3_000)):
                data = bytearray(whole if number % 4 else draw.randbytes(200))
                for _ in range(draw.randint(1, 4)):
                    data[draw.randrange(len(data))] = draw.randrange(256)
                async with self.raw(self.server) as client:
                    await client.send(raw.preface(), bytes(data))
                    if number % 10 == 0:
                        client.half_close()
                        with contextlib.suppress(TimeoutError):
                            await client.to_end(5)

    async def test_floods_are_bounded(self) -> None:
        """PINGs and calls above the limit whose answers nobody reads: the connection ends, and memory stays."""
        floods = (raw.frame(raw.PING), raw.call(BEHAVE, slot=0xFFFFF), raw.call("/nobody/Knows", slot=2000))
        async with self.unharmed(self.server):
            before = self.server.held().resident
            for flood in floods:
                async with self.raw(self.server, receive_buffer=4096) as client:
                    await client.send(raw.preface())
                    flooding = asyncio.create_task(pour(client, flood * 1000))
                    # Either the server ends it, or what comes is so little that it stands at the socket.
                    await asyncio.wait([flooding], timeout=size(2, 10))
                    flooding.cancel()
                    await asyncio.gather(flooding, return_exceptions=True)
            self.assertLess(self.server.held().resident - before, 64 << 20)

    async def test_totals_that_lie_cost_nothing(self) -> None:
        """Calls that announce 60 MiB each and send one piece: counted, not allocated."""
        body = raw.text(TAKE) + raw.varint(60 << 20) + bytes(65_536)
        async with self.unharmed(self.server), contextlib.AsyncExitStack() as stack:
            before = self.server.held().resident
            for _ in range(20):
                client = await stack.enter_async_context(self.raw(self.server))
                first = raw.frame(raw.CALL, body[:65_536], stream=raw.stream(), codec=1, flags=raw.MSG | raw.MORE)
                await client.send(raw.preface(), first, raw.frame(raw.PING))
                await client.frame(raw.PING)  # it has been read
            self.assertLess(self.server.held().resident - before, 32 << 20)

    @in_full
    async def test_one_byte_then_silence_is_closed_in_time(self) -> None:
        async with self.unharmed(self.server):
            await asyncio.gather(*(self.silent(data) for data in (b"\xf5", b"", raw.preface()[:15], b"P")))

    async def silent(self, data: bytes) -> None:
        async with self.raw(self.server) as client:
            await client.send(data)
            await client.to_end(20)


@each(*over("tls", SERVERS))
class WithinTLS(FaultTest):
    """What happens below the frames: to the handshake, to records, to the end of the stream."""

    async def asyncSetUp(self) -> None:
        await super().asyncSetUp()
        self.server = await self.serve()

    async def test_plain_bytes_at_a_port_of_tls_start_nothing(self) -> None:
        native = raw.preface() + raw.call(BEHAVE, metadata={"ledger-call": "plain"})
        for opening in (native, b"GET / HTTP/1.0\r\n\r\n", bytes(100), b"\x16\x03\x01\xff\xff"):
            async with raw.Raw(self.server.address) as client:
                await client.send(opening)
                client.half_close()
                await client.to_end()
        self.assertNotIn("plain", gather([], read([self.server.ledger])))
        await self.call(self.server.address, "Behave", "{}")

    async def test_another_protocol_of_alpn_is_turned_down_or_means_nothing(self) -> None:
        assert self.authority
        other = ssl.create_default_context(cafile=str(self.authority.file))
        other.set_alpn_protocols(["another"])
        # In the handshake, where the library can do that; else what is spoken is what the preface says.
        with contextlib.suppress(ssl.SSLError, EOFError, ConnectionError):
            async with raw.Raw(self.server.address, other) as client:
                await client.send(raw.preface(), raw.call(BEHAVE))
                _, _, status, _, _ = await client.frame(raw.RESULT)
                self.assertEqual(status, 0)
        await self.call(self.server.address, "Behave", "{}")

    async def test_a_connection_cut_off_at_any_byte_is_a_clean_end(self) -> None:
        """Of the handshake, and of the records behind it. Nobody says close_notify, but for the last one."""
        metadata = {"ledger-call": "cut"}
        async with self.unharmed(self.server):
            for offset in range(1, 2000, size(41, 1)):
                async with Proxy(self.server.address, f"* up: pass {offset}; end") as proxy:
                    with contextlib.suppress(ssl.SSLError, EOFError, ConnectionError):
                        async with raw.Raw(proxy.address, self.tls) as client:
                            await client.send(raw.preface(), raw.call(BEHAVE, metadata=metadata))
                            client.end_of_stream()
                            await client.to_end()

    async def test_a_message_cut_off_without_close_notify_reaches_nobody(self) -> None:
        """Half of a call, and half of the record that has its other half."""
        call = raw.call(BEHAVE, raw.field(15, bytes(2000)), metadata={"ledger-call": "half"})
        async with self.unharmed(self.server):
            for _ in range(size(3, 100)):
                async with self.raw(self.server) as client:
                    await client.send(raw.preface(), call[:1000])
                    await client.send_bare(client.sealed(call[1000:])[:-1])
                    client.end_of_stream()
                    await client.to_end()
        self.assertNotIn("half", gather([], read([self.server.ledger])))

    async def test_a_record_that_was_changed_ends_its_connection(self) -> None:
        async with self.unharmed(self.server):
            for _ in range(size(3, 100)):
                async with self.raw(self.server) as client:
                    await client.send(raw.preface())
                    record = bytearray(client.sealed(raw.call(BEHAVE, metadata={"ledger-call": "changed"})))
                    record[-1] ^= 1
                    await client.send_bare(bytes(record))
                    await client.to_end()
        self.assertNotIn("changed", gather([], read([self.server.ledger])))

    async def test_breaches_within_tls_end_their_connections_and_say_why(self) -> None:
        """One script of each class: the frames are read by the same code as without TLS."""
        chosen = {script.fails: script for script in scripts("acceptor") if script.reason is not None}
        async with self.unharmed(self.server):
            for script in chosen.values():
                with self.subTest(script.id):
                    async with self.raw(self.server) as client:
                        await client.send(script.greeting, script.data)
                        _, _, _, reason, text = await client.frame(raw.GOAWAY)
                        self.assertEqual(reason, script.reason)
                        self.assertTrue(text.decode().startswith(f"{script.fails}: "), text)
                        await client.to_end()

    @in_full
    async def test_floods_within_tls_are_bounded(self) -> None:
        """PINGs whose answers nobody reads, and frames of no known type."""
        async with self.unharmed(self.server):
            before = self.server.held().resident
            for flood in (raw.frame(raw.PING) * 1000, raw.frame(0x80) * 100):
                async with self.raw(self.server, receive_buffer=4096) as client:
                    await client.send(raw.preface())
                    flooding = asyncio.create_task(pour(client, flood))
                    await asyncio.wait([flooding], timeout=size(1, 10))
                    flooding.cancel()
                    await asyncio.gather(flooding, return_exceptions=True)
            self.assertLess(self.server.held().resident - before, 64 << 20)

    @in_full
    async def test_half_a_handshake_and_silence_is_closed_in_time(self) -> None:
        hello = ssl.MemoryBIO()
        assert self.tls
        with contextlib.suppress(ssl.SSLWantReadError):
            self.tls.wrap_bio(ssl.MemoryBIO(), hello, server_hostname="127.0.0.1").do_handshake()
        half = hello.read()[:100]

        async def begin(data: bytes) -> None:
            async with raw.Raw(self.server.address) as client:
                await client.send(data)
                await client.to_end(60)

        async with self.unharmed(self.server):
            await asyncio.gather(begin(half), begin(half[:1]), begin(b""), self.quiet(raw.preface()[:7]))

    async def quiet(self, data: bytes) -> None:
        """The handshake whole, half a preface, and silence."""
        async with self.raw(self.server) as client:
            await client.send(data)
            await client.to_end(60)


async def pour(client: raw.Raw, data: bytes) -> None:
    """Sends without reading until the server ends the connection."""
    with contextlib.suppress(OSError):
        while True:
            await client.write(data)
