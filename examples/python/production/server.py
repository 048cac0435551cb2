"""A server as one would run it: TLS, tokens, metrics, a health check, streams, error details, and an end that loses no
call.

    TOKEN=secret python server.py cert.pem key.pem [ADDRESS [PORT FOR HTTP]]

examples/README.md says what it needs. It listens on ADDRESS, and answers /metrics and /healthz on the other port."""

from __future__ import annotations

import asyncio
import hmac
import logging
import os
import signal
import sys
import time
from collections.abc import AsyncIterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import prometheus_client
from google.rpc import error_details_pb2

import trunkcall
from example.v1 import user_pb2 as pb
from trunkcall import Admission, Arrival, Code, ServerCall, StatusError

SERVICE = "/trunkcall.example.v1.UserService/"
TOKEN = os.environ.get("TOKEN", "")
SECONDS = prometheus_client.Histogram("rpc_server_seconds", "Time that handlers take", ["method", "code"])

get_user = trunkcall.unary(SERVICE + "GetUser", pb.GetUserRequest, pb.GetUserResponse)
list_users = trunkcall.server_stream(SERVICE + "ListUsers", pb.ListUsersRequest, pb.GetUserResponse)


def admit(arrival: Arrival) -> Admission:
    """Who calls. Asked before anything of the call is decoded; who is not let in knows that nothing ran."""
    given = next((value for key, value in arrival.metadata if key == "authorization"), "")
    if not hmac.compare_digest(str(given).encode(), f"Bearer {TOKEN}".encode()):
        raise StatusError(Code.UNAUTHENTICATED, "a valid token is needed")
    return Admission(principal="front")


async def measure(call: trunkcall.Call, proceed: trunkcall.Next) -> object:
    """Counts calls and times them, of all kinds."""
    began, code = time.perf_counter(), "OK"
    try:
        return await proceed(call)
    except StatusError as error:
        code = error.code.name
        raise
    finally:
        SECONDS.labels(call.method.name, code).observe(time.perf_counter() - began)


async def user(request: pb.GetUserRequest, call: ServerCall) -> pb.GetUserResponse:
    if request.user_id < 1:
        wrong = error_details_pb2.BadRequest.FieldViolation(field="user_id", description="must be at least 1")
        raise StatusError(
            Code.INVALID_ARGUMENT, "ids begin at 1", [error_details_pb2.BadRequest(field_violations=[wrong])]
        )
    return pb.GetUserResponse(name=f"user-{request.user_id}, asked for by {call.principal}")


async def users(request: pb.ListUsersRequest, call: ServerCall) -> AsyncIterator[pb.GetUserResponse]:
    for user_id in range(1, request.count + 1):
        yield pb.GetUserResponse(name=f"user-{user_id}")


async def main(cert: str, key: str, address: str = "127.0.0.1:0", http_port: str = "0") -> None:
    server = trunkcall.Server(
        tls=trunkcall.tls_files(cert=cert, key=key),  # read again when the files change
        admission=admit,
        interceptors=[measure],
        max_connection_age=3600,  # so that load spreads to new servers
        drain_delay=float(os.environ.get("DRAIN_DELAY", "5")),  # so that nobody is sent here any more before it begins
    )
    server.register(get_user.handler(user), list_users.handler(users))
    web = operations(int(http_port), server)
    print("serving", await server.listen(address), "and HTTP on port", web.server_port, flush=True)

    loop, stopping = asyncio.get_running_loop(), asyncio.Event()
    for sign in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(sign, stopping.set)
    await stopping.wait()
    print("stopped" if await server.stop(grace=30) else "stopped, with calls cut off", flush=True)
    web.shutdown()
    web.server_close()


def operations(port: int, server: trunkcall.Server) -> ThreadingHTTPServer:
    """Metrics, and a readiness probe that fails as soon as the server is to stop."""

    class Answers(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            well = not server.leaving.is_set()
            self.send_response(200 if well or self.path == "/metrics" else 503)
            self.end_headers()
            self.wfile.write(prometheus_client.generate_latest() if self.path == "/metrics" else b"")

        def log_message(self, format: str, *args: object) -> None:
            """Probes are not worth a line each."""

    web = ThreadingHTTPServer(("127.0.0.1", port), Answers)
    Thread(target=web.serve_forever, daemon=True).start()
    return web


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4, 5) or not TOKEN:  # with an empty one everybody would be let in
        sys.exit("usage: TOKEN=secret server.py cert.pem key.pem [ADDRESS [PORT FOR HTTP]]")
    logging.basicConfig(level=logging.INFO)
    asyncio.run(main(*sys.argv[1:]))
