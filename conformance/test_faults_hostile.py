"""Faults of group wire, at clients: servers that send what no server should, beside a good one."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import ssl
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from harness.certificates import Authority

from .faults import raw
from .faults.hostile import Hostile, Met, Play
from .faults.kit import BOUND, CLIENTS, FaultTest, each, elsewhere, over, size, until
from .faults.ledger import check_files, gather, read
from .faults.process import held
from .faults.scripts import GREETING, WORDS, Script, scripts

# How long calls may take, in seconds: those that have to run out of time, for which it is plenty to get there first,
# and those that have to end before.
SHORT, LONG = 5, 60

CUT = 0x20
MESSAGE = raw.MSG | raw.MORE


async def silent(met: Met) -> None:
    """Never answers."""
    await met.to_end(60)


async def huge(met: Met) -> None:
    """Announces a message of 60 MiB, sends a piece, and stalls."""
    await met.send(piece(met, raw.varint(60 << 20) + bytes(65_532)))
    await met.to_end(60)


async def dripping(met: Met) -> None:
    """Answers byte by byte, and stops within it."""
    for byte in answer(met)[:-1]:
        await met.send(bytes([byte]))
        await asyncio.sleep(0.01)
    await met.to_end(60)


async def stingy(met: Met) -> None:
    """Grants credit by single bytes, more often than there is time."""
    credit = raw.frame(raw.CREDIT, stream=met.stream, word=1)
    while True:
        await met.write(credit * 10)
        await asyncio.sleep(0.01)


async def cut(met: Met) -> None:
    """Ends the connection in the middle of an answer, in order."""
    await met.send(answer(met)[:-1])
    met.half_close()
    await met.to_end()


async def torn(met: Met) -> None:
    """Resets it there."""
    await met.send(answer(met)[:-1])
    met.reset()


async def broken_off(met: Met) -> None:
    """Ends it in the middle of what goes over the socket: within TLS of a record, and without close_notify."""
    await met.send_bare(met.sealed(answer(met))[:-1])
    met.end_of_stream()
    await met.to_end()


async def noise(met: Met) -> None:
    """Sends what is nothing over the socket itself: within TLS no record."""
    await met.send_bare(bytes(range(1, 100)))
    await met.to_end()


async def twice(met: Met) -> None:
    """Fails the call, and answers it once more."""
    failure = raw.frame(raw.RESULT, raw.text("no") + raw.varint(0), stream=met.stream, low=9, flags=CUT)
    await met.send(failure, answer(met))
    await met.to_end()


def flooding(make: Callable[[Met], bytes]) -> Play:
    """Sends the same without end, and reads nothing."""

    async def flood(met: Met) -> None:
        while True:
            await met.write(make(met))

    return flood


def answer(met: Met) -> bytes:
    return raw.frame(raw.RESULT, raw.field(1, b"lie"), stream=met.stream, flags=raw.MSG, codec=raw.PROTOBUF)


def piece(met: Met, body: bytes) -> bytes:
    return raw.frame(raw.DATA, body, stream=met.stream, flags=MESSAGE, codec=raw.PROTOBUF)


LOST = {("UNAVAILABLE", "unknown")}
LATE = {("DEADLINE_EXCEEDED", "unknown")}

# What a server does, with how its call ends. A call may take part whose request has to wait for credit.
PLAYS: dict[str, tuple[Play, set[tuple[str, str]]]] = {
    "never answers": (silent, LATE),
    "announces a huge message and stalls": (huge, LATE),
    "announces one as well": (huge, LATE),
    "drips": (dripping, LATE),
    "grants credit by bytes": (stingy, LATE),
    "ends in the middle of an answer": (cut, LOST),
    "resets in the middle of an answer": (torn, LOST),
    "breaks off": (broken_off, LOST),
    "sends noise": (noise, LOST),
    "answers twice": (twice, {("FAILED_PRECONDITION", "unknown")}),
    "floods with PING": (flooding(lambda _: raw.frame(raw.PING) * 1000), LOST | LATE),
    "floods with unknown frames": (flooding(lambda _: raw.frame(0x80, bytes(1000)) * 20), LATE),
    "floods with GOAWAY": (flooding(lambda _: raw.frame(raw.GOAWAY, bytes(1000)) * 20), LATE),
    "floods with credit": (flooding(lambda met: raw.frame(raw.CREDIT, stream=met.stream, word=1) * 1000), LATE),
    "floods with calls": (
        flooding(lambda _: raw.frame(raw.CALL, b"\1x" * 20, stream=raw.stream() | 1 << 31, flags=raw.MSG | raw.END)),
        LOST,
    ),
    "floods with answers": (flooding(lambda _: raw.frame(raw.RESULT, stream=raw.stream(9)) * 1000), LOST),
}  # fmt: skip


@dataclass
class Cast:
    """Gives each call of a client the next part, however often the client tries it."""

    parts: list[Play]
    given: dict[str, int] = field(default_factory=dict[str, int])

    async def play(self, met: Met) -> None:
        await met.send(raw.preface())
        await met.called()
        part = self.given.setdefault(met.call, len(self.given))
        await self.parts[part % len(self.parts)](met)


@each(*CLIENTS, in_full=elsewhere(CLIENTS))
class Hostility(FaultTest):
    @property
    def listen(self) -> str:
        return f"unix:{self.folder}/hostile.socket" if self.setting.over == "unix" else "127.0.0.1:0"

    def context(self) -> ssl.SSLContext | None:
        """That of a server of TLS."""
        if not self.authority:
            return None
        identity = self.authority.server()
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(identity.cert, identity.key)
        context.set_alpn_protocols(["trunk"])
        return context

    async def test_what_breaks_the_protocol_ends_its_connection_or_its_call_and_says_why(self) -> None:
        """The scripts of sessions, each over a connection of its own."""
        usual = [script for script in scripts("initiator") if script.greeting == raw.preface()]
        self.assertGreater(len(usual), 25)
        for method in ("Behave", "Pour"):
            await self.follow(method, [script for script in usual if script.method == method])

    async def follow(self, method: str, chosen: list[Script]) -> None:
        number: dict[str, int] = {}  # of the script, by the call
        said: list[list[str]] = [[] for _ in chosen]

        async def play(met: Met) -> None:
            await met.send(raw.preface())
            await met.called()
            at = number.setdefault(met.call, len(number))
            await met.send(chosen[at].data)
            said[at] += await farewells(met)

        async with Hostile(self.listen, play, self.context()) as hostile:
            flags = f"--mix {method} --connection-per-call --calls {len(chosen)} --timeout 20s"
            load = await self.load(hostile.address, flags)
            await load.end()
            await hostile.all_ended()
            self.assertFalse(hostile.failures)
        ended = gather(read([load.ledger]), [])
        self.assertEqual(len(number), len(chosen))
        for script, call, words in zip(chosen, number, said, strict=True):
            with self.subTest(script.id):
                (end,) = ended[call].ends
                self.assertEqual((end["code"], end["delivery"]), script.end, end)
                self.assert_said(script, words)

    def assert_said(self, script: Script, said: list[str]) -> None:
        """Each time, if the script has it so, the client has said which rule was broken."""
        if script.reason is None:
            self.assertEqual(said, [])
            return
        self.assertTrue(said)
        for words in said:
            self.assertTrue(words.startswith(f"{script.reason} {script.fails}: "), said)
            self.assertIn(WORDS.get(script.fails, ""), words)

    async def test_who_greets_wrongly_is_no_server(self) -> None:
        """Calls go on until each greeting has been judged. A client dials again by itself (client.md 9.2), and may be
        closed just then: such a connection says nothing, and its greeting is for the next one."""
        wrong = [script for script in scripts("initiator") if script.fails in GREETING]
        self.assertGreater(len(wrong), 15)
        unmet = deque(wrong)
        judged: list[tuple[Script, list[str]]] = []

        async def play(met: Met) -> None:
            script = unmet.popleft() if unmet else wrong[0]
            await met.send(script.greeting)
            words = await farewells(met)
            if words or script.reason is None:
                judged.append((script, words))
            else:
                unmet.append(script)

        async with Hostile(self.listen, play, self.context()) as hostile:
            load = await self.load(hostile.address, "--mix Behave --connection-per-call --duration 1h --timeout 20s")
            await until("each greeting is judged", lambda: len({script.id for script, _ in judged}) == len(wrong))
            await load.stop()
            await hostile.all_ended()
            self.assertFalse(hostile.failures)
        report = check_files([load.ledger], [], BOUND)
        self.assertFalse(report.breaches, report)
        # A client may send its call with its own greeting, or wait for the server's.
        self.assertLessEqual(set(report.outcomes), {("UNAVAILABLE", "not_sent"), ("UNAVAILABLE", "unknown")}, report)
        for script, words in judged:
            with self.subTest(script.id):
                self.assert_said(script, words)
        for end in read([load.ledger]):
            if end["event"] == "end":
                self.assertTrue(end["message"])

    async def test_what_a_server_does_harms_its_own_calls_alone_and_costs_little(self) -> None:
        """Parts at once, each for a call of its own: those that go on until its time is over, and then the others,
        which have more of it than any machine needs."""
        late = {name: part for name, part in PLAYS.items() if part[1] >= LATE}
        for seconds, parts in ((SHORT, late), (LONG, {name: PLAYS[name] for name in PLAYS if name not in late})):
            await self.suffer(parts, seconds)

    async def suffer(self, parts: dict[str, tuple[Play, set[tuple[str, str]]]], seconds: int) -> None:
        cast = Cast([play for play, _ in parts.values()])
        async with Hostile(self.listen, cast.play, self.context()) as hostile:
            load = await self.load(
                hostile.address,
                f"--mix Take --connection-per-call --callers {len(parts)} --calls {len(parts)} --timeout {seconds}s",
                padding=base64.b64encode(bytes(90_000)).decode(),
            )
            most = 0
            while load.running:
                with contextlib.suppress(OSError, KeyError):  # it may just have ended
                    most = max(most, held(load.pid).resident)
                await asyncio.sleep(0.05)
            await load.end()
        self.assertLess(most, 110 << 20)  # the whole process, of which a virtual machine takes 70: two announce 60 each
        report = check_files([load.ledger], [], BOUND)
        self.assertFalse(report.breaches, report)
        ended = gather(read([load.ledger]), [])
        for (name, (_, outcomes)), call in zip(parts.items(), cast.given, strict=True):
            with self.subTest(name):
                (end,) = ended[call].ends
                self.assertIn((end["code"], end["delivery"]), outcomes, end)
                self.assertTrue(end["message"], end)
        self.assertFalse(hostile.failures)

    async def test_a_good_server_beside_it_is_unharmed_and_one_in_its_place_is_found(self) -> None:
        """A client of both. The bad one does something else each time that the client comes back."""
        good = await self.serve()
        parts = [cut, noise, torn, broken_off, PLAYS["floods with answers"][0]][: size(2, 5)]

        async def play(met: Met) -> None:
            part = parts[(hostile.connections - 1) % len(parts)]
            await met.send(raw.preface())
            await met.called()
            await part(met)

        async with Hostile(self.listen, play, self.context()) as hostile:
            load = await self.load(
                f"{hostile.address},{good.address}",
                "--mix Behave=2,Take,Pour --callers 8 --timeout 20s --duration 1h",
                answers=2,
            )
            await until("it has done all of it", lambda: hostile.connections > len(parts))
            await self.executes([good])
        self.assertFalse(hostile.failures)
        better = await self.serve(address=hostile.address)
        await self.executes([good, better])
        await load.stop()
        report = self.check()
        # Not sent is what was tried before the next attempt to connect was due.
        due = {("OK", "executed"), ("UNAVAILABLE", "unknown"), ("UNAVAILABLE", "not_sent")}
        self.assertLessEqual(set(report.outcomes), due, report)
        for call in gather(read(self.client_ledgers), read([good.ledger])).values():
            if call.executions:
                self.assertEqual([end["code"] for end in call.ends], ["OK"], call)


@each(*over("tls", CLIENTS))
class HostilityToTLS(FaultTest):
    """Servers with which no handshake comes about."""

    async def test_no_handshake_means_nothing_was_sent_and_the_failure_says_why(self) -> None:
        assert self.authority
        stranger = Authority(self.folder, "stranger").server()
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(stranger.cert, stranger.key)
        context.set_alpn_protocols(["trunk"])

        async def plain(met: Met) -> None:
            await met.send(raw.preface())
            await met.to_end()

        async def alert(met: Met) -> None:
            await met.send(b"\x15\x03\x03\x00\x02\x02\x28")
            met.half_close()
            await met.to_end()

        async def half(met: Met) -> None:
            await met.send(b"\x16\x03\x03\x40\x00" + bytes(100))
            met.half_close()
            await met.to_end()

        async def end(met: Met) -> None:
            pass

        for name, play, tls in (
            ("no TLS", plain, None),
            ("an alert", alert, None),
            ("half a record", half, None),
            ("an end", end, None),
            ("another authority", plain, context),
        ):
            with self.subTest(name):
                async with Hostile("127.0.0.1:0", play, tls) as hostile:
                    failure = await self.attempt(hostile.address, "Behave", "{}", "--timeout", "20s")
                    self.assertEqual((failure["code"], failure["delivery"]), ("UNAVAILABLE", "not_sent"), failure)
                    self.assertIn(hostile.address, failure["message"])


async def farewells(met: Met) -> list[str]:
    """Reason and text of each GOAWAY until the client ends the connection, but for those of draining."""
    said = []
    with contextlib.suppress(EOFError, ConnectionError):
        while True:
            _, _, _, reason, text = await met.frame(raw.GOAWAY)
            if reason:
                said.append(f"{reason} {text.decode()}")
    return said
