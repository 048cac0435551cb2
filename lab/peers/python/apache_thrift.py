"""python-thrift is Apache Thrift with its binary codec, the one written in C.

A connection carries one call at a time, so callers that share one wait for each other; the server has a thread for
each.
"""

from __future__ import annotations

import argparse
import socket
import threading

from thrift.protocol.TBinaryProtocol import TBinaryProtocolAcceleratedFactory
from thrift.server.TServer import TThreadedServer
from thrift.transport.TSocket import TServerSocket, TSocket
from thrift.transport.TTransport import TBufferedTransportFactory, TFramedTransportFactory, TTransportException

import load
from benchthrift import BenchService
from benchthrift.ttypes import BenchmarkMessage
from load import message
from load.flags import Parser
from program import Peer, end_on_signals, listening, spread

TRANSPORTS = {"framed": TFramedTransportFactory, "buffered": TBufferedTransportFactory}


def flags(parser: Parser) -> None:
    parser.add_argument("--transport", choices=tuple(TRANSPORTS), default="framed", help="the same on both sides")


def protocol() -> TBinaryProtocolAcceleratedFactory:
    # Without the extension it would quietly be another, slower codec.
    return TBinaryProtocolAcceleratedFactory(fallback=False)


class Bench:
    def Say(self, request: BenchmarkMessage) -> BenchmarkMessage:
        request.field1 = message.ANSWER_TEXT
        request.field2 = message.ANSWER_NUMBER
        return request


class Listener(TServerSocket):
    def listen(self) -> None:
        super().listen()
        listening(*self.handle.getsockname()[:2])


def serve(host: str, port: int, flags: argparse.Namespace) -> None:
    end_on_signals()
    processor = BenchService.Processor(Bench())
    listener = Listener(host, port, socket_family=socket.AF_INET)
    TThreadedServer(processor, listener, TRANSPORTS[flags.transport](), protocol(), daemon=True).serve()


class Connection:
    """A client and the lock under which its one call at a time is made."""

    def __init__(self, options: load.Options):
        transport = TRANSPORTS[options.extra.transport]().getTransport(TSocket(*options.address()))
        self.client = BenchService.Client(protocol().getProtocol(transport))
        self.lock = threading.Lock()
        try:
            transport.open()
        except TTransportException as error:
            raise load.Failed(f"cannot connect: {error.message}") from None


def bench(options: load.Options) -> load.Result:
    connections = [Connection(options) for _ in range(options.connections)]
    return load.run_threads(options.config(), [say(shared) for shared in spread(connections, options.callers)])


def say(shared: Connection) -> load.BlockingCall:
    request = BenchmarkMessage(**message.fields())
    method, lock = shared.client.Say, shared.lock

    def call() -> None:
        with lock:
            answer = method(request)
        message.check(answer.field1, answer.field2)

    return call


peer = Peer("python-thrift", "thrift", ("Say",), serve, bench, flags, flags)

if __name__ == "__main__":
    peer.main()
