"""Servers that are found by records of DNS of type SRV (spec/registry.md 8). Needs the extra `dns`."""

from __future__ import annotations

import asyncio
import random
import re
from collections.abc import Iterable
from dataclasses import dataclass

import dns.asyncresolver
import dns.exception
import dns.resolver

from trunkcall.resolver import DNS_INTERVAL, DNS_PAUSE

from .record import MOST_WEIGHT, InvalidRecord, Record, id_of
from .resolver import Watching
from .store import RegistryError, Watcher
from .view import Entry

_DOMAIN = re.compile(r"[A-Za-z0-9_-]{1,63}(\.[A-Za-z0-9_-]{1,63})*")
DOMAIN_BYTES = 253


@dataclass(frozen=True, slots=True)
class Answer:
    """A record of DNS."""

    target: str
    port: int
    priority: int
    weight: int


class SRV:
    """Finds the servers of a service by the answers for _SERVICE._tcp.DOMAIN, with "-" for each "." of SERVICE. It is a
    Source."""

    def __init__(self, domain: str, resolver: dns.asyncresolver.Resolver | None = None) -> None:
        """`resolver` is who is asked, by default whom the system names. Raises ValueError for what is no domain."""
        if not _DOMAIN.fullmatch(domain) or len(domain) > DOMAIN_BYTES:
            raise ValueError("want srv:DOMAIN")
        self.domain = domain
        self._resolver = resolver

    async def watch(self, service: str, watcher: Watcher, /) -> None:
        """See Source."""
        asked_for = question(service, self.domain)
        if isinstance(watcher, Watching):
            watcher.asked = asked_for
        loop = asyncio.get_running_loop()
        while True:
            asked = loop.time()
            try:
                watcher.all(entries(service, await self._ask(asked_for)))
            except dns.exception.DNSException as error:
                raise RegistryError(f"{asked_for}: {error}") from None
            try:
                async with asyncio.timeout(random.uniform(0.8, 1.2) * DNS_INTERVAL):
                    await watcher.failed()
            except TimeoutError:
                continue
            await asyncio.sleep(max(asked + DNS_PAUSE - loop.time(), 0))

    async def _ask(self, asked_for: str) -> list[Answer]:
        resolver = self._resolver or dns.asyncresolver.Resolver()
        try:
            found = await resolver.resolve(f"{asked_for}.", "SRV")
        except (dns.resolver.NXDOMAIN, dns.resolver.NoAnswer):
            return []
        return [Answer(one.target.to_text(), one.port, one.priority, one.weight) for one in found]


def question(service: str, domain: str) -> str:
    """The name that is asked for."""
    return f"_{service.replace('.', '-')}._tcp.{domain}"


def entries(service: str, answers: Iterable[Answer]) -> list[Entry]:
    """What answers make. One that makes no record is rubbish."""
    useful = [one for one in answers if one.target != "." and one.port]
    lowest = min((one.priority for one in useful), default=0)
    found: list[Entry] = []
    for one in useful:
        if one.priority == lowest:
            host = one.target.removesuffix(".")
            address = f"{host}:{one.port}"
            record = Record(
                service=service,
                id=id_of(address),
                addresses=(address,),
                server_name=host,
                weight=min(max(one.weight, 1), MOST_WEIGHT),
            )
            place = f"SRV {one.target}"
            try:
                found.append(Entry(record.id, record.to_bytes(), place))
            except InvalidRecord as fault:
                found.append(Entry(record.id, b"", place, str(fault)))
    return found
