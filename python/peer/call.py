"""The call command: one call. Its outcome is all that it prints: answers on stdout, a failure on stderr."""

from __future__ import annotations

import argparse
import asyncio
import base64
import binascii
import logging
import ssl
import sys
from collections.abc import Sequence
from typing import Any

from google.protobuf import any_pb2
from google.protobuf.message import Message

import trunkcall
from load import UsageError
from load.flags import seconds
from trunkcall import blocking

from . import codefirst, onthreads
from .flags import add_blocking, add_compression, add_uvloop, choice, find_compression, make_parser
from .found import add_registry, blocking_resolvers, finds, resolvers
from .jsonform import detail_object, tight, to_json
from .loop import run_loop
from .method import SERVICES, Method, Unsendable, find_method, list_methods
from .program import FAILED, OK, one_line
from .security import add_identity, client_tls
from .target import FILES, check_target

MSGPACK = trunkcall.MSGPACK.name
CODECS = {one.name: one for one in (trunkcall.PROTOBUF, trunkcall.JSON, trunkcall.MSGPACK)}
VALUES = (trunkcall.JSON, trunkcall.MSGPACK)

NOTES = f"""METHOD is one of
{list_methods()}or a code-first one of any other service, whose JSON is an array of arguments. JSON
is the request; for client-streaming and bidi-streaming methods an array of requests.

A failure is one line of JSON on stderr, with exit status 1; a command line that is wrong is
told in words, with exit status 2.
"""


def call(words: Sequence[str]) -> int:
    flags = parse(words)
    tls = client_tls(flags)
    values = CODECS[flags.codec or MSGPACK]
    if codefirst.is_one(flags.method, flags.json, SERVICES) and values in VALUES:
        try:
            known = codefirst.Call(flags.method, flags.json, values)
        except ValueError as fault:
            print_failure(trunkcall.Code.INVALID_ARGUMENT, str(fault), (), trunkcall.Delivery.NOT_SENT)
            return FAILED
        return run_loop(lambda: outcome(None, known, flags, tls), flags.uvloop)
    if flags.codec == MSGPACK:
        raise UsageError(f"--codec {MSGPACK} is for code-first methods")
    try:
        method = find_method(flags.method)
        requests = method.parse_requests(flags.json)
    except Unsendable as fault:
        print_failure(fault.code, str(fault), (), trunkcall.Delivery.NOT_SENT)
        return FAILED
    return run_loop(lambda: outcome((method, requests), None, flags, tls), flags.uvloop)


def parse(words: Sequence[str]) -> argparse.Namespace:
    parser = make_parser("call", NOTES)
    parser.add_argument(
        "--target",
        metavar="ADDR",
        default="",
        help="of the server: HOST:PORT, unix:PATH, ws://HOST:PORT/PATH or wss://…",
    )
    parser.add_argument(
        "--timeout",
        metavar="D",
        type=seconds,
        help="time for connecting and the call together, such as 250ms; none unless given",
    )
    parser.add_argument(
        "--metadata",
        metavar="KEY=VALUE",
        type=pair,
        action="append",
        default=[],
        help="to send with the call, any number of times; the value of a key that ends in -bin is base64",
    )
    help = f"name of the codec: {choice(list(CODECS))}; {MSGPACK} and json for code-first methods"
    parser.add_argument("--codec", metavar="NAME", default="", help=help)
    add_compression(parser, "requests")
    parser.add_argument("--tls-ca", metavar="FILE", default="", help="connect with TLS and trust what is in this file")
    add_identity(parser)
    add_registry(parser)
    add_blocking(parser)
    add_uvloop(parser)
    parser.add_argument("arguments", metavar="METHOD JSON", nargs="*")
    flags = parser.parse_intermixed_args(words)
    if not flags.target:
        raise UsageError("--target is needed")
    if flags.timeout is not None and flags.timeout <= 0:
        raise UsageError("--timeout must be above 0")
    flags.compression = find_compression(flags.compression)
    if flags.codec and flags.codec not in CODECS:
        raise UsageError(f"--codec {flags.codec}: want {choice(list(CODECS))}")
    match flags.arguments:
        case [name, request]:
            flags.method, flags.json = name, request
            if not finds(flags, flags.target):
                check_target(flags.target)
        case [_, _, more, *_]:
            raise UsageError(f'there is nothing to do with "{more}" after METHOD and JSON')
        case _:
            raise UsageError("METHOD and JSON are needed")
    return flags


def pair(text: str) -> tuple[str, str | bytes]:
    """An entry of the metadata."""
    key, equals, value = text.partition("=")
    if not equals or not key:
        raise argparse.ArgumentTypeError("want KEY=VALUE")
    key = key.lower()
    if not key.endswith("-bin"):
        return key, value
    try:
        bare = value.rstrip("=")
        return key, base64.b64decode(bare + "=" * (-len(bare) % 4), validate=True)
    except binascii.Error as error:
        raise argparse.ArgumentTypeError(f"the value of a key that ends in -bin is base64: {error}") from None


async def outcome(
    described: tuple[Method, Sequence[Message]] | None,
    call: codefirst.Call | None,
    flags: argparse.Namespace,
    tls: ssl.SSLContext | None,
) -> int:
    codec = CODECS[flags.codec] if flags.codec and call is None else trunkcall.PROTOBUF
    try:
        async with new_client(flags, codec=codec, tls=tls, compression=flags.compression) as client:
            loop = asyncio.get_running_loop()
            began = loop.time()
            async with asyncio.timeout(flags.timeout):
                await client.connect()
            left = None if flags.timeout is None else max(flags.timeout - (loop.time() - began), 0.0)
            if call is not None:
                print(await call.make(client, timeout=left, metadata=flags.metadata), flush=True)
            elif described is not None:
                method, requests = described
                await method.invoke(client, requests, print_answer, timeout=left, metadata=flags.metadata)
    except trunkcall.StatusError as failed:
        print_failure(failed.code, failed.message, failed.details, failed.delivery)
        return FAILED
    except TimeoutError:
        text = f"{flags.target}: the deadline passed before there was a connection"
        print_failure(trunkcall.Code.DEADLINE_EXCEEDED, text, (), trunkcall.Delivery.NOT_SENT)
        return FAILED
    return OK


def new_client(flags: argparse.Namespace, **options: Any) -> Any:
    quiet = logging.Logger("peer", logging.CRITICAL)  # stderr has why the call failed, and nothing else
    if flags.blocking:
        found = {**onthreads.FILES, **blocking_resolvers(flags, quiet)}
        return onthreads.OnThreads(blocking.Client(flags.target, resolvers=found, logger=quiet, **options))
    return trunkcall.Client(flags.target, resolvers={**FILES, **resolvers(flags, quiet)}, logger=quiet, **options)


def print_answer(answer: Message) -> None:
    print(to_json(answer), flush=True)


def print_failure(
    code: trunkcall.Code, message: str, details: Sequence[any_pb2.Any], delivery: trunkcall.Delivery
) -> None:
    """Prints a failure as the one line of stderr."""
    shown = tight([detail_object(detail.type_url, detail.value) for detail in details])
    # The two line ends of Unicode are escaped, as in the program in Go.
    text = tight(one_line(message)).replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
    line = f'{{"code":"{code.name}","message":{text},"details":{shown},"delivery":"{delivery}"}}'
    print(line, file=sys.stderr, flush=True)
