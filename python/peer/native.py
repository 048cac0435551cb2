"""The benchmark service on typed methods: nothing stands between them and the framework."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Any

from google.protobuf.empty_pb2 import Empty

import trunkcall
from bench.v1.bench_pb2 import BenchmarkMessage, Dictionary, EmitRequest, Payload, UserModel, UserModels
from load import message

SERVICE = "/trunkcall.bench.v1.BenchService"

SAY = trunkcall.unary(f"{SERVICE}/Say", BenchmarkMessage, BenchmarkMessage)
ECHO = trunkcall.unary(f"{SERVICE}/Echo", Payload, Payload)
ECHO_STREAM = trunkcall.bidi_stream(f"{SERVICE}/EchoStream", Payload, Payload)
EMIT = trunkcall.server_stream(f"{SERVICE}/Emit", EmitRequest, Payload)
GET_DICTIONARY = trunkcall.unary(f"{SERVICE}/GetDictionary", Empty, Dictionary)
GET_USER = trunkcall.unary(f"{SERVICE}/GetUser", UserModel, UserModel)
GET_USERS = trunkcall.unary(f"{SERVICE}/GetUsers", UserModels, UserModels)


async def say(request: BenchmarkMessage, call: object) -> BenchmarkMessage:
    return message.answer(request)


async def echo(request: Payload, call: object) -> Payload:
    return request


async def echo_stream(requests: AsyncIterator[Payload], call: object) -> AsyncIterator[Payload]:
    async for request in requests:
        yield request


async def emit(request: EmitRequest, call: object) -> AsyncIterator[Payload]:
    try:
        payload = message.emitted(request.size)
    except message.TooLarge as error:
        raise trunkcall.StatusError(trunkcall.Code.INVALID_ARGUMENT, str(error)) from None
    while True:
        yield payload


async def get_dictionary(request: Empty, call: object) -> Dictionary:
    return Dictionary(entries={"a": "1", "b": "2", "c": "3"})


async def get_user(request: UserModel, call: object) -> UserModel:
    return request


async def get_users(request: UserModels, call: object) -> UserModels:
    return request


def say_inline(request: BenchmarkMessage, call: object) -> BenchmarkMessage:
    return message.answer(request)


def echo_inline(request: Payload, call: object) -> Payload:
    return request


def handlers(inline: bool = False) -> Sequence[trunkcall.Handler]:
    """All methods; `inline` has Say and Echo as plain functions that run on the event loop, without a task."""
    fast: list[Any] = (
        [SAY.handler(say_inline, inline=True), ECHO.handler(echo_inline, inline=True)]
        if inline
        else [SAY.handler(say), ECHO.handler(echo)]
    )
    return [
        *fast,
        ECHO_STREAM.handler(echo_stream),
        EMIT.handler(emit),
        GET_DICTIONARY.handler(get_dictionary),
        GET_USER.handler(get_user),
        GET_USERS.handler(get_users),
    ]
