"""What the tests have gunicorn serve."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

from example.v1.user_pb2 import GetUserRequest, GetUserResponse
from tests.public.kit import ECHO, TWICE, twice
from trunkcall import RAW, Client, Server, ServerCall, blocking, unary

from .program import ASK, FAILS, STAND_STILL, WHO, stand_still, who

GET_USER = unary("/trunkcall.example.v1.UserService/GetUser", GetUserRequest, GetUserResponse)
ASK_ASYNCHRONOUSLY = unary("/test.Service/AskAsynchronously", bytes, bytes)
ASK_USED = unary("/test.Service/AskUsed", bytes, bytes)

BEHIND = "BEHIND"  # names the address of a server that the clients below call


async def user(request: GetUserRequest, call: ServerCall) -> GetUserResponse:
    return GetUserResponse(name=f"user-{request.user_id}")


def make() -> Server:
    if FAILS in os.environ and Path(os.environ[FAILS]).exists():
        raise OSError("no database is there")
    made = Server()
    made.register(WHO.handler(who), TWICE.handler(twice), GET_USER.handler(user))
    made.register(STAND_STILL.handler(stand_still, inline=True))
    return made


server = make()

if BEHIND in os.environ:  # clients from before the fork, of which one was not used yet
    threads = blocking.Client(os.environ[BEHIND], codec=RAW)
    threads.call(ECHO, b"before")
    new = Client(os.environ[BEHIND], codec=RAW)
    used = Client(os.environ[BEHIND], codec=RAW)
    asyncio.run(used.call(ECHO, b"before"))


def with_clients() -> Server:
    def ask(request: bytes, call: ServerCall) -> bytes:
        return threads.call(ECHO, request)

    async def ask_asynchronously(request: bytes, call: ServerCall) -> bytes:
        return await new.call(ECHO, request)

    async def ask_used(request: bytes, call: ServerCall) -> bytes:
        try:
            return await used.call(ECHO, request)
        except RuntimeError as error:
            return str(error).encode()

    made = make()
    made.register(ASK.handler(ask), ASK_ASYNCHRONOUSLY.handler(ask_asynchronously), ASK_USED.handler(ask_used))
    return made
