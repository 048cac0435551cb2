"""Services as Protobuf describes them: their methods, what serves them, and clients with a function for each method.

service = user_pb2.DESCRIPTOR.services_by_name["UserService"]
server.register_service(service, Users())
users = trunkcall.service_client(service, client)
user = await users.get_user(user_pb2.GetUserRequest(user_id=7), timeout=1.0)
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Protocol

from google.protobuf import message_factory
from google.protobuf.descriptor import ServiceDescriptor

from .caller import CallOptions
from .method import BidiMethod, ClientStreamMethod, Handler, Kind, Method, ServerStreamMethod, UnaryMethod

_CLASSES: dict[tuple[bool, bool], type[Method[Any, Any]]] = {
    (False, False): UnaryMethod,
    (True, False): ClientStreamMethod,
    (False, True): ServerStreamMethod,
    (True, True): BidiMethod,
}


def service_methods(service: ServiceDescriptor) -> dict[str, Method[Any, Any]]:
    """The methods of a service, by the names that the .proto file gives them, with the messages of generated code.
    Raises TypeError for what is no descriptor."""
    if not isinstance(service, ServiceDescriptor):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f'a service is a descriptor, as DESCRIPTOR.services_by_name["Name"] gives it, not {service!r}')
    found: dict[str, Method[Any, Any]] = {}
    for name, described in service.methods_by_name.items():
        kind = _CLASSES[bool(described.client_streaming), bool(described.server_streaming)]
        request = message_factory.GetMessageClass(described.input_type)
        response = message_factory.GetMessageClass(described.output_type)
        found[name] = kind(f"/{service.full_name}/{name}", request, response)
    return found


def snake_case(name: str) -> str:
    """GetUser as get_user, HTTPGet as http_get."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()


def service_handlers(service: ServiceDescriptor, implementation: object) -> Iterator[Handler]:
    """The handlers of a service: for each of its methods the function of `implementation` with that name, as GetUser or
    as get_user. Nothing else that `implementation` has is served. Raises ValueError if one is missing."""
    methods = service_methods(service)
    missing = [name for name in methods if _function(implementation, name) is None]
    if missing:
        kind = type(implementation).__name__
        raise ValueError(f"{kind} serves {service.full_name} and lacks {', '.join(map(snake_case, missing))}")
    for name, method in methods.items():
        yield Handler(method, _function(implementation, name))


def _function(implementation: object, name: str) -> Any:
    return getattr(implementation, name, None) or getattr(implementation, snake_case(name), None)


class ServiceCaller(Protocol):
    """A trunkcall.Caller or a blocking.Caller."""

    @property
    def call(self) -> Any:
        """Makes a unary or one-way call of a method."""

    @property
    def stream(self) -> Any:
        """Opens a stream of a method."""


class ServiceClient:
    """A service at its caller: a function for each method, as `get_user` or as `GetUser`. Those of unary methods return
    the message of the response, which is awaited unless the caller blocks; those of others open a ClientStream. They
    take the request, if the method takes exactly one, and what CallOptions has, by name: `timeout`, `metadata` and the
    rest."""

    def __init__(self, service: ServiceDescriptor, caller: ServiceCaller) -> None:
        self._name = service.full_name
        self._functions: dict[str, _Function] = {}
        for name, method in service_methods(service).items():
            self._functions[name] = self._functions[snake_case(name)] = _Function(caller, method)

    def __getattr__(self, name: str) -> Any:
        found = self.__dict__.get("_functions", {}).get(name)
        if found is None:
            raise AttributeError(f"service {self.__dict__.get('_name')} has no method {name}")
        return found

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._functions]

    def __repr__(self) -> str:
        return f"<client of {self._name}>"


class _Function:
    """One method of a service at its caller. `method` is what it calls."""

    def __init__(self, caller: ServiceCaller, method: Method[Any, Any]) -> None:
        self._caller = caller
        self.method = method

    def __call__(self, *request: Any, **options: Any) -> Any:
        method = self.method
        if len(request) != int(method.kind.takes_one):
            wanted = f"one {method.request.__name__}" if method.kind.takes_one else "no request, but its options"
            raise TypeError(f"{method.name} takes {wanted}")
        if method.kind is Kind.UNARY and isinstance(method, UnaryMethod):
            return self._caller.call(method, *request, **options)
        return self._caller.stream(method, request[0] if request else None, CallOptions(**options))

    def __repr__(self) -> str:
        return f"<{self.method!r} of a client>"


def service_client(service: ServiceDescriptor, caller: ServiceCaller) -> ServiceClient:
    """A client of a service, which calls through a Client, a Connection, or a caller of your own, of asyncio or of
    `trunkcall.blocking`."""
    return ServiceClient(service, caller)
