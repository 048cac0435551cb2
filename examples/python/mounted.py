"""An application of FastAPI beside a service, on one port: paths that are no service's are the application's."""

from __future__ import annotations

import asyncio
import contextlib
import urllib.request
from collections.abc import AsyncIterator
from typing import Any

import fastapi

import trunkcall
from example.v1 import user_pb2 as pb
from trunkcall import ServerCall

SERVICE = pb.DESCRIPTOR.services_by_name["UserService"]
get_user = trunkcall.service_methods(SERVICE)["GetUser"]


async def answer(request: Any, call: ServerCall) -> Any:
    return pb.GetUserResponse(name=f"user-{request.user_id}")


@contextlib.asynccontextmanager
async def lifespan(app: fastapi.FastAPI) -> AsyncIterator[None]:
    print("the application starts")
    yield
    print("the application ends")


app = fastapi.FastAPI(lifespan=lifespan)


@app.get("/users/{number}")
async def page(number: int) -> dict[str, str]:
    return {"title": f"the page of user {number}"}


def fetch(url: str) -> str:
    with urllib.request.urlopen(url, timeout=5) as got:
        return str(got.read().decode())


async def main() -> None:
    server = trunkcall.Server(asgi=app)  # wsgi= for one of Flask or Django
    server.register(trunkcall.Handler(get_user, answer))
    address = await server.listen("127.0.0.1:0")
    print(await asyncio.to_thread(fetch, f"http://{address}/users/7"))
    async with trunkcall.Client(address) as client:
        users = trunkcall.service_client(SERVICE, client)
        print((await users.get_user(pb.GetUserRequest(user_id=7), timeout=5)).name)
    await server.stop(grace=5)


if __name__ == "__main__":
    asyncio.run(main())
