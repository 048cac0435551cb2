"""The commands connect-server and connect-client: the ends under test of the public suite of Connect."""

from __future__ import annotations

from collections.abc import Sequence

from load import UsageError

from .flags import make_parser
from .loop import run_loop
from .publicsuite import client, server
from .publicsuite.schema import Schema

SERVER_NOTES = """The server under test of the public suite of Connect, gRPC and gRPC-Web: reads a
ServerCompatRequest from stdin, prints a ServerCompatResponse, ends on SIGTERM.
"""
CLIENT_NOTES = """The client under test of the same suite: reads ClientCompatRequests from stdin, makes
the calls and prints a ClientCompatResponse for each. It speaks the native protocol,
whichever a request names: its server is a connect-server.
"""


def connect_server(words: Sequence[str]) -> int:
    schema = load_schema("connect-server", SERVER_NOTES, words)
    run_loop(lambda: server.serve(schema))
    return 0


def connect_client(words: Sequence[str]) -> int:
    schema = load_schema("connect-client", CLIENT_NOTES, words)
    run_loop(lambda: client.call(schema))
    return 0


def load_schema(command: str, notes: str, words: Sequence[str]) -> Schema:
    parser = make_parser(command, notes)
    parser.add_argument("--schema", metavar="FILE", default="", help="the suite's messages, a FileDescriptorSet")
    flags = parser.parse_args(words)
    if not flags.schema:
        raise UsageError("--schema is needed")
    return Schema(flags.schema)
