from __future__ import annotations

import argparse
import sys
from pathlib import Path

from . import __doc__ as usage
from .cases import read_cases
from .matrix import Way, run_all
from .parties import CLIENTS, SERVERS, TRANSPORTS
from .report import written

MATRIX = Path(__file__).resolve().parents[1] / "matrix.md"


def main() -> int:
    options = parse()
    cases = [case for case in read_cases() if case.name.startswith(options.only)]
    ways = [
        Way(client, server, transport)
        for client in CLIENTS
        for server in SERVERS
        for transport in TRANSPORTS
        if transport in client.transports and transport in server.transports
        if options.client in ("", client.name) and options.server in ("", server.name)
        if options.transport in ("", transport)
    ]
    others = {server.name: next((o for o in SERVERS if o is not server), server) for server in SERVERS}
    matrix = run_all(cases, ways, others)
    for wrong in matrix.wrong:
        print(wrong)
    failed = matrix.failed or len(matrix.wrong)
    if not (options.only or options.client or options.server or options.transport):
        failed += settle(written(matrix, cases, ways), options.write)
    print(f"{matrix.passed} passed, {failed} failed, {matrix.lacking} not applicable")
    return 1 if failed else 0


def settle(text: str, write: bool) -> int:
    """Writes matrix.md, or compares it; the number of failures that this comes to."""
    if write:
        MATRIX.write_text(text, encoding="utf-8")
    elif not MATRIX.exists() or MATRIX.read_text(encoding="utf-8") != text:
        print("matrix.md is not what this run gives: run `make matrix`")
        return 1
    return 0


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="runner", description=usage, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="write matrix.md")
    parser.add_argument("--only", default="", help="cases whose names, GROUP/NAME, begin so")
    for name in ("client", "server", "transport"):
        parser.add_argument(f"--{name}", default="", help=f"only with this {name}")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
