from google.protobuf import empty_pb2 as _empty_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class When(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    AFTER_ALL: _ClassVar[When]
    AFTER_EACH: _ClassVar[When]
    AT_ONCE: _ClassVar[When]
    UNREAD: _ClassVar[When]

class Until(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    NOW: _ClassVar[Until]
    STARTED: _ClassVar[Until]
    ENDED: _ClassVar[Until]

class End(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    BY_ITSELF: _ClassVar[End]
    CANCELLED: _ClassVar[End]
    DEADLINE: _ClassVar[End]
AFTER_ALL: When
AFTER_EACH: When
AT_ONCE: When
UNREAD: When
NOW: Until
STARTED: Until
ENDED: Until
BY_ITSELF: End
CANCELLED: End
DEADLINE: End

class Request(_message.Message):
    __slots__ = ("plan", "data")
    PLAN_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    plan: Plan
    data: bytes
    def __init__(self, plan: _Optional[_Union[Plan, _Mapping]] = ..., data: _Optional[bytes] = ...) -> None: ...

class Plan(_message.Message):
    __slots__ = ("id", "onward", "header", "trailer", "header_early", "when", "answers", "noise", "bare", "wait_ms", "until_ended", "panic", "failure")
    ID_FIELD_NUMBER: _ClassVar[int]
    ONWARD_FIELD_NUMBER: _ClassVar[int]
    HEADER_FIELD_NUMBER: _ClassVar[int]
    TRAILER_FIELD_NUMBER: _ClassVar[int]
    HEADER_EARLY_FIELD_NUMBER: _ClassVar[int]
    WHEN_FIELD_NUMBER: _ClassVar[int]
    ANSWERS_FIELD_NUMBER: _ClassVar[int]
    NOISE_FIELD_NUMBER: _ClassVar[int]
    BARE_FIELD_NUMBER: _ClassVar[int]
    WAIT_MS_FIELD_NUMBER: _ClassVar[int]
    UNTIL_ENDED_FIELD_NUMBER: _ClassVar[int]
    PANIC_FIELD_NUMBER: _ClassVar[int]
    FAILURE_FIELD_NUMBER: _ClassVar[int]
    id: str
    onward: Onward
    header: _containers.RepeatedCompositeFieldContainer[Entry]
    trailer: _containers.RepeatedCompositeFieldContainer[Entry]
    header_early: bool
    when: When
    answers: _containers.RepeatedScalarFieldContainer[int]
    noise: bool
    bare: bool
    wait_ms: int
    until_ended: bool
    panic: str
    failure: Failure
    def __init__(self, id: _Optional[str] = ..., onward: _Optional[_Union[Onward, _Mapping]] = ..., header: _Optional[_Iterable[_Union[Entry, _Mapping]]] = ..., trailer: _Optional[_Iterable[_Union[Entry, _Mapping]]] = ..., header_early: _Optional[bool] = ..., when: _Optional[_Union[When, str]] = ..., answers: _Optional[_Iterable[int]] = ..., noise: _Optional[bool] = ..., bare: _Optional[bool] = ..., wait_ms: _Optional[int] = ..., until_ended: _Optional[bool] = ..., panic: _Optional[str] = ..., failure: _Optional[_Union[Failure, _Mapping]] = ...) -> None: ...

class Entry(_message.Message):
    __slots__ = ("key", "value")
    KEY_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    key: str
    value: bytes
    def __init__(self, key: _Optional[str] = ..., value: _Optional[bytes] = ...) -> None: ...

class Failure(_message.Message):
    __slots__ = ("code", "message", "details")
    CODE_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    DETAILS_FIELD_NUMBER: _ClassVar[int]
    code: int
    message: str
    details: _containers.RepeatedCompositeFieldContainer[Detail]
    def __init__(self, code: _Optional[int] = ..., message: _Optional[str] = ..., details: _Optional[_Iterable[_Union[Detail, _Mapping]]] = ...) -> None: ...

class Detail(_message.Message):
    __slots__ = ("type_url", "value")
    TYPE_URL_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    type_url: str
    value: bytes
    def __init__(self, type_url: _Optional[str] = ..., value: _Optional[bytes] = ...) -> None: ...

class Onward(_message.Message):
    __slots__ = ("target", "method", "metadata", "requests")
    TARGET_FIELD_NUMBER: _ClassVar[int]
    METHOD_FIELD_NUMBER: _ClassVar[int]
    METADATA_FIELD_NUMBER: _ClassVar[int]
    REQUESTS_FIELD_NUMBER: _ClassVar[int]
    target: str
    method: str
    metadata: _containers.RepeatedCompositeFieldContainer[Entry]
    requests: _containers.RepeatedCompositeFieldContainer[Request]
    def __init__(self, target: _Optional[str] = ..., method: _Optional[str] = ..., metadata: _Optional[_Iterable[_Union[Entry, _Mapping]]] = ..., requests: _Optional[_Iterable[_Union[Request, _Mapping]]] = ...) -> None: ...

class Outcome(_message.Message):
    __slots__ = ("code", "message", "details", "delivery", "header", "trailer", "answers")
    CODE_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    DETAILS_FIELD_NUMBER: _ClassVar[int]
    DELIVERY_FIELD_NUMBER: _ClassVar[int]
    HEADER_FIELD_NUMBER: _ClassVar[int]
    TRAILER_FIELD_NUMBER: _ClassVar[int]
    ANSWERS_FIELD_NUMBER: _ClassVar[int]
    code: int
    message: str
    details: _containers.RepeatedCompositeFieldContainer[Detail]
    delivery: str
    header: _containers.RepeatedCompositeFieldContainer[Entry]
    trailer: _containers.RepeatedCompositeFieldContainer[Entry]
    answers: _containers.RepeatedCompositeFieldContainer[Answer]
    def __init__(self, code: _Optional[int] = ..., message: _Optional[str] = ..., details: _Optional[_Iterable[_Union[Detail, _Mapping]]] = ..., delivery: _Optional[str] = ..., header: _Optional[_Iterable[_Union[Entry, _Mapping]]] = ..., trailer: _Optional[_Iterable[_Union[Entry, _Mapping]]] = ..., answers: _Optional[_Iterable[_Union[Answer, _Mapping]]] = ...) -> None: ...

class Answer(_message.Message):
    __slots__ = ("data", "seen", "onward")
    DATA_FIELD_NUMBER: _ClassVar[int]
    SEEN_FIELD_NUMBER: _ClassVar[int]
    ONWARD_FIELD_NUMBER: _ClassVar[int]
    data: bytes
    seen: Seen
    onward: Outcome
    def __init__(self, data: _Optional[bytes] = ..., seen: _Optional[_Union[Seen, _Mapping]] = ..., onward: _Optional[_Union[Outcome, _Mapping]] = ...) -> None: ...

class Seen(_message.Message):
    __slots__ = ("metadata", "requests", "bytes", "digest", "left_ms")
    METADATA_FIELD_NUMBER: _ClassVar[int]
    REQUESTS_FIELD_NUMBER: _ClassVar[int]
    BYTES_FIELD_NUMBER: _ClassVar[int]
    DIGEST_FIELD_NUMBER: _ClassVar[int]
    LEFT_MS_FIELD_NUMBER: _ClassVar[int]
    metadata: _containers.RepeatedCompositeFieldContainer[Entry]
    requests: int
    bytes: int
    digest: bytes
    left_ms: int
    def __init__(self, metadata: _Optional[_Iterable[_Union[Entry, _Mapping]]] = ..., requests: _Optional[int] = ..., bytes: _Optional[int] = ..., digest: _Optional[bytes] = ..., left_ms: _Optional[int] = ...) -> None: ...

class ObserveRequest(_message.Message):
    __slots__ = ("id", "until")
    ID_FIELD_NUMBER: _ClassVar[int]
    UNTIL_FIELD_NUMBER: _ClassVar[int]
    id: str
    until: Until
    def __init__(self, id: _Optional[str] = ..., until: _Optional[_Union[Until, str]] = ...) -> None: ...

class Observed(_message.Message):
    __slots__ = ("started", "ended", "end", "seen")
    STARTED_FIELD_NUMBER: _ClassVar[int]
    ENDED_FIELD_NUMBER: _ClassVar[int]
    END_FIELD_NUMBER: _ClassVar[int]
    SEEN_FIELD_NUMBER: _ClassVar[int]
    started: int
    ended: int
    end: End
    seen: Seen
    def __init__(self, started: _Optional[int] = ..., ended: _Optional[int] = ..., end: _Optional[_Union[End, str]] = ..., seen: _Optional[_Union[Seen, _Mapping]] = ...) -> None: ...
