"""What Protobuf's registry knows of a method that is to be served."""

from __future__ import annotations

from typing import Any

from google.protobuf import descriptor_pool
from google.protobuf.descriptor_pb2 import MethodOptions
from google.protobuf.message_factory import GetMessageClass

from .method import Kind, Method


def check_described(method: Method[Any, Any]) -> None:
    """Compares a method with its service in the default descriptor pool. One whose service is not there, or whose
    messages are no messages of Protobuf, may be anything. Raises ValueError, which names what the .proto file says."""
    service_name, _, name = method.name[1:].rpartition("/")
    given = (_name(method.request), _name(method.response))
    if given == ("", ""):
        return  # raw bytes, as a proxy has them, or the functions of generated code
    try:
        service: Any = descriptor_pool.Default().FindServiceByName(service_name)
    except KeyError:
        return
    file = service.file.name
    found = service.methods_by_name.get(name)
    if found is None:
        known = ", ".join(service.methods_by_name)
        raise ValueError(f"service {service_name} of {file} has no method {name}, only {known}")
    want, kind = _KINDS[bool(found.client_streaming), bool(found.server_streaming)], method.kind
    if kind is not want and (kind, want) != (Kind.ONE_WAY, Kind.UNARY):
        raise ValueError(f"method {method.name} is {want.value} in {file}, not {kind.value}")
    for does, got, said in (("takes", given[0], found.input_type), ("returns", given[1], found.output_type)):
        if got not in ("", said.full_name):
            raise ValueError(f"method {method.name} {does} {said.full_name} in {file}, not {got}")


def is_described(service: str) -> bool:
    """Whether the default descriptor pool knows a service, by its name."""
    try:
        descriptor_pool.Default().FindServiceByName(service)
    except KeyError:
        return False
    return True


def described_messages(name: str) -> tuple[type[Any], type[Any]]:
    """The classes of a method's request and response, by what the default descriptor pool knows of it; `object` for
    both if it knows nothing."""
    service, _, method = name.strip("/").rpartition("/")
    try:
        found: Any = descriptor_pool.Default().FindServiceByName(service).methods_by_name[method]
    except KeyError:
        return object, object
    return GetMessageClass(found.input_type), GetMessageClass(found.output_type)


def is_safe(method: Method[Any, Any]) -> bool:
    """Whether a method's service says, where its messages are described, that it has no side effects."""
    described: Any = getattr(method.request, "DESCRIPTOR", None)
    if described is None:
        return False
    service, _, name = method.name[1:].rpartition("/")
    try:
        found: Any = described.file.pool.FindServiceByName(service)
        level = found.methods_by_name[name].GetOptions().idempotency_level
    except KeyError:
        return False
    return bool(level == MethodOptions.NO_SIDE_EFFECTS)


def _name(kind: type[Any]) -> str:
    """The full name of a type of messages; "" for what is none."""
    found = getattr(kind, "DESCRIPTOR", None)
    return str(found.full_name) if found is not None else ""


_KINDS = {
    (False, False): Kind.UNARY,
    (True, False): Kind.CLIENT_STREAM,
    (False, True): Kind.SERVER_STREAM,
    (True, True): Kind.BIDI_STREAM,
}
