"""python-grpcio-aio is grpcio's asyncio API, client and server, with stock stubs."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import grpc
import grpc.aio

import grpcio_options
import load
from bench.v1 import bench_pb2_grpc
from bench.v1.bench_pb2 import BenchmarkMessage, EmitRequest, Payload
from load import message
from load.flags import Parser
from program import Peer, listening, run_loop, spread, terminated, uvloop_flag

Ending = asyncio.Task[None] | grpc.aio.UnaryStreamCall[EmitRequest, Payload]
Kind = Callable[[bench_pb2_grpc.BenchServiceStub, int, list[Ending]], load.AsyncCall]


class Bench(bench_pb2_grpc.BenchServiceServicer):
    async def Say(self, request: BenchmarkMessage, context: object) -> BenchmarkMessage:
        return message.answer(request)

    async def Echo(self, request: Payload, context: object) -> Payload:
        return request

    async def EchoStream(self, requests: AsyncIterator[Payload], context: object) -> AsyncIterator[Payload]:
        async for request in requests:
            yield request

    async def Emit(self, request: EmitRequest, context: object) -> AsyncIterator[Payload]:
        payload = message.emitted(request.size)
        while True:
            yield payload


def serve(host: str, port: int, flags: argparse.Namespace) -> None:
    run_loop(answer(host, port, security(flags)), flags)


def security(flags: argparse.Namespace) -> grpc.ServerCredentials | None:
    """The server's own, None without TLS."""
    if not flags.tls_cert:
        return None
    return grpc.ssl_server_credentials([(Path(flags.tls_key).read_bytes(), Path(flags.tls_cert).read_bytes())])


async def answer(host: str, port: int, secure: grpc.ServerCredentials | None) -> None:
    server = grpc.aio.server(options=grpcio_options.SERVER)
    bench_pb2_grpc.add_BenchServiceServicer_to_server(Bench(), server)
    if secure is None:
        port = server.add_insecure_port(f"{host}:{port}")
    else:
        port = server.add_secure_port(f"{host}:{port}", secure)
    await server.start()
    listening(host, port)
    await terminated()
    await server.stop(None)


def bench(options: load.Options) -> load.Result:
    return run_loop(measure(options), options.extra)


async def measure(options: load.Options) -> load.Result:
    kinds = {"Say": say, "Echo": echo, "EchoStream": echo_stream, "Emit": emit}
    connect = connector(options)
    if options.extra.connection_per_call:
        closing: set[asyncio.Task[None]] = set()
        call = cold(connect, kinds[options.method], options, closing)
        try:
            return await load.run_async(options.config(), [call] * options.callers)
        finally:
            await asyncio.gather(*closing)
    channels = [connect() for _ in range(options.connections)]
    try:
        async with asyncio.timeout(grpcio_options.CONNECT_TIMEOUT):
            for channel in channels:
                await channel.channel_ready()
    except TimeoutError:
        raise load.Failed(f"no connection to {options.target} within {grpcio_options.CONNECT_TIMEOUT:g} s") from None
    ending: list[Ending] = []
    calls = [
        kinds[options.method](bench_pb2_grpc.BenchServiceStub(channel), options.size, ending)
        for channel in spread(channels, options.callers)
    ]
    result = await load.run_async(options.config(), calls)
    for task in ending:
        task.cancel()
    for channel in channels:
        await channel.close()
    return result


def connector(options: load.Options) -> Callable[[], grpc.aio.Channel]:
    """Makes channels, with TLS if that was asked for."""
    if not options.extra.tls_ca:
        return lambda: grpc.aio.insecure_channel(options.target, options=grpcio_options.CHANNEL)
    security = grpc.ssl_channel_credentials(Path(options.extra.tls_ca).read_bytes())
    return lambda: grpc.aio.secure_channel(options.target, security, options=grpcio_options.CHANNEL)


def cold(
    connect: Callable[[], grpc.aio.Channel], kind: Kind, options: load.Options, closing: set[asyncio.Task[None]]
) -> load.AsyncCall:
    """Makes a channel and a call, which ends with its answer: the end of the channel is not waited for."""

    async def call() -> None:
        channel = connect()
        try:
            await kind(bench_pb2_grpc.BenchServiceStub(channel), options.size, [])()
        finally:
            ending = asyncio.create_task(channel.close())
            closing.add(ending)
            ending.add_done_callback(closing.discard)

    return call


def say(stub: bench_pb2_grpc.BenchServiceStub, size: int, ending: list[Ending]) -> load.AsyncCall:
    method, request = stub.Say, message.request()

    async def call() -> None:
        answer = await method(request)
        message.check(answer.field1, answer.field2)

    return call


def echo(stub: bench_pb2_grpc.BenchServiceStub, size: int, ending: list[Ending]) -> load.AsyncCall:
    method, request = stub.Echo, message.payload(size)
    sent = request.data

    async def call() -> None:
        answer = await method(request)
        message.check_data(answer.data, sent)

    return call


def echo_stream(stub: bench_pb2_grpc.BenchServiceStub, size: int, ending: list[Ending]) -> load.AsyncCall:
    stream, request = stub.EchoStream(), message.payload(size)

    async def send() -> None:
        while True:
            await stream.write(request)

    ending.append(asyncio.get_running_loop().create_task(send()))
    return checking_first(stream, request.data)


def emit(stub: bench_pb2_grpc.BenchServiceStub, size: int, ending: list[Ending]) -> load.AsyncCall:
    stream = stub.Emit(EmitRequest(size=size))
    ending.append(stream)
    return checking_first(stream, message.data(size))


def checking_first(stream: Any, want: bytes) -> load.AsyncCall:
    """Receives a message, and checks it if it is the first."""
    checked = False

    async def call() -> None:
        nonlocal checked
        answer = await stream.read()
        if not checked:
            message.check_data(answer.data, want)
            checked = True

    return call


def serve_flags(parser: Parser) -> None:
    uvloop_flag(parser)
    parser.add_argument("--tls-cert", metavar="FILE", default="", help="serve with TLS, and this certificate")
    parser.add_argument("--tls-key", metavar="FILE", default="", help="its key")


def bench_flags(parser: Parser) -> None:
    uvloop_flag(parser)
    parser.add_argument("--tls-ca", metavar="FILE", default="", help="connect with TLS and trust what is in this file")
    parser.add_argument(
        "--connection-per-call", action="store_true", help="make a connection for each call; for Say and Echo"
    )


METHODS = ("Say", "Echo", "EchoStream", "Emit")
peer = Peer("python-grpcio-aio", "grpcio", METHODS, serve, bench, serve_flags, bench_flags)

if __name__ == "__main__":
    peer.main()
