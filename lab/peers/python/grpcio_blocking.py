"""python-grpcio is grpcio's blocking API, client and server, with stock stubs."""

from __future__ import annotations

import argparse
import itertools
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import grpc

import grpcio_options
import load
from bench.v1 import bench_pb2_grpc
from bench.v1.bench_pb2 import BenchmarkMessage, Payload
from load import message
from load.flags import Parser
from program import Peer, end_on_signals, listening, spread

# What grpcio's own examples have.
WORKERS = 10


class Bench(bench_pb2_grpc.BenchServiceServicer):
    def Say(self, request: BenchmarkMessage, context: object) -> BenchmarkMessage:
        return message.answer(request)

    def Echo(self, request: Payload, context: object) -> Payload:
        return request

    def EchoStream(self, requests: Iterator[Payload], context: object) -> Iterator[Payload]:
        yield from requests


def serve_flags(parser: Parser) -> None:
    parser.add_argument("--workers", type=int, default=WORKERS, help=f"threads that run handlers ({WORKERS})")


def serve(host: str, port: int, flags: argparse.Namespace) -> None:
    server = grpc.server(ThreadPoolExecutor(flags.workers), options=grpcio_options.SERVER)
    bench_pb2_grpc.add_BenchServiceServicer_to_server(Bench(), server)
    port = server.add_insecure_port(f"{host}:{port}")
    server.start()
    end_on_signals()
    listening(host, port)
    threading.Event().wait()


def bench(options: load.Options) -> load.Result:
    channels = [
        grpc.insecure_channel(options.target, options=grpcio_options.CHANNEL) for _ in range(options.connections)
    ]
    try:
        for channel in channels:
            grpc.channel_ready_future(channel).result(grpcio_options.CONNECT_TIMEOUT)
    except grpc.FutureTimeoutError:
        raise load.Failed(f"no connection to {options.target} within {grpcio_options.CONNECT_TIMEOUT:g} s") from None
    kinds = {"Say": say, "Echo": echo, "EchoStream": echo_stream}
    stubs = [bench_pb2_grpc.BenchServiceStub(channel) for channel in spread(channels, options.callers)]
    result = load.run_threads(options.config(), [kinds[options.method](stub, options.size) for stub in stubs])
    for channel in channels:
        channel.close()
    return result


def say(stub: bench_pb2_grpc.BenchServiceStub, size: int) -> load.BlockingCall:
    method, request = stub.Say, message.request()

    def call() -> None:
        answer = method(request)
        message.check(answer.field1, answer.field2)

    return call


def echo(stub: bench_pb2_grpc.BenchServiceStub, size: int) -> load.BlockingCall:
    method, request = stub.Echo, message.payload(size)
    sent = request.data

    def call() -> None:
        answer = method(request)
        message.check_data(answer.data, sent)

    return call


def echo_stream(stub: bench_pb2_grpc.BenchServiceStub, size: int) -> load.BlockingCall:
    request = message.payload(size)
    answers = stub.EchoStream(itertools.repeat(request))
    checked = False

    def call() -> None:
        nonlocal checked
        answer = next(answers)
        if not checked:
            message.check_data(answer.data, request.data)
            checked = True

    return call


peer = Peer("python-grpcio", "grpcio", ("Say", "Echo", "EchoStream"), serve, bench, serve_flags)

if __name__ == "__main__":
    peer.main()
