"""python-grpcio-aio is grpcio's asyncio API, client and server, with stock stubs."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import AsyncIterator

import grpc.aio

import grpcio_options
import load
from bench.v1 import bench_pb2_grpc
from bench.v1.bench_pb2 import BenchmarkMessage, Payload
from load import message
from program import Peer, listening, run_loop, spread, terminated, uvloop_flag


class Bench(bench_pb2_grpc.BenchServiceServicer):
    async def Say(self, request: BenchmarkMessage, context: object) -> BenchmarkMessage:
        return message.answer(request)

    async def Echo(self, request: Payload, context: object) -> Payload:
        return request

    async def EchoStream(self, requests: AsyncIterator[Payload], context: object) -> AsyncIterator[Payload]:
        async for request in requests:
            yield request


def serve(host: str, port: int, flags: argparse.Namespace) -> None:
    run_loop(answer(host, port), flags)


async def answer(host: str, port: int) -> None:
    server = grpc.aio.server(options=grpcio_options.SERVER)
    bench_pb2_grpc.add_BenchServiceServicer_to_server(Bench(), server)
    port = server.add_insecure_port(f"{host}:{port}")
    await server.start()
    listening(host, port)
    await terminated()
    await server.stop(None)


def bench(options: load.Options) -> load.Result:
    return run_loop(measure(options), options.extra)


async def measure(options: load.Options) -> load.Result:
    channels = [
        grpc.aio.insecure_channel(options.target, options=grpcio_options.CHANNEL) for _ in range(options.connections)
    ]
    try:
        async with asyncio.timeout(grpcio_options.CONNECT_TIMEOUT):
            for channel in channels:
                await channel.channel_ready()
    except TimeoutError:
        raise load.Failed(f"no connection to {options.target} within {grpcio_options.CONNECT_TIMEOUT:g} s") from None
    kinds = {"Say": say, "Echo": echo, "EchoStream": echo_stream}
    ending: list[asyncio.Task[None]] = []
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


def say(stub: bench_pb2_grpc.BenchServiceStub, size: int, ending: list[asyncio.Task[None]]) -> load.AsyncCall:
    method, request = stub.Say, message.request()

    async def call() -> None:
        answer = await method(request)
        message.check(answer.field1, answer.field2)

    return call


def echo(stub: bench_pb2_grpc.BenchServiceStub, size: int, ending: list[asyncio.Task[None]]) -> load.AsyncCall:
    method, request = stub.Echo, message.payload(size)
    sent = request.data

    async def call() -> None:
        answer = await method(request)
        message.check_data(answer.data, sent)

    return call


def echo_stream(stub: bench_pb2_grpc.BenchServiceStub, size: int, ending: list[asyncio.Task[None]]) -> load.AsyncCall:
    stream, request = stub.EchoStream(), message.payload(size)

    async def send() -> None:
        while True:
            await stream.write(request)

    ending.append(asyncio.get_running_loop().create_task(send()))
    checked = False

    async def call() -> None:
        nonlocal checked
        answer = await stream.read()
        if not checked:
            message.check_data(answer.data, request.data)
            checked = True

    return call


peer = Peer("python-grpcio-aio", "grpcio", ("Say", "Echo", "EchoStream"), serve, bench, uvloop_flag, uvloop_flag)

if __name__ == "__main__":
    peer.main()
