"""A server that asks its clients for certificates, and a handler that finds out who calls.

    python mutual_tls.py ca.pem server.pem server.key client.pem client.key

Both certificates are signed by the authority; the server's is for localhost. docs/tls.md says how to make the files."""

from __future__ import annotations

import asyncio
import sys

import trunkcall
from example.v1 import user_pb2 as pb
from trunkcall import ServerCall, StatusError

SERVICE = "/trunkcall.example.v1.UserService/"
get_user = trunkcall.unary(SERVICE + "GetUser", pb.GetUserRequest, pb.GetUserResponse)


async def answer(request: pb.GetUserRequest, call: ServerCall) -> pb.GetUserResponse:
    certificate = call.tls.getpeercert()  # verified by the handshake
    subject = dict(pair for (pair,) in certificate["subject"])
    return pb.GetUserResponse(name=f"hello {subject['commonName']}")


async def main(ca: str, server_cert: str, server_key: str, client_cert: str, client_key: str) -> None:
    server = trunkcall.Server(
        tls=trunkcall.tls_files(cert=server_cert, key=server_key, ca=ca),  # the authority of its clients
    )
    server.register(get_user.handler(answer))
    await server.listen("127.0.0.1:0")
    target = f"localhost:{server.port}"

    known = trunkcall.tls_files(cert=client_cert, key=client_key, ca=ca)  # the authority of its servers
    async with trunkcall.Client(target, tls=known) as client:
        print((await client.call(get_user, pb.GetUserRequest(), timeout=30)).name)

    async with trunkcall.Client(target, tls=trunkcall.tls_files(ca=ca)) as client:
        try:
            await client.call(get_user, pb.GetUserRequest(), timeout=30)
        except StatusError as error:
            print("without a certificate:", error.code.name)
    await server.stop(grace=5)


if __name__ == "__main__":
    if len(sys.argv) != 6:
        sys.exit("usage: mutual_tls.py ca.pem server.pem server.key client.pem client.key")
    asyncio.run(main(*sys.argv[1:]))
