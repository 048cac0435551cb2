"""A server in several processes on one port: what dies is replaced, SIGHUP replaces all one by one, SIGTERM stops all
without losing a call.

    PROCESSES=4 python processes.py [ADDRESS]

examples/README.md says what it needs."""

from __future__ import annotations

import faulthandler
import logging
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import trunkcall
from example.v1 import user_pb2 as pb
from trunkcall import ServerCall, processes

get_user = trunkcall.unary("/trunkcall.example.v1.UserService/GetUser", pb.GetUserRequest, pb.GetUserResponse)


async def user(request: pb.GetUserRequest, call: ServerCall) -> pb.GetUserResponse:
    return pb.GetUserResponse(name=f"user-{request.user_id} of {os.getpid()}")


@asynccontextmanager
async def make() -> AsyncIterator[trunkcall.Server]:
    """Called in each process, on its event loop. Open what the handlers need before the server, and close it behind."""
    server = trunkcall.Server(max_connection_age=3600, drain_delay=float(os.environ.get("DRAIN_DELAY", "5")))
    server.register(get_user.handler(user))
    yield server


def started(addresses: list[str]) -> None:
    print("serving", *addresses, flush=True)


def main(address: str = "127.0.0.1:0") -> int:
    status = processes.run(make, address, processes=int(os.environ.get("PROCESSES", "2")), grace=30, started=started)
    print("stopped" if status == processes.OK else "stopped, with calls cut off", flush=True)
    return status


if __name__ == "__main__":
    logging.basicConfig(level=logging.WARNING)
    faulthandler.enable()  # prints where a process stands that has to be ended
    sys.exit(main(*sys.argv[1:]))
