"""A client whose policy file, the program's argument, has it retry."""

from __future__ import annotations

import asyncio
import sys
from typing import Any

import trunkcall
from example.v1 import user_pb2 as pb
from trunkcall import Code, ServerCall, StatusError

SERVICE = pb.DESCRIPTOR.services_by_name["UserService"]
get_user = trunkcall.service_methods(SERVICE)["GetUser"]


async def main(file: str) -> None:
    runs = 0

    async def answer(request: Any, call: ServerCall) -> Any:
        nonlocal runs
        runs += 1
        if runs < 3:
            raise StatusError(Code.UNAVAILABLE, "not yet")
        return pb.GetUserResponse(name="Ada")

    async with trunkcall.Server() as server:
        server.register(trunkcall.Handler(get_user, answer))
        address = await server.listen("127.0.0.1:0")
        async with trunkcall.Client(address, policy_file=file) as client:  # ValueError tells the lines at fault
            user = await client.call(get_user, pb.GetUserRequest(user_id=7))
        print(f"{user.name} after {runs} attempts")


if len(sys.argv) != 2:
    sys.exit("want a policy file, such as ../go/policies/policy.yaml")
asyncio.run(main(sys.argv[1]))
