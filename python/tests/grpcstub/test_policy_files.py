"""What a policy file says holds for calls by generated stubs."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path
from typing import Any

import grpc

from example.v1 import user_pb2 as pb
from example.v1 import user_pb2_grpc as stubs
from tests.grpcstub.blockingkit import StubCase
from tests.grpcstub.kit import ID
from tests.grpcstub.test_aio import Case

SERVICE = "services:\n  trunkcall.example.v1.UserService:\n    methods:\n"
FILE = f"""policy: 1
{SERVICE}      GetUser:
        timeout: 1m
        idempotent: true
        retries:
          backoff: 1ms
        breaker:
          consecutive: 4
          codes: [UNAVAILABLE]
      ListUsers:
        timeout: 50ms
...
"""


class Failing(stubs.UserServiceServicer):
    """Of its unary calls each second fails, of all that ask for user 0; its streams never end."""

    def __init__(self) -> None:
        self.runs = 0

    async def GetUser(self, request: Any, context: Any) -> Any:
        self.runs += 1
        if self.runs % 2 or not request.user_id:
            await context.abort(grpc.StatusCode.UNAVAILABLE, "on purpose")
        return pb.GetUserResponse(email=str(context.time_remaining() is not None))

    async def ListUsers(self, request: Any, context: Any) -> Any:
        await asyncio.sleep(3600)
        yield pb.GetUserResponse()


def file(case: Any) -> Path:
    path = Path(case.enterContext(tempfile.TemporaryDirectory())) / "policy.yaml"
    path.write_text(FILE)
    return path


class Asynchronous(Case):
    async def test_a_file_holds(self) -> None:
        servicer = Failing()
        stub = await self.stub(servicer, policy_file=file(self))
        self.assertEqual((await stub.GetUser(ID(user_id=1))).email, "True")
        self.assertEqual(servicer.runs, 2)
        call = stub.GetUser(ID(user_id=2))
        self.assertIsNotNone(call.time_remaining())
        await call
        with self.assertRaises(grpc.aio.AioRpcError) as caught:
            async for _ in stub.ListUsers(pb.ListUsersRequest()):
                pass
        self.assertIs(caught.exception.code(), grpc.StatusCode.DEADLINE_EXCEEDED)
        for details in ("on purpose", "breaker of /trunkcall.example.v1.UserService/GetUser is open"):
            error = await self.fails(stub.GetUser(ID(user_id=0)), grpc.StatusCode.UNAVAILABLE)
            self.assertEqual(error.details(), details)
            await self.fails(stub.GetUser(ID(user_id=0)), grpc.StatusCode.UNAVAILABLE)


class Blocking(StubCase):
    def test_a_file_holds(self) -> None:
        servicer = Failing()
        stub = self.stub(servicer, policy_file=file(self))
        self.assertEqual(stub.GetUser(ID(user_id=1)).email, "True")
        self.assertEqual(servicer.runs, 2)
        self.assertEqual(stub.GetUser.future(ID(user_id=2)).result().email, "True")
        call = stub.ListUsers(pb.ListUsersRequest())
        with self.assertRaises(grpc.RpcError):
            list(call)
        self.assertIs(call.code(), grpc.StatusCode.DEADLINE_EXCEEDED)
