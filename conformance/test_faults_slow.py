"""Faults of groups slow peers and time: peers that stop, drip or never read, and deadlines at their edges."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from pathlib import Path

from .faults import raw
from .faults.kit import ACROSS, THEMSELVES, FaultTest, each, elsewhere, in_full, size, until
from .faults.ledger import Line, expired, read
from .faults.process import FAULTS


@each(*THEMSELVES, in_full=[*ACROSS, *elsewhere([*THEMSELVES, *ACROSS])])
class Slow(FaultTest):
    async def test_a_server_that_stands_still_fails_no_promise_and_starts_nothing_expired(self) -> None:
        """Clients time out while it stands; when it goes on, what has expired meanwhile is not started."""
        server = await self.serve()
        before = await self.settled(server)
        load = await self.load(
            server.address,
            "--mix Behave,Say --callers 20 --connections 3 --timeout 100ms-300ms --duration 600s",
            waitMs=1,
        )
        await until("calls are executed", lambda: server.ledger.stat().st_size > 100_000)
        server.signal(signal.SIGSTOP)
        await asyncio.sleep(size(2.5, 30))  # the fault itself
        server.signal(signal.SIGCONT)
        began = server.ledger.stat().st_size
        await until("calls are executed again", lambda: server.ledger.stat().st_size > began + 50_000)
        await load.stop()
        report = self.check()
        self.assertGreaterEqual(report.outcomes["DEADLINE_EXCEEDED", "unknown"], 20, report)
        # A server counts from when it reads the call, and knows nothing of the time that it stood still. What it had
        # read when it was stopped is more than two seconds late, and a machine that is only busy makes nothing so
        # late. On each processor one handler may have been about to write its first line when the server was stopped.
        late = expired(read([server.ledger]), 2)
        self.assertLessEqual(len(late), os.cpu_count() or 1, late)
        await self.assert_settled(server, before)

    async def test_a_reader_that_never_grants_credit_bounds_its_sender(self) -> None:
        """Endless streams to clients that neither read nor grant: each holds a window and a socket's buffer at most."""
        server = await self.serve()
        async with self.unharmed(server), contextlib.AsyncExitStack() as stack:
            many = 40
            before = server.held().resident
            for _ in range(many):
                client = await stack.enter_async_context(self.raw(server, receive_buffer=4096))
                request = raw.field(7, 16_384)
                await client.send(raw.preface(), raw.call("/" + FAULTS + "Pour", request))
            await asyncio.sleep(size(1, 5))  # time in which it could grow
            # Unsent bytes: at most 1 MiB a connection, of what the window of 256 KiB lets pass.
            self.assertLess(server.held().resident - before, many * (1 << 20))

    @in_full
    async def test_a_reader_that_never_grants_credit_is_reaped(self) -> None:
        server = await self.serve()
        async with self.raw(server) as client:
            await client.send(raw.preface(), raw.call("/" + FAULTS + "Pour", raw.field(7, 16_384)))
            _, flags, status, _, _ = await client.frame(raw.RESULT, limit=90)
            self.assertEqual((status, flags & 0x20), (8, 0x20))  # RESOURCE_EXHAUSTED, CUT

    @in_full
    async def test_a_preface_that_drips_is_cut_off_in_time(self) -> None:
        server = await self.serve()
        async with self.unharmed(server):

            async def drip(step: float) -> None:
                async with self.raw(server) as client:
                    ended = asyncio.create_task(client.to_end(25))
                    for byte in raw.preface():
                        await client.send(bytes([byte]))
                        if (await asyncio.wait([ended], timeout=step))[0]:
                            break
                    await ended

            async with asyncio.TaskGroup() as group:
                for step in (0.9, 2.0, 30.0):
                    group.create_task(drip(step))

    async def test_a_handler_that_takes_no_notice_still_counts(self) -> None:
        """Handlers outlive their calls: the cap holds all the same, and what is above it is refused."""
        server = await self.serve("--running-handlers", "8")
        before = await self.settled(server)
        load = await self.load(
            server.address,
            "--mix Behave --callers 40 --timeout 20ms --duration 2s",
            waitMs=300,
            stubborn=True,
        )
        await load.end()
        report = self.check()
        self.assertGreater(report.outcomes["RESOURCE_EXHAUSTED", "refused"], 10, report)
        self.assertGreater(report.outcomes["DEADLINE_EXCEEDED", "unknown"], 8, report)
        self.assertLessEqual(most_at_once(list(read([server.ledger]))), 8)
        await self.assert_settled(server, before)


@each(*THEMSELVES, in_full=[*ACROSS, *elsewhere([*THEMSELVES, *ACROSS])])
class Time(FaultTest):
    async def test_a_deadline_races_its_answer_and_one_of_them_wins(self) -> None:
        server = await self.serve()
        before = await self.settled(server)
        load = await self.load(
            server.address,
            "--mix Behave=4,Take,Exchange,Pour --callers 10 --connections 2 --timeout 2ms-20ms "
            f"--calls {size(3000, 20000)}",
            waitMs=3,
            answers=2,
        )
        await load.end()
        report = self.check()
        # How many of each is up to the machine.
        self.assertGreater(report.outcomes["OK", "executed"], 0, report)
        self.assertGreater(report.outcomes["DEADLINE_EXCEEDED", "unknown"], 0, report)
        await self.assert_settled(server, before)

    async def test_timeouts_at_the_edges(self) -> None:
        server = await self.serve()
        for timeout, outcome in (
            ("0s", ("DEADLINE_EXCEEDED", "not_sent")),
            ("-5s", ("DEADLINE_EXCEEDED", "not_sent")),
            ("1ns", ("DEADLINE_EXCEEDED", "not_sent")),
            ("72m", ("OK", "executed")),
            ("2500000h", ("OK", "executed")),
        ):
            load = await self.load(
                server.address,
                f"--mix Behave,Take,Exchange,Pour --calls 20 --timeout={timeout}",
                answers=1,
            )
            await load.end()
            self.assertEqual(self.outcomes_of(load.ledger), {outcome}, timeout)
        self.check()

    def outcomes_of(self, ledger: Path) -> set[tuple[str, str]]:
        return {(line["code"], line["delivery"]) for line in read([ledger]) if line["event"] == "end"}

    async def test_the_field_of_the_time_remaining_saturates(self) -> None:
        """The greatest remaining time on the wire means that long or longer: the server does not watch it."""
        server = await self.serve()
        for micros, ok in ((0xFFFFFFFF, True), (0, True), (1, False)):
            async with self.raw(server) as client:
                await client.send(raw.preface(), raw.call("/" + FAULTS + "Behave", raw.field(2, 100), micros=micros))
                _, _, status, _, _ = await client.frame(raw.RESULT)
                self.assertEqual(status, 0 if ok else 4, micros)

    async def test_time_for_connecting_is_time_of_the_call(self) -> None:
        server = await self.serve()
        server.signal(signal.SIGSTOP)
        try:
            failure = await self.attempt(server.address, "Behave", "{}", "--timeout", "300ms")
            self.assertEqual(failure["code"], "DEADLINE_EXCEEDED")
        finally:
            server.signal(signal.SIGCONT)


def most_at_once(server: list[Line]) -> int:
    """The most handlers that ran at a time."""
    now = most = 0
    for line in sorted(server, key=lambda line: int(line["at"])):
        now += 1 if line["event"] == "begin" else -1
        most = max(most, now)
    return most
