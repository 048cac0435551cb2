"""A server that is published in a registry, and a client that finds all servers there: they come and go, in whatever
language they are, and no call fails. `make discovery` has three of each (examples/discovery).

    python discovery.py serve REGISTRY NAME [ADDRESS]    answers with its name, until SIGTERM
    python discovery.py call REGISTRY                    calls until SIGTERM, then tells who answered

examples/README.md says what it needs, and etcd, ZooKeeper and Consul an extra of `trunkcall` each."""

from __future__ import annotations

import asyncio
import logging
import signal
import sys
from collections import Counter

import trunkcall
from example.v1 import user_pb2 as pb
from trunkcall import StatusError, registry

SERVICE = "trunkcall.example.v1.UserService"

get_user = trunkcall.unary(f"/{SERVICE}/GetUser", pb.GetUserRequest, pb.GetUserResponse)


async def serve(name: str, called: str, address: str = "127.0.0.1:0") -> None:
    """Publishes a server in the registry of that name."""
    answered = 0

    async def user(request: pb.GetUserRequest, call: trunkcall.ServerCall) -> pb.GetUserResponse:
        nonlocal answered
        await asyncio.sleep(0.02)  # what a database would take
        answered += 1
        return pb.GetUserResponse(name=called)

    async def say() -> None:
        await registrar.published()
        print(called, "serves", *server.addresses, flush=True)

    store = registry.open_store(name)
    registrar = registry.Registrar(store, zone="here", version="1.4.2")
    # With the delay it serves on until clients have heard that it is withdrawn.
    server = trunkcall.Server(registrar=registrar, drain_delay=1)
    server.register(get_user.handler(user))
    saying = asyncio.create_task(say())
    await server.serve(address)  # until SIGTERM or Ctrl-C: then it is withdrawn, and drained
    saying.cancel()
    print(called, "answered", answered, "calls", flush=True)


async def call(name: str) -> int:
    """Calls, four at a time, whatever the registry of that name has. The exit status."""
    stopping = asyncio.Event()
    for sign in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(sign, stopping.set)
    answers: Counter[str] = Counter()
    failed = 0

    async def get(client: trunkcall.Client, wait_for_ready: bool = False) -> None:
        user = await client.call(get_user, pb.GetUserRequest(user_id=7), wait_for_ready=wait_for_ready)
        answers[user.name] += 1
        if answers[user.name] == 1:
            print("found", user.name, flush=True)

    async def get_all(client: trunkcall.Client) -> None:
        nonlocal failed
        while not stopping.is_set():
            try:
                await get(client)
            except StatusError as error:
                failed += 1
                print("failed:", error, file=sys.stderr)
                await asyncio.sleep(0.1)  # whoever calls again at once keeps busy what is in trouble

    source = registry.open_registry(name)
    resolvers = {"registry": registry.resolver(source)}
    async with trunkcall.Client(f"registry:{SERVICE}", resolvers=resolvers, timeout=10) as client:
        finding = asyncio.ensure_future(get(client, wait_for_ready=True))  # until a server is found
        waiting = asyncio.ensure_future(stopping.wait())
        await asyncio.wait((finding, waiting), return_when=asyncio.FIRST_COMPLETED)
        waiting.cancel()
        if finding.done():
            finding.result()
            await asyncio.gather(*(get_all(client) for _ in range(4)))
        else:
            finding.cancel()
            await asyncio.wait((finding,))
    for server, calls in sorted(answers.items()):
        print(server, "answered", calls, "calls")
    print(failed, "calls failed", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO)
    try:
        match sys.argv[1:]:
            case ["serve", name, called, *rest] if len(rest) <= 1:
                asyncio.run(serve(name, called, *rest))
            case ["call", name]:
                sys.exit(asyncio.run(call(name)))
            case _:
                sys.exit(
                    "usage: discovery.py serve REGISTRY NAME [ADDRESS] | call REGISTRY, such as file:/run/trunkcall"
                )
    except (OSError, ValueError, StatusError) as error:
        sys.exit(str(error))
