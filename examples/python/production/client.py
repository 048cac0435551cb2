"""A client as one would write it: TLS, a token, deadlines, repeats under a budget, a stream, error details.

    TOKEN=secret python client.py cert.pem TARGET

examples/README.md says what it needs. TARGET may name several servers: a:4000,b:4000 or dns:api:4000."""

from __future__ import annotations

import asyncio
import os
import sys

from google.rpc import error_details_pb2

import trunkcall
from example.v1 import user_pb2 as pb
from trunkcall import Policy, StatusError

SERVICE = "/trunkcall.example.v1.UserService/"

get_user = trunkcall.unary(SERVICE + "GetUser", pb.GetUserRequest, pb.GetUserResponse)
list_users = trunkcall.server_stream(SERVICE + "ListUsers", pb.ListUsersRequest, pb.GetUserResponse)


async def with_token(call: trunkcall.Call, proceed: trunkcall.Next) -> object:
    call.metadata.append(("authorization", f"Bearer {os.environ['TOKEN']}"))
    return await proceed(call)


async def main(authority: str, target: str) -> None:
    client = trunkcall.Client(
        target,
        tls=trunkcall.tls_files(ca=authority),
        interceptors=[with_token],
        timeout=5,  # of unary calls that name none
        policies=[Policy(SERVICE + "GetUser", wait_for_ready=True)],
    )
    async with client:
        print((await client.call(get_user, pb.GetUserRequest(user_id=7))).name)
        async with client.open(list_users, pb.ListUsersRequest(count=3), timeout=10) as listed:
            print("listed", len([user async for user in listed]))
        try:
            await client.call(get_user, pb.GetUserRequest(user_id=0))
        except StatusError as error:
            bad = error.detail(error_details_pb2.BadRequest)
            print(error, *(violation.field for violation in (bad.field_violations if bad else ())))


if __name__ == "__main__":
    if len(sys.argv) != 3 or not os.environ.get("TOKEN"):
        sys.exit("usage: TOKEN=secret client.py cert.pem TARGET")
    try:
        asyncio.run(main(*sys.argv[1:]))
    except StatusError as error:
        sys.exit(str(error))
