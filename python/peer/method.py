"""A method as its descriptor tells of it: all that a call needs when its types are known at run time only."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Callable, Sequence
from typing import Any

from google.protobuf import message_factory
from google.protobuf.descriptor import MethodDescriptor, ServiceDescriptor
from google.protobuf.message import Message

import trunkcall
from bench.v1 import bench_pb2
from example.v1 import user_pb2
from fault.v1 import fault_pb2

from .jsonform import from_json

SERVICES: dict[str, ServiceDescriptor] = {
    service.full_name: service
    for file in (user_pb2.DESCRIPTOR, bench_pb2.DESCRIPTOR, fault_pb2.DESCRIPTOR)
    for service in file.services_by_name.values()
}
KINDS = {
    (False, False): trunkcall.unary,
    (False, True): trunkcall.server_stream,
    (True, False): trunkcall.client_stream,
    (True, True): trunkcall.bidi_stream,
}
WORDS = {
    (False, False): "",
    (False, True): " (server-streaming)",
    (True, False): " (client-streaming)",
    (True, True): " (bidi-streaming)",
}

Take = Callable[[Message], None]
Options = dict[str, Any]


def list_methods() -> str:
    """The methods and their kinds, a line each."""
    return "".join(
        f"  {service.full_name}/{method.name}{WORDS[method.client_streaming, method.server_streaming]}\n"
        for service in SERVICES.values()
        for method in service.methods
    )


def find_method(name: str) -> Method:
    """Looks a method up among the services that are known. Raises Unsendable."""
    service_name, slash, short = name.removeprefix("/").partition("/")
    if not slash:
        raise Unsendable(trunkcall.Code.INVALID_ARGUMENT, f'method "{name}": want package.Service/Method')
    service = SERVICES.get(service_name)
    if service is None:
        text = f'method "{name}": there is no service {service_name} here; call --help lists what there is'
        raise Unsendable(trunkcall.Code.UNIMPLEMENTED, text)
    found = service.methods_by_name.get(short)
    if found is None:
        names = ", ".join(method.name for method in service.methods)
        raise Unsendable(trunkcall.Code.UNIMPLEMENTED, f'method "{name}": {service_name} has {names} only')
    return Method(f"/{service_name}/{short}", found)


class Unsendable(Exception):
    """Why a call cannot even be made: its method or its messages are not known here."""

    def __init__(self, code: trunkcall.Code, text: str) -> None:
        super().__init__(text)
        self.code = code


class Method:
    def __init__(self, name: str, descriptor: MethodDescriptor) -> None:
        self.name = name
        self.many_requests = descriptor.client_streaming
        self.many_answers = descriptor.server_streaming
        self.request: type[Message] = message_factory.GetMessageClass(descriptor.input_type)
        response: type[Message] = message_factory.GetMessageClass(descriptor.output_type)
        kind: Any = KINDS[self.many_requests, self.many_answers]
        self.typed: Any = kind(name, self.request, response)

    def parse_requests(self, text: str) -> list[Message]:
        """One message, or those of an array for a method that takes many. Raises Unsendable."""
        parts = self.split(text) if self.many_requests else [text]
        requests: list[Message] = []
        for number, part in enumerate(parts, 1):
            request = self.request()
            try:
                from_json(part, request)
            except ValueError as error:
                place = f"message {number} of {len(parts)}: " if self.many_requests else ""
                raise Unsendable(trunkcall.Code.INVALID_ARGUMENT, f"{place}{error}") from None
            requests.append(request)
        return requests

    def split(self, text: str) -> list[str]:
        wanted = f"{self.name} takes a JSON array of {self.request.DESCRIPTOR.full_name}"
        try:
            whole = json.loads(text)
        except json.JSONDecodeError as error:
            at = len(text[: error.pos].encode())
            raise Unsendable(trunkcall.Code.INVALID_ARGUMENT, f"{wanted}: at byte {at}: {error.msg}") from None
        if not isinstance(whole, list):
            raise Unsendable(trunkcall.Code.INVALID_ARGUMENT, f"{wanted}: this is none")
        return elements(text)

    async def invoke(self, client: trunkcall.Client, requests: Sequence[Message], take: Take, **options: Any) -> None:
        """Makes the call and hands each answer to `take`. Raises StatusError, and what `take` raises."""
        if not self.many_requests and not self.many_answers:
            take(await client.call(self.typed, requests[0], **options))
        elif not self.many_requests:
            await receive(client.open(self.typed, requests[0], **options), take)
        elif self.many_answers:
            await exchange(client.open(self.typed, **options), requests, take)
        else:
            stream: Any = client.open(self.typed, **options)
            await send_all(stream, requests)
            take(await stream.response())


def elements(array: str) -> list[str]:
    """The elements of a well-formed JSON array, each as it stands there."""
    decoder = json.JSONDecoder()
    found: list[str] = []
    rest = array.strip()[1:].lstrip()
    while rest != "]":
        _, end = decoder.raw_decode(rest)
        found.append(rest[:end])
        rest = rest[end:].lstrip().removeprefix(",").lstrip()
    return found


async def receive(stream: Any, take: Take) -> None:
    try:
        async for answer in stream:
            take(answer)
    finally:
        stream.cancel()


async def send_all(stream: Any, requests: Sequence[Message]) -> None:
    """Sends the requests, or those before the end of the call: how that ended is received."""
    for request in requests:
        if not await stream.send(request):
            return


async def exchange(stream: Any, requests: Sequence[Message], take: Take) -> None:
    """Sends and receives at once, as either may have to wait for the other."""

    async def send() -> None:
        try:
            await send_all(stream, requests)
            await stream.half_close()
        except trunkcall.StatusError:
            stream.cancel()  # the server waits for a message that cannot be sent
            raise

    sending = asyncio.create_task(send())
    try:
        await receive(stream, take)
    except trunkcall.StatusError as received:
        # A message that could not be sent is why the call failed.
        await asyncio.wait([sending])
        raise sending.exception() or received from None
    finally:
        sending.cancel()
        with contextlib.suppress(asyncio.CancelledError, trunkcall.StatusError):
            await sending
