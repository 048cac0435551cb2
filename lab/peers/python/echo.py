"""python-echo is no RPC framework but what one is measured against: bytes sent back by a server that looks at none of
them.

There is no codec and no dispatch. The server and, unless --blocking is given, the client run on an event loop; the
client gathers the frames of one turn of the loop and writes them together. It asks for go-echo's frames, and either may
be served by the other.
"""

from __future__ import annotations

import argparse
import asyncio
import socket
from typing import cast

import load
from echo_line import HEADER, Line, Stream
from load import message
from load.flags import Parser, UsageError
from program import Peer, listening, run_loop, spread, terminated, uvloop_flag


class Echo(asyncio.Protocol):
    """Sends back what comes, and stops reading while the other side does not take it."""

    transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)  # uvloop's is one without being derived from it

    def data_received(self, data: bytes) -> None:
        self.transport.write(data)

    def pause_writing(self) -> None:
        self.transport.pause_reading()

    def resume_writing(self) -> None:
        self.transport.resume_reading()


def serve(host: str, port: int, flags: argparse.Namespace) -> None:
    run_loop(answer(host, port), flags)


async def answer(host: str, port: int) -> None:
    server = await asyncio.get_running_loop().create_server(Echo, host, port)
    listening(*server.sockets[0].getsockname()[:2])
    await terminated()
    server.close()


def bench_flags(parser: Parser) -> None:
    uvloop_flag(parser)
    parser.add_argument(
        "--blocking", action="store_true", help="a thread and a connection for each caller, no event loop"
    )


def bench(options: load.Options) -> load.Result:
    payload = message.request().SerializeToString() if options.method == "Say" else message.data(options.size)
    own = options.callers <= options.connections
    if options.extra.blocking and (not own or options.method == "EchoStream"):
        raise UsageError("--blocking wants a connection for each caller, and has no EchoStream")
    if options.method == "EchoStream" and not own:
        raise UsageError("each caller of EchoStream needs a connection: raise --connections to --callers")
    if options.extra.blocking:
        return load.run_threads(options.config(), [ping_pong(options, payload) for _ in range(options.callers)])
    return run_loop(measure(options, payload), options.extra)


def ping_pong(options: load.Options, payload: bytes) -> load.BlockingCall:
    """The calls of one thread: a write, then reads until the answer is whole."""
    connection = socket.create_connection(options.address())
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    frame = HEADER.pack(len(payload), 0) + payload
    send, receive, size = connection.sendall, connection.recv, len(frame)

    def call() -> None:
        send(frame)
        got = receive(65536)
        while len(got) < size:
            more = receive(65536)
            if not more:
                raise ConnectionError("the server ended the connection")
            got += more
        message.check_data(got, frame)

    return call


async def measure(options: load.Options, payload: bytes) -> load.Result:
    loop = asyncio.get_running_loop()
    host, port = options.address()
    if options.method == "EchoStream":
        frame = HEADER.pack(len(payload), 0) + payload
        streams = [(await loop.create_connection(lambda: Stream(frame), host, port))[1] for _ in range(options.callers)]
        return await load.run_async(options.config(), [stream.call for stream in streams])
    lines = [(await loop.create_connection(lambda: Line(payload), host, port))[1] for _ in range(options.connections)]
    return await load.run_async(options.config(), [line.caller() for line in spread(lines, options.callers)])


peer = Peer("python-echo", "", ("Say", "Echo", "EchoStream"), serve, bench, uvloop_flag, bench_flags)

if __name__ == "__main__":
    peer.main()
