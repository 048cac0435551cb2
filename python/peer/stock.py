"""The benchmark service on the code that the stock gRPC plugin generates; `users` is the example service on it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import grpc
import grpc.aio
from google.protobuf.empty_pb2 import Empty

from bench.v1 import bench_pb2_grpc
from bench.v1.bench_pb2 import BenchmarkMessage, Dictionary, EmitRequest, Payload, UserModel, UserModels
from load import message


class Bench(bench_pb2_grpc.BenchServiceServicer):
    async def Say(self, request: BenchmarkMessage, context: object) -> BenchmarkMessage:
        return message.answer(request)

    async def Echo(self, request: Payload, context: object) -> Payload:
        return request

    async def EchoStream(self, request_iterator: AsyncIterator[Payload], context: object) -> AsyncIterator[Payload]:
        async for request in request_iterator:
            yield request

    async def Emit(self, request: EmitRequest, context: grpc.aio.ServicerContext[Any, Any]) -> AsyncIterator[Payload]:
        try:
            payload = message.emitted(request.size)
        except message.TooLarge as error:
            await context.abort(grpc.StatusCode.INVALID_ARGUMENT, str(error))
        while True:
            yield payload

    async def GetDictionary(self, request: Empty, context: object) -> Dictionary:
        return Dictionary(entries={"a": "1", "b": "2", "c": "3"})

    async def GetUser(self, request: UserModel, context: object) -> UserModel:
        return request

    async def GetUsers(self, request: UserModels, context: object) -> UserModels:
        return request
