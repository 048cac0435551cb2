"""Messages in Protobuf's JSON form, on one line, in and out."""

from __future__ import annotations

import base64
import json
from typing import Any

from google.protobuf import any_pb2, descriptor_pool, json_format
from google.protobuf.message import DecodeError, Message

from . import details

JSON = dict[str, Any]


def to_json(message: Message) -> str:
    """The message on one line; fields in the order of their numbers, keys of maps in their own."""
    return tight(as_object(message))


def tight(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def as_object(message: Message) -> JSON:
    found: JSON = json_format.MessageToDict(message)
    return in_order(message.DESCRIPTOR, found)


def in_order(descriptor: Any, value: JSON) -> JSON:
    """The same with the keys of all maps sorted; the library has them in no order."""
    for field in descriptor.fields:
        if field.json_name not in value:
            continue
        own = value[field.json_name]
        if is_map(field):
            value[field.json_name] = dict(sorted(own.items()))
        elif field.message_type is not None and not field.message_type.full_name.startswith("google.protobuf."):
            for one in own if field.is_repeated else [own]:
                in_order(field.message_type, one)
    return value


def is_map(field: Any) -> bool:
    return bool(field.message_type is not None and field.message_type.GetOptions().map_entry)


def from_json(text: str, message: Message) -> None:
    """Fills in a message. Raises ValueError that says what is wrong, on one line."""
    try:
        json_format.Parse(text, message)
    except json_format.ParseError as error:
        raise ValueError(f"the JSON is no {message.DESCRIPTOR.full_name}: {' '.join(str(error).split())}") from None


def detail_object(type_url: str, value: bytes) -> JSON:
    """A detail in the JSON form of google.protobuf.Any.

    A type that is not known here, or bytes that are not of the type that they claim, are shown as base64.
    """
    for pool in (details.POOL, descriptor_pool.Default()):
        packed = any_pb2.Any(type_url=type_url, value=value)
        try:
            descriptor = pool.FindMessageTypeByName(type_url.rpartition("/")[2])
            found: JSON = json_format.MessageToDict(packed, descriptor_pool=pool)
        except (TypeError, KeyError, DecodeError, ValueError):
            continue
        return in_order(descriptor, found)
    return {"@type": type_url, "value": base64.b64encode(value).decode("ascii")}
