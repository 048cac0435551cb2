from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class PublishRequest(_message.Message):
    __slots__ = ("records",)
    RECORDS_FIELD_NUMBER: _ClassVar[int]
    records: _containers.RepeatedScalarFieldContainer[bytes]
    def __init__(self, records: _Optional[_Iterable[bytes]] = ...) -> None: ...

class PublishAnswer(_message.Message):
    __slots__ = ("lease_ms",)
    LEASE_MS_FIELD_NUMBER: _ClassVar[int]
    lease_ms: int
    def __init__(self, lease_ms: _Optional[int] = ...) -> None: ...

class WatchRequest(_message.Message):
    __slots__ = ("service",)
    SERVICE_FIELD_NUMBER: _ClassVar[int]
    service: str
    def __init__(self, service: _Optional[str] = ...) -> None: ...

class WatchAnswer(_message.Message):
    __slots__ = ("kind", "came", "went", "more")
    class Kind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        KIND_CHANGE: _ClassVar[WatchAnswer.Kind]
        KIND_ALL: _ClassVar[WatchAnswer.Kind]
        KIND_PARTIAL: _ClassVar[WatchAnswer.Kind]
    KIND_CHANGE: WatchAnswer.Kind
    KIND_ALL: WatchAnswer.Kind
    KIND_PARTIAL: WatchAnswer.Kind
    KIND_FIELD_NUMBER: _ClassVar[int]
    CAME_FIELD_NUMBER: _ClassVar[int]
    WENT_FIELD_NUMBER: _ClassVar[int]
    MORE_FIELD_NUMBER: _ClassVar[int]
    kind: WatchAnswer.Kind
    came: _containers.RepeatedCompositeFieldContainer[Entry]
    went: _containers.RepeatedScalarFieldContainer[str]
    more: bool
    def __init__(self, kind: _Optional[_Union[WatchAnswer.Kind, str]] = ..., came: _Optional[_Iterable[_Union[Entry, _Mapping]]] = ..., went: _Optional[_Iterable[str]] = ..., more: _Optional[bool] = ...) -> None: ...

class Entry(_message.Message):
    __slots__ = ("id", "record")
    ID_FIELD_NUMBER: _ClassVar[int]
    RECORD_FIELD_NUMBER: _ClassVar[int]
    id: str
    record: bytes
    def __init__(self, id: _Optional[str] = ..., record: _Optional[bytes] = ...) -> None: ...
