"""Servicers of generated code, for stubs of both styles."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any

import grpc
import grpc.aio
from google.protobuf.any_pb2 import Any as AnyMessage
from google.protobuf.wrappers_pb2 import StringValue

from example.v1 import user_pb2 as pb
from example.v1 import user_pb2_grpc as stubs
from trunkcall import CallAttempt, Code
from trunkcall.grpcstub.conversion import DETAILS_KEY, details_entry
from trunkcall.wire import Status

ID = pb.GetUserRequest
USER = pb.GetUserResponse


class RichStatus:
    """What grpc_status.rpc_status.to_status gives."""

    def __init__(self, code: grpc.StatusCode, details: str, *attached: Any) -> None:
        self.code = code
        self.details = details
        packed = []
        for message in attached:
            one = AnyMessage()
            one.Pack(message)
            packed.append((one.type_url, one.value))
        status = Status(Code(code.value[0]), details, tuple(packed))
        self.trailing_metadata = ((DETAILS_KEY, details_entry(status)),)


class Users(stubs.UserServiceServicer):
    """Coroutines and asynchronous generators."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self.cancelled = asyncio.Event()
        self.ended: list[Any] = []

    async def GetUser(self, request: Any, context: Any) -> Any:
        context.add_done_callback(self.ended.append)
        if request.user_id == 0:
            await context.abort(grpc.StatusCode.INVALID_ARGUMENT, "no id", (("why", "zero"),))
        if request.user_id == -1:
            await context.abort_with_status(
                RichStatus(grpc.StatusCode.NOT_FOUND, "no such user", StringValue(value="x"))
            )
        if request.user_id == -2:
            context.set_code(grpc.StatusCode.ABORTED)
            context.set_details("set, not raised")
            return USER()
        if request.user_id == -3:
            self.begun.set()
            try:
                await asyncio.Event().wait()
            finally:
                self.cancelled.set()
        await context.send_initial_metadata((("first", "1"),))
        context.set_trailing_metadata((("last-bin", b"\0"), ("remaining", str(context.time_remaining() is not None))))
        name = dict(context.invocation_metadata()).get("name", "")
        return USER(name=f"{name}{request.user_id}", email=context.peer().partition(":")[0])

    async def ListUsers(self, request: Any, context: Any) -> AsyncIterator[Any]:
        for number in range(request.count):
            yield USER(name=str(number))
        if request.count == 2:
            await context.abort(grpc.StatusCode.OUT_OF_RANGE, "two")

    async def ImportUsers(self, request_iterator: Any, context: Any) -> Any:
        return pb.ImportUsersResponse(count=len([user async for user in request_iterator]))

    async def WatchUsers(self, request_iterator: Any, context: Any) -> None:
        while (request := await context.read()) is not grpc.aio.EOF:
            await context.write(USER(name=str(request.user_id)))


class PlainUsers(stubs.UserServiceServicer):
    """Plain methods."""

    def GetUser(self, request: Any, context: Any) -> Any:
        if request.user_id == 0:
            context.abort(grpc.StatusCode.INVALID_ARGUMENT, "no id")
        context.send_initial_metadata((("first", "1"),))
        return USER(name=str(request.user_id))

    def ListUsers(self, request: Any, context: Any) -> Iterator[Any]:
        for number in range(request.count):
            yield USER(name=str(number))

    def ImportUsers(self, request_iterator: Any, context: Any) -> Any:
        return pb.ImportUsersResponse(count=sum(1 for _ in request_iterator))

    def WatchUsers(self, request_iterator: Any, context: Any) -> Iterator[Any]:
        for request in request_iterator:
            yield USER(name=str(request.user_id))


class Noted:
    """An observer of attempts: how many bytes each has sent."""

    def __init__(self) -> None:
        self.sent: list[int] = []

    def attempt_began(self, attempt: CallAttempt) -> None:
        pass

    def attempt_ended(self, attempt: CallAttempt) -> None:
        self.sent.append(attempt.sent)
