from __future__ import annotations

import argparse
import sys
from pathlib import Path

from conformance.runner.cases import read_cases
from conformance.runner.matrix import Matrix, Way, run_all
from conformance.runner.parties import SERVERS, Client
from conformance.runner.report import cell, lacking, table

from . import __doc__ as usage
from .clients import CLIENTS, TRANSPORTS, StockWay

MATRIX = Path(__file__).resolve().parent / "matrix.md"
HEAD = """# Matrix of the stock clients

What came of the cases of [cases/](../cases/README.md): each client of another project with a server in Go, over each transport. A cell has how many cases of a group
passed, of those that are applicable. Written by `make matrix`; `make test` fails if a run gives anything else.
"""
# They have all doors.
(SERVER,) = (server for server in SERVERS if server.name == "go")
OTHER = next(server for server in SERVERS if server is not SERVER)


def main() -> int:
    options = parse()
    cases = [case for case in read_cases() if case.name.startswith(options.only)]
    asked = [client for client in CLIENTS if options.client in ("", client.name)]
    there = [client for client in asked if Path(client.program[0]).exists()]
    missing = [client.name for client in asked if client not in there]
    ways = [
        StockWay(client, SERVER, transport)
        for client in there
        for transport in TRANSPORTS
        if transport in client.transports and options.transport in ("", transport)
    ]
    matrix = run_all(cases, ways, {SERVER.name: OTHER})
    for wrong in matrix.wrong:
        print(wrong)
    for name in missing:
        print(f"{name} has not been built")
    failed = matrix.failed or len(matrix.wrong)
    if not (options.only or options.client or options.transport or missing):
        failed += settle(written(matrix, there, ways), options.write)
    print(f"{matrix.passed} passed, {failed} failed, {matrix.lacking} not applicable, {len(missing)} clients missing")
    return 1 if failed else 0


def written(matrix: Matrix, clients: list[Client], ways: list[Way]) -> str:
    """The text of matrix.md."""
    groups = list(dict.fromkeys(group for _, group in matrix.tallies))
    rows = [["client", "transport", *groups]]
    rows += [[way.client.name, way.transport, *(cell(matrix, way, group) for group in groups)] for way in ways]
    return f"{HEAD}\n{table(rows)}\n{lacking(matrix, groups, ways)}"


def settle(text: str, write: bool) -> int:
    """Writes matrix.md, or compares it; the number of failures that this comes to."""
    if write:
        MATRIX.write_text(text, encoding="utf-8")
    elif not MATRIX.exists() or MATRIX.read_text(encoding="utf-8") != text:
        print(f"{MATRIX.name} is not what this run gives: run `make matrix`")
        return 1
    return 0


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="stock", description=usage, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="write matrix.md")
    parser.add_argument("--only", default="", help="cases whose names, GROUP/NAME, begin so")
    parser.add_argument("--client", default="", help="only this client")
    parser.add_argument("--transport", default="", help="only over this transport")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
