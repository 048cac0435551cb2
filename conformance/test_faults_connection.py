"""Faults of group connection: resets, silence, half-closes, dead addresses, many who come back at once."""

from __future__ import annotations

import asyncio
from collections import Counter

from harness.proxy import Hole, Proxy
from harness.rules import UP, Step

from .faults import raw
from .faults.kit import ACROSS, BOUND, KEEPALIVE, THEMSELVES, FaultTest, each, elsewhere, in_full, size, until
from .faults.ledger import check_files, gather, read
from .faults.process import FAULTS

# Far more bytes than a small call and its answer have, with both prefaces.
EXCHANGE = 320
# Within TLS, with its handshake; of these bytes every fourth is tried.
EXCHANGE_IN_TLS, STRIDE_IN_TLS = 3600, 4


@each(*THEMSELVES, in_full=[*ACROSS, *elsewhere([*THEMSELVES, *ACROSS])])
class Connection(FaultTest):
    async def test_reset_at_every_byte_leaves_the_delivery_right(self) -> None:
        """Each call has a connection of its own, which is reset one byte later than the one before: bytes of the client
        first, then bytes of the server."""
        server = await self.serve()
        for method in size(("Behave",), ("Behave", "Take", "Exchange", "Pour", "Echo")):
            for direction in ("up", "down"):
                with self.subTest(method=method, direction=direction):
                    report = await self.reset_at_every_byte(server.address, method, direction)
                    # Early resets fail calls, and in the end all has passed before the reset.
                    self.assertGreater(sum(report.values()) - report["OK", "executed"], 30, report)
                    self.assertGreater(report["OK", "executed"], 0, report)
                    if direction == UP:
                        # Before a server can have greeted; after it only how the two race decides.
                        self.assertGreaterEqual(report["UNAVAILABLE", "not_sent"], len(raw.MAGIC), report)
                    few = 10 // STRIDE_IN_TLS if self.tls else 10
                    self.assertGreater(report["UNAVAILABLE", "unknown"], few, report)
        self.check()

    async def reset_at_every_byte(self, target: str, method: str, direction: str) -> Counter[tuple[str, str]]:
        whole, stride = (EXCHANGE_IN_TLS, STRIDE_IN_TLS) if self.tls else (EXCHANGE, 1)

        def plan(connection: int, way: str) -> tuple[Step, ...]:
            return (Step("pass", connection * stride, connection * stride), Step("reset")) if way == direction else ()

        async with Proxy(target, plan) as proxy, Proxy(target) as nobody:
            await nobody.stop_listening()
            # With a second endpoint, a connection has to be greeted before a call is made over it (client.md 9.4).
            targets = f"{proxy.address},{nobody.address}" if direction == UP else proxy.address
            load = await self.load(
                targets,
                f"--mix {method} --calls {whole // stride} --connection-per-call --timeout 10s --size 20",
                answers=2,
            )
            await load.end()
        return check_files([load.ledger], [s.ledger for s in self.servers], BOUND).outcomes

    async def test_input_in_slices_makes_no_difference(self) -> None:
        server = await self.serve()
        rules = "* both: slice 1; pass 600; slice 7; pass 3000; slice 97"
        async with Proxy(server.address, rules) as proxy:
            load = await self.load(
                proxy.address,
                "--mix Say,Behave,Take,Exchange,Pour --calls 300 --callers 5",
                answers=3,
                answerBytes=900,
            )
            await load.end()
        self.assert_all_ok(self.check())

    async def test_silence_is_noticed_by_keepalive(self) -> None:
        """Calls without a deadline, over a connection on which bytes are lost from somewhere on, both ways or one. Both
        ends give it up, and the calls that follow succeed over another."""
        server = await self.serve("--keepalive", KEEPALIVE)
        before = await self.settled(server)
        for lost in ("both", "up", "down"):
            with self.subTest(lost=lost):
                async with Proxy(server.address, f"0 {lost}: pass 20000; swallow") as proxy:
                    load = await self.load(
                        proxy.address,
                        f"--mix Behave,Take --callers 8 --calls 3000 --keepalive {KEEPALIVE}",
                    )
                    await load.end()
                    self.assertGreater(proxy.connections, 1)
                report = check_files([load.ledger], [server.ledger], BOUND)
                # Not sent is what was tried before the next attempt to connect was due.
                due = {("OK", "executed"), ("UNAVAILABLE", "unknown"), ("UNAVAILABLE", "not_sent")}
                self.assertLessEqual(set(report.outcomes), due, report)
                self.assertTrue(0 < report.outcomes["UNAVAILABLE", "unknown"] <= 8, report)
        self.check()
        await self.assert_settled(server, before)

    async def test_the_end_of_a_stream_cancels_handlers_also_when_it_was_announced(self) -> None:
        server = await self.serve()
        before = await self.settled(server)
        methods = ("Behave", "Pour")
        for round, announced in enumerate((b"", raw.frame(raw.GOAWAY, flags=raw.ACK)), 1):
            async with self.raw(server) as client:
                await client.send(raw.preface())
                for slot, method in enumerate(methods, 1):
                    name = {"ledger-call": f"{method}{round}"}
                    await client.send(raw.call("/" + FAULTS + method, raw.field(2, 60_000), slot=slot, metadata=name))
                names = {f"{method}{round}" for method in methods}
                await until("handlers run", lambda names=names: names <= set(gather([], read([server.ledger]))))  # type: ignore[misc]
                await client.send(announced)
                client.half_close()
                await client.to_end()
            await self.assert_settled(server, before)
        ran = gather([], read([server.ledger]))
        ends = [ran[f"{method}{round}"].executions[0].end for method in methods for round in (1, 2)]
        self.assertTrue(all(end and end["cancelled"] for end in ends), ends)

    async def test_an_address_that_refuses_is_passed_over(self) -> None:
        server = await self.serve()
        async with Proxy(server.address) as nobody:
            await nobody.stop_listening()
            load = await self.load(
                f"{nobody.address},{server.address}",
                "--mix Say --calls 40 --connection-per-call --callers 4 --timeout 10s",
            )
            await load.end()
        self.assert_all_ok(self.check())

    @in_full
    async def test_an_address_that_swallows_is_passed_over(self) -> None:
        server = await self.serve()
        with Hole() as hole:
            await self.call(f"{hole.address},{server.address}", "Behave", "{}", "--timeout", "8s")

    async def test_many_clients_come_back_at_once(self) -> None:
        """As many connections as are asked for lose their server, which comes back. All of them recover, and none dials
        without pause meanwhile."""
        many = size(50, 500)
        server = await self.serve()
        async with Proxy(server.address) as proxy:
            load = await self.load(
                proxy.address,
                f"--mix Say --callers {many} --connections {many} --rate 400 --timeout 5s --duration 300s",
            )
            await until("all are connected", lambda: proxy.open >= many)
            await server.kill()
            began = proxy.connections
            await asyncio.sleep(1)  # the fault itself: a second without a server
            tried = proxy.connections - began
            await server.start()
            await until("all are back", lambda: proxy.open >= many)
            began = load.ledger.stat().st_size
            await until("calls are made as before", lambda: load.ledger.stat().st_size > began + 100_000)
            load.process.kill()
        self.killed = True
        report = self.check()
        # 100 ms, doubling, each time a random part: a handful within a second.
        self.assertLess(tried, 15 * many, report)
        tail = [line for line in read(self.client_ledgers) if line["event"] == "end"][-50:]
        self.assertEqual({line["code"] for line in tail}, {"OK"}, report)

    async def test_resets_at_random_break_no_promise(self) -> None:
        server = await self.serve()
        before = await self.settled(server)
        least = EXCHANGE_IN_TLS if self.tls else 50  # load has to begin
        rules = f"* up: pass {least}-20000; reset\n1- down: pass {least}-20000; reset"
        async with Proxy(server.address, rules) as proxy:
            load = await self.load(
                proxy.address,
                "--mix Say=3,Behave=3,Take,Exchange,Pour --callers 20 --connections 4 --cancel-share 0.1 "
                f"--timeout 1ms-2s --duration {size(2, 20)}s",
                waitMs=1,
                answers=3,
            )
            await load.end()
            self.assertGreater(proxy.connections, 4)  # some of the four came again, after pauses that grow
        report = self.check()
        self.assertGreater(report.outcomes["UNAVAILABLE", "unknown"], 0, report)
        await self.assert_settled(server, before)
