"""python-fastapi is FastAPI on uvicorn: a model of pydantic as JSON over HTTP/1.1, one process.

The server is what uvicorn[standard] comes to: httptools, and uvloop if that is asked for. Load is put on it by go-http;
`bench` has a thread and a connection of http.client for each caller.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import http.client
import json
import signal
import socket
from collections.abc import Iterator

import fastapi
import pydantic
import uvicorn

import load
from load import message
from load.flags import UsageError
from program import Peer, listening, run_loop, uvloop_flag

PATH = "/trunkcall.bench.v1.BenchService/Say"
Message: type[pydantic.BaseModel] = pydantic.create_model(
    "BenchmarkMessage", **{name: (type(value), ...) for name, value in message.fields().items()}
)


app = fastapi.FastAPI()


@app.post(PATH)
async def say(request: Message) -> Message:  # type: ignore[valid-type]
    return message.answer(request)


class Server(uvicorn.Server):
    """Says where it listens once it does, and ends well when it is told to end."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, self.handle_exit, number, None)
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            listening(*self.servers[0].sockets[0].getsockname()[:2])


def serve(host: str, port: int, flags: argparse.Namespace) -> None:
    config = uvicorn.Config(
        app, host, port, http="httptools", ws="none", lifespan="off", log_level="warning", access_log=False
    )
    run_loop(Server(config).serve(), flags)


def bench(options: load.Options) -> load.Result:
    if options.callers > options.connections:
        raise UsageError("each caller wants a connection: raise --connections to --callers")
    return load.run_threads(options.config(), [caller(options) for _ in range(options.callers)])


def caller(options: load.Options) -> load.BlockingCall:
    connection = http.client.HTTPConnection(*options.address())
    connection.connect()
    assert connection.sock
    connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    request = json.dumps(message.fields(), ensure_ascii=False).encode()

    def call() -> None:
        connection.request("POST", PATH, request, {"Content-Type": "application/json"})
        response = connection.getresponse()
        text = response.read()
        if response.status != http.client.OK:
            raise message.WrongAnswer(f"status {response.status}: {text[:200]!r}")
        answer = json.loads(text)
        message.check(answer["field1"], answer["field2"])

    return call


peer = Peer("python-fastapi", "fastapi", ("Say",), serve, bench, uvloop_flag)

if __name__ == "__main__":
    peer.main()
