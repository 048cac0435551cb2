"""Faults of groups load and leaks: more than a server can take, and what it keeps of it."""

from __future__ import annotations

import asyncio
import contextlib
import resource

from harness.proxy import Proxy

from .faults import raw
from .faults.kit import ACROSS, BOUND, FULL, THEMSELVES, FaultTest, each, elsewhere, in_full, size, until
from .faults.ledger import check_files, read
from .test_faults_slow import most_at_once


@each(*THEMSELVES, in_full=[*ACROSS, *elsewhere([*THEMSELVES, *ACROSS])])
class Load(FaultTest):
    async def test_an_open_and_cancel_flood_stays_under_the_cap(self) -> None:
        """Handlers outlive the whole load in small, and few fit under the cap, so that it is reached however slow the
        machine is; the calls that nobody gives up are told of it."""
        server = await self.serve("--running-handlers", "10")
        before = await self.settled(server)
        load = await self.load(
            server.address,
            "--mix Behave=2,Pour,Exchange,Take --callers 200 --connections 4 --cancel-share 0.9 "
            f"--cancel-after 3ms --duration {size(1, 10)}s",
            waitMs=2000,
            stubborn=True,
            answers=2,
        )
        await load.end()
        report = self.check()
        self.assertGreater(report.outcomes["CANCELLED", "unknown"], 0, report)
        self.assertGreater(report.outcomes["RESOURCE_EXHAUSTED", "refused"], 0, report)
        self.assertLessEqual(most_at_once(list(read([server.ledger]))), 10)
        await self.assert_settled(server, before)
        again = await self.load(server.address, "--mix Behave --calls 100")
        await again.end()
        self.assert_all_ok(check_files([again.ledger], [], BOUND))

    async def test_three_times_the_capacity_leaves_most_of_it(self) -> None:
        """A server whose handlers take 200 ms, 20 at a time: at most 100 calls a second, whatever the machine. Three
        times as many come: so few that a client in any language makes them also on a busy machine."""
        server = await self.serve("--running-handlers", "20")
        words = f"--mix Behave --timeout 10s --connections 4 --duration {size(3, 8)}s"
        rounds: list[tuple[float, float]] = []
        while len(rounds) < 3:  # something else on the machine may have slowed one of the two
            if rounds:
                self.tell("retry", "of {:.0f} calls a second {:.0f} were left".format(*rounds[-1]))
            peak = await self.goodput(server.address, f"{words} --callers 20")
            over = await self.goodput(server.address, f"{words} --callers 400 --rate {3 * peak:.0f}")
            self.check()
            if over > (0.8 if FULL else 0.5) * peak:
                return
            rounds.append((peak, over))
        self.fail(f"of the peak little is left: {rounds}")

    async def goodput(self, target: str, flags: str) -> float:
        """Calls that succeeded, in a second."""
        load = await self.load(target, flags, waitMs=200)
        result = await load.end()
        good = check_files([load.ledger], [s.ledger for s in self.servers], BOUND).outcomes["OK", "executed"]
        return good / result["seconds"]

    @in_full
    async def test_small_calls_beside_bulk(self) -> None:
        """Streams of large messages beside small calls: none fails, and the 99th percentile is told."""
        server = await self.serve()
        small = "--mix Say --callers 4 --rate 300 --duration 10s"
        alone = await (await self.load(server.address, small)).end()
        bulk = await self.load(
            server.address,
            "--mix Pour --callers 2 --duration 10s",
            answerBytes=1000000,
            answers=300,
        )
        beside = await (await self.load(server.address, small)).end()
        await bulk.end()
        self.assert_all_ok(self.check())
        print(f"p99 of small calls: {alone['p99_us']:.0f} us alone, {beside['p99_us']:.0f} us beside bulk")

    async def test_out_of_descriptors_running_calls_go_on_and_accepting_recovers(self) -> None:
        server = await self.serve()
        async with self.unharmed(server):
            limit = server.held().descriptors + 30
            resource.prlimit(server.pid, resource.RLIMIT_NOFILE, (limit, limit))
            async with contextlib.AsyncExitStack() as stack:
                # Not within TLS: a handshake would wait for a server that can accept nobody.
                clients = [await stack.enter_async_context(raw.Raw(server.address)) for _ in range(100)]
                await until("it has no more", lambda: server.held().descriptors >= limit - 1)
                for client in clients:
                    await client.send(raw.preface())
                await asyncio.sleep(0.5)  # the fault itself
            load = await self.load(server.address, "--mix Say --calls 50 --connections 3 --callers 3")
            await load.end()
            self.assert_all_ok(check_files([load.ledger], [server.ledger], BOUND))
        self.assertLess(len(server.log()), 100_000)  # a record a second, not one for each attempt


@each(*THEMSELVES, in_full=[*ACROSS, *elsewhere([*THEMSELVES, *ACROSS])])
class Leaks(FaultTest):
    async def test_connects_leave_nothing(self) -> None:
        """Connections that say nothing, a little, or make a call, and end in every way."""
        server = await self.serve()
        before = await self.settled(server)
        hello, request = raw.preface(), raw.call("/trunkcall.fault.v1.FaultService/Behave")

        async def connect(number: int) -> None:
            async with self.raw(server) as client:
                await client.send((b"", hello[:9], hello, hello + request)[number % 4])
                if number % 4 == 3:
                    await client.frame(raw.RESULT)
                if number % 3 == 0:
                    client.reset()

        for first in range(0, size(1_500, 20_000), 50):
            await asyncio.gather(*(connect(number) for number in range(first, first + 50)))
        await self.assert_settled(server, before)

    async def test_clients_of_one_call_leave_nothing(self) -> None:
        server = await self.serve()
        before = await self.settled(server)
        load = await self.load(
            server.address,
            f"--mix Say,Take,Pour,Exchange --connection-per-call --callers 8 --calls {size(500, 10000)}",
            answers=2,
        )
        await load.end()
        self.assert_all_ok(self.check())
        await self.assert_settled(server, before)

    async def test_cancels_and_resets_leave_no_slope(self) -> None:
        """The same load in rounds: what the server holds after the last is what it held after the first."""
        server = await self.serve()
        await self.settled(server)
        rounds = []
        async with Proxy(server.address, "* up: pass 1000-60000; reset") as proxy:
            for _ in range(size(3, 8)):
                load = await self.load(
                    proxy.address,
                    "--mix Say=3,Behave=3,Take,Exchange,Pour --callers 20 --connections 3 --cancel-share 0.3 "
                    "--cancel-after 1ms --duration 2s",
                    answers=3,
                    answerBytes=2000,
                )
                await load.end()
                rounds.append((await self.gauges(server), server.held()))
        self.check()
        first, last = rounds[0], rounds[-1]
        self.assertLessEqual(last[0]["running"], first[0]["running"], rounds)
        self.assertLess(last[0]["tasks"], first[0]["tasks"] + 150, rounds)
        self.assertLess(last[0]["heapBytes"], first[0]["heapBytes"] + (2 << 20), rounds)
        self.assertLessEqual(last[1].descriptors, first[1].descriptors + 4, rounds)
