"""Faults of group crash: servers and clients that die, drain, or run handlers that throw."""

from __future__ import annotations

import json
import signal

from .faults.kit import ACROSS, KEEPALIVE, THEMSELVES, FaultTest, each, elsewhere, size, until
from .faults.ledger import read


@each(*THEMSELVES, *ACROSS, in_full=elsewhere([*THEMSELVES, *ACROSS]))
class Crash(FaultTest):
    async def test_sigkill_in_mid_call_leaves_what_is_said_of_each_call_true(self) -> None:
        server = await self.serve()
        flags = "--callers 50 --connections 4 --timeout 1s-3s --duration 1h"
        load = await self.load(server.address, f"--mix Say=2,Behave=4,Take,Exchange,Pour {flags}", waitMs=5, answers=3)
        for _ in range(size(2, 8)):
            await self.executes([server])
            await server.kill()
            await server.start()
        await self.executes([server])
        await load.stop()
        report = self.check()
        outcomes = report.outcomes
        self.assertGreater(outcomes["OK", "executed"], 0, report)
        # Otherwise nothing was in the middle of anything.
        self.assertGreater(outcomes["UNAVAILABLE", "unknown"], 0, report)

    async def test_sigkill_of_the_client_cancels_its_handlers(self) -> None:
        server = await self.serve()
        before = await self.settled(server)
        load = await self.load(
            server.address,
            "--mix Behave,Take,Exchange --callers 20 --duration 60s",
            waitMs=60000,
        )
        self.killed = True
        await until("handlers run", lambda: len(list(read([server.ledger]))) >= 20)
        load.process.kill()
        await self.assert_settled(server, before)
        self.assertTrue(all(line["cancelled"] for line in read([server.ledger]) if line["event"] == "end"))
        self.check()

    async def test_sigterm_under_load_fails_no_call(self) -> None:
        """Two servers take turns: one drains and is started again while the other serves."""
        servers = [await self.serve(), await self.serve()]
        targets = ",".join(server.address for server in servers)
        load = await self.load(
            targets,
            "--mix Say=4,Echo,Behave=4 --callers 30 --connections 3 --duration 1h",
            waitMs=5,
        )
        for turn in range(size(3, 10)):
            server, other = servers[turn % 2], servers[1 - turn % 2]
            await self.executes(servers)  # each: the client is connected to both
            self.assertEqual(await server.stop(), 0, server.log())
            self.assertTrue(other.running)
            await server.start()
        await load.stop()
        self.assert_all_ok(self.check())

    async def test_an_endless_stream_while_draining_ends_at_the_grace_period(self) -> None:
        server = await self.serve("--grace", "1s")
        load = await self.load(server.address, "--mix Pour --calls 3 --callers 3")
        await until("streams run", lambda: len(list(read([server.ledger]))) >= 3)
        self.assertEqual(await server.stop(), 1)
        self.assertIn("cut off", server.log())
        await load.end()
        report = self.check()
        self.assertEqual(set(report.outcomes), {("UNAVAILABLE", "unknown")}, report)

    async def test_a_handler_that_throws_fails_its_own_call_alone(self) -> None:
        server = await self.serve()
        async with self.unharmed(server):
            load = await self.load(
                server.address,
                f"--mix Behave,Pour,Take,Exchange --calls {size(200, 5000)} --callers 8",
                panics=True,
                message="a secret",
            )
            await load.end()
        own = [line for line in read(self.client_ledgers) if line["event"] == "end"]
        # What is raised is a panic in one language, an error like any other in the next (status.md 1).
        code = "INTERNAL" if own[0]["code"] == "INTERNAL" else "UNKNOWN"
        self.assertEqual({(line["code"], line["delivery"]) for line in own}, {(code, "executed")})
        self.assertNotIn("secret", json.dumps(own))
        self.assertIn("a secret", server.log())  # where who serves can read it
        failure = await self.attempt(server.address, "Behave", '{"panics":true,"message":"a secret"}')
        self.assertNotIn("secret", json.dumps(failure))

    async def test_a_stopped_client_loses_its_connections_and_lives_on(self) -> None:
        """A client process that stands still, as in a debugger, does no harm to the others, and goes on afterwards."""
        server = await self.serve("--keepalive", KEEPALIVE)
        async with self.unharmed(server):
            before = server.held().descriptors
            load = await self.load(
                server.address,
                "--mix Behave --callers 10 --connections 10 --timeout 60s --duration 1h",
                waitMs=2,
            )
            await until("it is connected", lambda: server.held().descriptors >= before + 10)
            load.process.signal(signal.SIGSTOP)
            # A connection of those that do no harm may have come meanwhile.
            await until("its connections are lost", lambda: server.held().descriptors <= before + 2)
            load.process.signal(signal.SIGCONT)
            began = load.ledger.stat().st_size
            await until("it goes on", lambda: load.ledger.stat().st_size > began + 50_000)
            await load.stop()
        ends = [line["code"] for line in read(self.client_ledgers) if line["event"] == "end"]
        self.assertEqual(ends[-1], "OK")
