"""The example service on the code that the stock gRPC plugin generates; spec/proto/example/v1/user.proto has its rules.

Nothing in it knows of Trunkcall: the same class runs on grpc.aio.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any, NoReturn

import grpc
import grpc.aio

from example.v1 import user_pb2_grpc
from example.v1.user_pb2 import GetUserRequest, GetUserResponse, ImportUsersResponse, ListUsersRequest

from . import details

LAST_USER = 999_999_999

Context = grpc.aio.ServicerContext[Any, Any]


class Users(user_pb2_grpc.UserServiceServicer):
    async def GetUser(self, request: GetUserRequest, context: Context) -> GetUserResponse:
        return await user(request.user_id, context)

    async def ListUsers(self, request: ListUsersRequest, context: Context) -> AsyncIterator[GetUserResponse]:
        if request.count < 0:
            await invalid(context, "count", "must not be negative")
        for number in range(1, request.count + 1):
            yield await user(number, context)

    async def ImportUsers(
        self, request_iterator: AsyncIterator[GetUserResponse], context: Context
    ) -> ImportUsersResponse:
        count = 0
        async for _ in request_iterator:
            count += 1
        return ImportUsersResponse(count=count)

    async def WatchUsers(
        self, request_iterator: AsyncIterator[GetUserRequest], context: Context
    ) -> AsyncIterator[GetUserResponse]:
        async for request in request_iterator:
            yield await user(request.user_id, context)


async def user(number: int, context: Context) -> GetUserResponse:
    if number < 1:
        await invalid(context, "user_id", "must be at least 1")
    if number > LAST_USER:
        await not_found(context, number)
    name = f"user-{number}"
    return GetUserResponse(name=name, email=f"{name}@example.com")


async def invalid(context: Context, field: str, rule: str) -> NoReturn:
    request = details.detail("BadRequest")
    request.field_violations.add(field=field, description=rule)
    await fail(context, grpc.StatusCode.INVALID_ARGUMENT, f"{field} {rule}", request)


async def not_found(context: Context, number: int) -> NoReturn:
    resource = details.detail("ResourceInfo")
    resource.resource_type, resource.resource_name = "user", str(number)
    resource.description = f"ids end at {LAST_USER}"
    await fail(context, grpc.StatusCode.NOT_FOUND, f"there is no user {number}", resource)


async def fail(context: Context, code: grpc.StatusCode, message: str, detail: Any) -> NoReturn:
    status = details.status(code.value[0], message, detail)
    await context.abort(code, message, trailing_metadata=(("grpc-status-details-bin", status),))
