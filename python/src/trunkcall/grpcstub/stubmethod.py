"""What stubs say of a method and of a single call, as Trunkcall has it. The same for asyncio and for threads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import grpc

from trunkcall.codec import PROTOBUF
from trunkcall.compression import GZIP, Compressions
from trunkcall.method import Binding, Method

Function = Callable[[Any], Any]


def same(message: Any) -> Any:
    return message


class StubMethod:
    """One method of a stub. `method` is what is called."""

    def __init__(
        self,
        kind: type[Method[Any, Any]],
        name: str,
        request_serializer: Function | None = None,
        response_deserializer: Function | None = None,
        _registered_method: bool | None = False,
    ) -> None:
        """Takes what generated code gives to a channel."""
        functions = Binding(request_serializer or same, same, same, response_deserializer or same)
        self.method: Any = kind(name, object, object, functions)
        self.method.codec = PROTOBUF


def refuse_credentials(credentials: object) -> None:
    """Raises ValueError for credentials of a single call: what they would add cannot be asked of them."""
    if credentials is not None:
        raise ValueError(
            "credentials of single calls are not supported: put a token into the call's metadata, "
            "metadata=[('authorization', 'Bearer …')], or have an interceptor of the client add it to all calls"
        )


def compression_of(given: grpc.Compression | None) -> Compressions | None:
    """What a call compresses its requests with; None: as its client does, which is what holds for Deflate, too."""
    if given is None or given is grpc.Compression.Deflate:
        return None
    return GZIP if given is grpc.Compression.Gzip else ()
