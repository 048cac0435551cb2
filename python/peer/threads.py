"""The bench command with the blocking client: callers are threads."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import load
import trunkcall
from bench.v1.bench_pb2 import EmitRequest, Payload
from load import BlockingCall, message
from trunkcall import blocking

from . import native

NewClient = Callable[..., blocking.Client]


def measure(options: load.Options, new_client: NewClient) -> load.Result:
    """Calls over the connections of one client, or each over one of its own."""
    if options.extra.connection_per_call:
        call = partial(_connecting, options, new_client)
        return load.run_threads(options.config(), [call] * options.callers)
    with new_client(connections=options.connections) as client:
        try:
            client.connect()
        except trunkcall.StatusError as failed:
            raise load.Failed(str(failed)) from None
        streams: list[blocking.ClientStream[Any, Payload]] = []
        try:
            calls = [_new_call(options, client, streams) for _ in range(options.callers)]
            return load.run_threads(options.config(), calls)
        finally:
            for stream in streams:
                stream.cancel()


def _connecting(options: load.Options, new_client: NewClient) -> None:
    with new_client() as client:
        _new_call(options, client, [])()


def _new_call(
    options: load.Options, client: blocking.Client, streams: list[blocking.ClientStream[Any, Payload]]
) -> BlockingCall:
    match options.method:
        case "Say":
            return _say(client)
        case "Echo":
            return _echo(client, options.size)
        case "Emit":
            emitted = client.open(native.EMIT, EmitRequest(size=options.size))
            streams.append(emitted)
            return _checking_first(emitted.receive, message.data(options.size))
        case _:
            echoed = client.open(native.ECHO_STREAM)
            streams.append(echoed)
            request = message.payload(options.size)
            threading.Thread(target=_send_on, args=(echoed, request), daemon=True).start()
            return _checking_first(echoed.receive, request.data)


def _say(client: blocking.Client) -> BlockingCall:
    method, make, request, check = native.SAY, client.call, message.request(), message.check

    def call() -> None:
        answer = make(method, request)
        check(answer.field1, answer.field2)

    return call


def _echo(client: blocking.Client, size: int) -> BlockingCall:
    method, make, request, check = native.ECHO, client.call, message.payload(size), message.check_data
    sent = request.data

    def call() -> None:
        check(make(method, request).data, sent)

    return call


def _send_on(stream: blocking.ClientStream[Any, Payload], request: Payload) -> None:
    """Sends without pause, as far as flow control lets it."""
    with contextlib.suppress(Exception):  # the receiver meets the same failure and reports it
        while stream.send(request):
            pass


def _checking_first(receive: Callable[[], Payload | None], want: bytes) -> BlockingCall:
    """Receives a message, and checks it if it is the first."""
    checked = False

    def call() -> None:
        nonlocal checked
        answer = receive()
        if answer is None:
            raise message.WrongAnswer("the server ended the stream")
        if not checked:
            message.check_data(answer.data, want)
            checked = True

    return call
