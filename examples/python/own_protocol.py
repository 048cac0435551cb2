"""A protocol of one's own on the server's port: a call is a line, "/package.Service/Method {JSON}", its answers too."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

from google.protobuf import json_format

import trunkcall
from example.v1 import user_pb2 as pb
from trunkcall import Calls, Code, Exchange, PortProtocol, ServerCall, StatusError

SERVICE = pb.DESCRIPTOR.services_by_name["UserService"]
METHODS = {method.name: method for method in trunkcall.service_methods(SERVICE).values()}


class Line(Exchange):
    """One call: a line came, and each answer message becomes one."""

    def __init__(self, line: bytes, writer: asyncio.StreamWriter) -> None:
        name, _, text = line.decode("utf-8", "replace").strip().partition(" ")
        self.method = name
        self.peer = str(writer.get_extra_info("peername"))
        self.timeout = 10.0
        self.requests = [text]
        self.writer = writer

    async def receive(self) -> bytes | None:
        if not self.requests:
            return None
        message = METHODS[self.method].request()
        try:
            json_format.Parse(self.requests.pop(), message)
        except json_format.ParseError as error:
            raise StatusError(Code.INVALID_ARGUMENT, f"not JSON of {message.DESCRIPTOR.name}: {error}") from None
        return bytes(message.SerializeToString())

    async def send(self, message: bytes) -> None:
        answer = METHODS[self.method].response.FromString(message)
        self.writer.write(json_format.MessageToJson(answer, indent=None).encode() + b"\n")
        await self.writer.drain()


class Lines(PortProtocol):
    name = "lines"

    def recognize(self, first: bytes) -> bool | None:
        return first.startswith(b"/")

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, calls: Calls) -> None:
        while line := await reader.readline():
            ending = await calls.serve(Line(line, writer))
            status = ending.status
            writer.write(json.dumps({"code": status.code.name, "message": status.message}).encode() + b"\n")
            await writer.drain()


async def get_user(request: pb.GetUserRequest, call: ServerCall) -> pb.GetUserResponse:
    if request.user_id < 1:
        raise StatusError(Code.NOT_FOUND, "ids begin at 1")
    return pb.GetUserResponse(name=f"user-{request.user_id}")


async def list_users(request: pb.ListUsersRequest, call: ServerCall) -> AsyncIterator[pb.GetUserResponse]:
    for number in range(request.count):
        yield pb.GetUserResponse(name=f"user-{number}")


async def main() -> None:
    server = trunkcall.Server(protocols=[Lines()])
    handlers: dict[str, Any] = {"GetUser": get_user, "ListUsers": list_users}
    methods = trunkcall.service_methods(SERVICE)
    server.register(*(trunkcall.Handler(methods[name], function) for name, function in handlers.items()))
    host, port = (await server.listen("127.0.0.1:0")).rsplit(":", 1)
    reader, writer = await asyncio.open_connection(host, int(port))
    for name, text in (("GetUser", '{"userId": 7}'), ("ListUsers", '{"count": 2}'), ("GetUser", "{}")):
        writer.write(f"/{SERVICE.full_name}/{name} {text}\n".encode())
    writer.write_eof()
    print((await reader.read()).decode(), end="")
    writer.close()
    await server.stop(grace=5)


asyncio.run(main())
