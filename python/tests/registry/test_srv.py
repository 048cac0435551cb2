"""Servers that are found by DNS SRV, asked of a server of DNS that the tests have."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

import dns.asyncresolver
import dns.flags
import dns.message
import dns.rcode
import dns.rrset
import pytest

from trunkcall import RAW, Client, StatusError
from trunkcall.registry import open_store, resolver
from trunkcall.registry.srv import SRV

from .kit import WHO, calling, finding, hasten, logged, made, run, until

ASKED = ": DNS was asked for _test-Names._tcp.example.com"


class Zone(asyncio.DatagramProtocol):
    """Answers for _test-Names._tcp.example.com, what a test says."""

    def __init__(self) -> None:
        self.records: list[str] = []  # PRIORITY WEIGHT PORT TARGET
        self.code = dns.rcode.NOERROR
        self.silent = False  # nothing is answered
        self.asked: list[str] = []
        self._transport: Any = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport

    def datagram_received(self, data: bytes, addr: tuple[str | Any, int]) -> None:
        query = dns.message.from_wire(data)
        self.asked.append(query.question[0].to_text())
        if self.silent:
            return
        response = dns.message.make_response(query)
        response.set_rcode(self.code)
        if self.records:
            response.answer.append(dns.rrset.from_text(query.question[0].name, 30, "IN", "SRV", *self.records))
        self._transport.sendto(response.to_wire(), addr)


@contextlib.asynccontextmanager
async def zone() -> AsyncIterator[tuple[Zone, SRV]]:
    loop = asyncio.get_running_loop()
    transport, kept = await loop.create_datagram_endpoint(Zone, ("127.0.0.1", 0))
    asked = dns.asyncresolver.Resolver(configure=False)
    asked.nameservers = ["127.0.0.1"]
    asked.port = transport.get_extra_info("sockname")[1]
    asked.lifetime = 2.0
    try:
        yield kept, SRV("example.com", asked)
    finally:
        transport.close()


def test_a_server_is_found_by_dns() -> None:
    async def test() -> None:
        server = made("x", None)
        port = (await server.listen("127.0.0.1:0")).rpartition(":")[2]
        async with zone() as (kept, source), server:
            kept.records = [f"1 0 {port} localhost.", "2 0 1 nowhere.example.com."]
            async with finding(source) as client:
                assert await client.call(WHO, b"", wait_for_ready=True, timeout=60) == b"x"
                assert [one.endpoint.id for one in client.endpoints] == [f"localhost_{port}"]
            assert kept.asked == ["_test-Names._tcp.example.com. IN SRV"]

    run(test)


@pytest.mark.parametrize(
    ("code", "records", "text"),
    [
        (dns.rcode.NXDOMAIN, [], f"no instance of test.Names is registered{ASKED}"),
        (dns.rcode.NOERROR, [], f"no instance of test.Names is registered{ASKED}"),
        (dns.rcode.SERVFAIL, [], "_test-Names._tcp.example.com: All nameservers failed"),
        (
            dns.rcode.NOERROR,
            [r"0 0 1 " + 63 * r"\000" + ".com."],
            f"no instance of test.Names is registered, and 1 entries are left out{ASKED}",
        ),
    ],
    ids=["no-name", "no-answer", "failure", "rubbish"],
)
def test_what_dns_says_is_told(code: dns.rcode.Rcode, records: list[str], text: str) -> None:
    async def test() -> None:
        async with zone() as (kept, source), finding(source) as client:
            kept.code, kept.records = code, records
            with pytest.raises(StatusError) as failure:
                await client.call(WHO, b"", timeout=60)
            assert text in failure.value.message

    run(test)


@pytest.mark.parametrize(
    ("code", "silent", "failure"),
    [
        (dns.rcode.NXDOMAIN, False, ""),
        (dns.rcode.NOERROR, False, ""),
        (dns.rcode.SERVFAIL, False, "_test-Names._tcp.example.com: All nameservers failed"),
        (dns.rcode.NOERROR, True, "_test-Names._tcp.example.com: The resolution lifetime expired"),
    ],
    ids=["no-name", "no-answer", "failure", "silence"],
)
def test_while_dns_has_no_servers_the_last_ones_stay(
    code: dns.rcode.Rcode,
    silent: bool,
    failure: str,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    hasten(monkeypatch)
    monkeypatch.setattr("trunkcall.registry.srv.DNS_INTERVAL", 0.02)

    async def test() -> None:
        first, second = made("first", None), made("second", None)
        places = [(await one.listen("127.0.0.1:0")).rpartition(":")[2] for one in (first, second)]
        async with zone() as (kept, source), first, second, finding(source) as client:
            kept.records = [f"1 0 {places[0]} localhost."]
            await until(client, "first")
            async with calling(client):
                kept.code, kept.silent, kept.records = code, silent, []
                asked = len(kept.asked)
                while len(kept.asked) < asked + 2:  # noqa: ASYNC110  # nothing tells of it
                    await asyncio.sleep(0.01)
                if failure:
                    await logged(caplog, f"watching test.Names: {failure}")
                await until(client, "first")
                assert [one.endpoint.id for one in client.endpoints] == [f"localhost_{places[0]}"]
                kept.code, kept.silent = dns.rcode.NOERROR, False
                kept.records = [f"1 0 {places[1]} localhost."]
                await until(client, "second")

    run(test)


def test_an_answer_that_is_no_record_harms_no_other(caplog: pytest.LogCaptureFixture) -> None:
    async def test() -> None:
        server = made("x", None)
        port = (await server.listen("127.0.0.1:0")).rpartition(":")[2]
        async with zone() as (kept, source), server:
            kept.records = [f"1 0 {port} localhost.", r"1 0 1 " + 63 * r"\000" + ".com."]
            async with finding(source) as client:
                assert await client.call(WHO, b"", wait_for_ready=True, timeout=60) == b"x"
                assert [one.endpoint.id for one in client.endpoints] == [f"localhost_{port}"]

    run(test)
    assert "addresses: want 1 to 16 addresses of at most 255 bytes" in caplog.text


def test_nothing_is_published_there() -> None:
    with pytest.raises(ValueError, match=r'registry "srv:example\.com": servers are found there, but not published'):
        open_store("srv:example.com")


def test_what_cannot_be_asked_is_a_failure() -> None:
    async def test() -> None:
        source = SRV("x" * 63)  # makes a name that is too long
        target = f"registry:{'y' * 64}"
        async with Client(target, resolvers={"registry": resolver(source)}, codec=RAW) as client:
            with pytest.raises(StatusError, match="DNS label is > 63"):
                await client.call(WHO, b"", timeout=60)

    run(test)
