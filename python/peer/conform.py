"""The conformance command: carries out the cases on standard input."""

from __future__ import annotations

import argparse
import ssl
from collections.abc import Sequence

import trunkcall

from .conformance.client import CasesClient
from .flags import add_blocking, add_uvloop, make_parser
from .loop import run_loop

NOTES = """Reads cases from stdin, a line of JSON each, carries them out one after the other,
and prints a line for each; conformance/cases/README.md describes both.
"""


def conform(words: Sequence[str]) -> int:
    flags = parse(words)
    run_loop(lambda: CasesClient(client_tls, flags.blocking).run(), flags.uvloop)
    return 0


def parse(words: Sequence[str]) -> argparse.Namespace:
    parser = make_parser("conformance", NOTES)
    add_blocking(parser)
    add_uvloop(parser)
    return parser.parse_args(words)


def client_tls(files: dict[str, str]) -> ssl.SSLContext:
    return trunkcall.client_tls(ca=files["ca"], cert=files.get("cert"), key=files.get("key"))
