from __future__ import annotations

import argparse
import sys
from pathlib import Path

from harness import interrupts, processes
from harness.languages import everybody_meets, languages, pairs

from ..languages import HUB, LANGUAGES
from . import __doc__ as usage
from .cases import read_cases
from .matrix import Way, run_all
from .parties import CLIENTS, SERVERS, Client, Server, names
from .report import Pairs, part, rows_of, write_junit, written
from .stock import STOCK

MATRIX = Path(__file__).resolve().parents[1] / "matrix.md"
EVERYBODY = [*CLIENTS, *STOCK]


def main() -> int:
    options = parse()
    interrupts.install()
    try:
        return carry_out(options)
    except interrupts.Interrupted as interrupted:
        processes.end_all()
        return 128 + interrupted.signum


def carry_out(options: argparse.Namespace) -> int:
    cases = [case for case in read_cases() if case.name.startswith(options.only)]
    absent = [key for key in languages() if key not in LANGUAGES]
    missing = [*(client.name for client in EVERYBODY if client.missing), *absent]
    ways = [way for way in all_ways() if way.client.name not in missing and wanted(way, options)]
    # The hub, of which the other is any.
    by_hub = sorted(SERVERS, key=lambda server: server.name != HUB)
    others = {server.name: next((other for other in by_hub if other is not server), server) for server in SERVERS}
    matrix = run_all(cases, ways, others)
    if options.junit_xml:
        write_junit(matrix.results, options.junit_xml)
    for wrong in matrix.wrong:
        print(wrong)
    for name in missing:
        print(f"client {name}: not built here, its cases are not carried out")
    failed = max(matrix.failed, len(matrix.wrong))
    if not (options.only or options.client or options.server or options.transport):
        failed += settle(written(matrix, cases, ways), missing, options.write)
    print(f"{matrix.passed} passed, {failed} failed, {matrix.lacking} not applicable")
    return 1 if failed else 0


def all_pairs(whole: bool) -> list[tuple[Client, Server]]:
    """Clients and servers that can meet: of languages those that pairs() names or, if it is to be the whole, all."""
    met = {(client.key, server.key) for client, server in pairs(whole)}
    return [
        (client, server)
        for client in EVERYBODY
        for server in SERVERS
        if client.protocol in server.protocols and (client in STOCK or (client.language, server.name) in met)
    ]


def known() -> Pairs:
    """Clients and servers whose rows matrix.md may have, also of languages that this machine has not the tools for."""
    stock = {
        (client.name, key)
        for client in STOCK
        for key, language in languages().items()
        if client.protocol in language.peer.protocols
    }
    return stock | {(name, server.key) for client, server in pairs(True) for name in names(client)}


def all_ways() -> list[Way]:
    return [
        Way(client, server, transport)
        for client, server in all_pairs(everybody_meets())
        for transport in client.transports
        if transport in server.transports
    ]


def wanted(way: Way, options: argparse.Namespace) -> bool:
    names = (way.client.name, way.server.name, way.transport)
    return all(
        asked in ("", name)
        for asked, name in zip((options.client, options.server, options.transport), names, strict=True)
    )


def settle(text: str, missing: list[str], write: bool) -> int:
    """Writes matrix.md, or compares the rows of those that have met; the number of failures that this comes to."""
    if write and missing:
        print(f"matrix.md is not written without {', '.join(missing)}")
        return 1
    if write:
        MATRIX.write_text(text, encoding="utf-8")
        return 0
    there = MATRIX.read_text(encoding="utf-8") if MATRIX.exists() else ""
    if part(there, rows_of(text)) != text or not rows_of(there) <= known():
        print("matrix.md is not what this run gives: run `make matrix`")
        return 1
    return 0


def parse() -> argparse.Namespace:
    shape = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(prog="runner", description=usage, formatter_class=shape)
    parser.add_argument("--write", action="store_true", help="write matrix.md")
    parser.add_argument("--junit-xml", type=Path, metavar="PATH", help="write each result to a file of JUnit's format")
    parser.add_argument("--only", default="", help="cases whose names, GROUP/NAME, begin so")
    for name in ("client", "server", "transport"):
        parser.add_argument(f"--{name}", default="", help=f"only with this {name}")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
