"""A client of gRPC, which knows nothing of Trunkcall. It calls a server of Trunkcall: that serves both on one port.

make build
build/peer-python serve --listen 127.0.0.1:4000
PYTHONPATH=python/gen build/python/bin/python examples/python/grpc_client.py 127.0.0.1:4000
"""

from __future__ import annotations

import sys

import grpc

from example.v1 import user_pb2 as pb
from example.v1 import user_pb2_grpc as pb_grpc


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit("usage: grpc_client.py HOST:PORT")
    with grpc.insecure_channel(sys.argv[1]) as channel:
        users = pb_grpc.UserServiceStub(channel)
        found = users.GetUser(pb.GetUserRequest(user_id=7), timeout=5)
        print("found", found.name)
        try:
            users.GetUser(pb.GetUserRequest(user_id=1_000_000_000), timeout=5)
        except grpc.RpcError as error:
            print(f"failed with {error.code().name}")


main()
