"""A token that a client's interceptor sends along and a server's admission looks at, before anything else is done."""

from __future__ import annotations

import asyncio
import hmac
from typing import Any

import trunkcall
from example.v1 import user_pb2 as pb
from trunkcall import Admission, Arrival, Call, Code, Next, ServerCall, StatusError

SERVICE = pb.DESCRIPTOR.services_by_name["UserService"]
get_user = trunkcall.service_methods(SERVICE)["GetUser"]
TOKENS = {"ada's secret": "ada"}  # a program verifies a signed token, or asks somebody


async def admit(arrival: Arrival) -> Admission:
    given = str(dict(arrival.metadata).get("authorization", ""))
    for token, user in TOKENS.items():
        if hmac.compare_digest(given.encode(), f"Bearer {token}".encode()):
            return Admission(principal=user)
    raise StatusError(Code.UNAUTHENTICATED, "no token that is known here")


def with_token(token: str) -> trunkcall.Interceptor:
    async def intercept(call: Call, proceed: Next) -> Any:
        call.metadata.append(("authorization", f"Bearer {token}"))
        return await proceed(call)

    return intercept


async def answer(request: Any, call: ServerCall) -> Any:
    return pb.GetUserResponse(name=f"user-{request.user_id} for {call.principal}")


async def main() -> None:
    server = trunkcall.Server(admission=admit)  # a program has tls= as well: tokens are for nobody else to read
    server.register(trunkcall.Handler(get_user, answer))
    address = await server.listen("127.0.0.1:0")
    for token in ("ada's secret", "a guess"):
        async with trunkcall.Client(address, interceptors=[with_token(token)]) as client:
            users = trunkcall.service_client(SERVICE, client)
            try:
                print((await users.get_user(pb.GetUserRequest(user_id=7), timeout=5)).name)
            except StatusError as error:
                print(error)
    await server.stop(grace=5)


asyncio.run(main())
