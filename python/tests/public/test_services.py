"""Services as Protobuf describes them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from example.v1 import user_pb2 as pb
from trunkcall import PROTOBUF, Code, Delivery, Kind, Server, ServerCall, StatusError, service_client, service_methods
from trunkcall.services import snake_case

from .kit import PATIENCE, Case

SERVICE = pb.DESCRIPTOR.services_by_name["UserService"]


class Users:
    """Serves the example service, and has more than that."""

    async def get_user(self, request: pb.GetUserRequest, call: ServerCall) -> pb.GetUserResponse:
        if request.user_id < 1:
            raise StatusError(Code.INVALID_ARGUMENT, "ids begin at 1")
        return pb.GetUserResponse(name=f"user-{request.user_id}")

    async def list_users(self, request: pb.ListUsersRequest, call: ServerCall) -> AsyncIterator[pb.GetUserResponse]:
        for number in range(1, request.count + 1):
            yield pb.GetUserResponse(name=f"user-{number}")

    async def ImportUsers(self, users: AsyncIterator[Any], call: ServerCall) -> pb.ImportUsersResponse:
        return pb.ImportUsersResponse(count=len([user async for user in users]))

    async def watch_users(self, users: AsyncIterator[Any], call: ServerCall) -> AsyncIterator[pb.GetUserResponse]:
        async for user in users:
            yield pb.GetUserResponse(name=f"user-{user.user_id}")

    async def close(self, request: Any, call: ServerCall) -> None:
        raise AssertionError("no method of the service")


class Services(Case):
    async def test_a_service_is_served_and_called_by_its_descriptor(self) -> None:
        server, address = await self.serve()
        server.register_service(SERVICE, Users())
        users = service_client(SERVICE, self.client(address, codec=PROTOBUF))
        user = await users.get_user(pb.GetUserRequest(user_id=7), timeout=PATIENCE)
        self.assertEqual(user.name, "user-7")
        self.assertEqual((await users.GetUser(pb.GetUserRequest(user_id=8))).name, "user-8")
        await self.fails(users.get_user(pb.GetUserRequest()), Code.INVALID_ARGUMENT, Delivery.EXECUTED)
        names = [user.name async for user in users.list_users(pb.ListUsersRequest(count=2), timeout=PATIENCE)]
        self.assertEqual(names, ["user-1", "user-2"])
        async with users.import_users() as stream:
            await stream.send(pb.GetUserResponse())
            self.assertEqual((await stream.response()).count, 1)
        async with users.watch_users(timeout=PATIENCE) as stream:
            await stream.send(pb.GetUserRequest(user_id=3))
            self.assertEqual((await stream.receive()).name, "user-3")

    async def test_nothing_but_what_the_descriptor_names_is_served(self) -> None:
        server = Server()
        server.register_service(SERVICE, Users())
        served = [method.name for method in server.methods]
        self.assertEqual(served, sorted(f"/{SERVICE.full_name}/{name}" for name in SERVICE.methods_by_name))

    async def test_what_is_wrong_is_named_where_it_is_given(self) -> None:
        class Few:
            async def get_user(self, request: pb.GetUserRequest, call: ServerCall) -> pb.GetUserResponse:
                return pb.GetUserResponse()

        lacks = "Few serves .*UserService and lacks list_users, import_users, watch_users"
        with self.assertRaisesRegex(ValueError, lacks):
            Server().register_service(SERVICE, Few())
        wrong: Any = pb
        with self.assertRaisesRegex(TypeError, "a service is a descriptor"):
            Server().register_service(wrong, Users())
        users = service_client(SERVICE, self.client("unix:/nowhere"))
        with self.assertRaisesRegex(AttributeError, "UserService has no method delete_user"):
            users.delete_user  # noqa: B018
        with self.assertRaisesRegex(TypeError, "GetUser takes one GetUserRequest"):
            users.get_user()
        with self.assertRaisesRegex(TypeError, "ImportUsers takes no request"):
            users.import_users(pb.GetUserResponse())

    def test_methods_have_the_kinds_and_messages_of_the_service(self) -> None:
        methods = service_methods(SERVICE)
        self.assertEqual({name: method.kind for name, method in methods.items()}, {
            "GetUser": Kind.UNARY,
            "ListUsers": Kind.SERVER_STREAM,
            "ImportUsers": Kind.CLIENT_STREAM,
            "WatchUsers": Kind.BIDI_STREAM,
        })  # fmt: skip
        self.assertIs(methods["GetUser"].request, pb.GetUserRequest)

    def test_names_in_the_style_of_python(self) -> None:
        names = [snake_case(name) for name in ("GetUser", "HTTPGet", "Get2Users", "get", "GetURL")]
        self.assertEqual(names, ["get_user", "http_get", "get2_users", "get", "get_url"])
