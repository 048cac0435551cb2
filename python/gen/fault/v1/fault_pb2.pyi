from google.protobuf import empty_pb2 as _empty_pb2
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Optional as _Optional

DESCRIPTOR: _descriptor.FileDescriptor

class Behaviour(_message.Message):
    __slots__ = ("work_us", "wait_ms", "stubborn", "panics", "code", "message", "answer_bytes", "answers", "padding")
    WORK_US_FIELD_NUMBER: _ClassVar[int]
    WAIT_MS_FIELD_NUMBER: _ClassVar[int]
    STUBBORN_FIELD_NUMBER: _ClassVar[int]
    PANICS_FIELD_NUMBER: _ClassVar[int]
    CODE_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    ANSWER_BYTES_FIELD_NUMBER: _ClassVar[int]
    ANSWERS_FIELD_NUMBER: _ClassVar[int]
    PADDING_FIELD_NUMBER: _ClassVar[int]
    work_us: int
    wait_ms: int
    stubborn: bool
    panics: bool
    code: int
    message: str
    answer_bytes: int
    answers: int
    padding: bytes
    def __init__(self, work_us: _Optional[int] = ..., wait_ms: _Optional[int] = ..., stubborn: _Optional[bool] = ..., panics: _Optional[bool] = ..., code: _Optional[int] = ..., message: _Optional[str] = ..., answer_bytes: _Optional[int] = ..., answers: _Optional[int] = ..., padding: _Optional[bytes] = ...) -> None: ...

class Answer(_message.Message):
    __slots__ = ("data", "requests", "bytes")
    DATA_FIELD_NUMBER: _ClassVar[int]
    REQUESTS_FIELD_NUMBER: _ClassVar[int]
    BYTES_FIELD_NUMBER: _ClassVar[int]
    data: bytes
    requests: int
    bytes: int
    def __init__(self, data: _Optional[bytes] = ..., requests: _Optional[int] = ..., bytes: _Optional[int] = ...) -> None: ...

class Gauges(_message.Message):
    __slots__ = ("running", "tasks", "heap_bytes")
    RUNNING_FIELD_NUMBER: _ClassVar[int]
    TASKS_FIELD_NUMBER: _ClassVar[int]
    HEAP_BYTES_FIELD_NUMBER: _ClassVar[int]
    running: int
    tasks: int
    heap_bytes: int
    def __init__(self, running: _Optional[int] = ..., tasks: _Optional[int] = ..., heap_bytes: _Optional[int] = ...) -> None: ...
