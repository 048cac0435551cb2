from google.protobuf import empty_pb2 as _empty_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class BenchmarkMessage(_message.Message):
    __slots__ = ("field1", "field2", "field3", "field4", "field5", "field6", "field7", "field9", "field12", "field13", "field14", "field16", "field17", "field18", "field22", "field23", "field24", "field25", "field29", "field30", "field59", "field60", "field67", "field68", "field78", "field80", "field81", "field100", "field101", "field102", "field103", "field104", "field128", "field129", "field130", "field131", "field150", "field271", "field272", "field280")
    FIELD1_FIELD_NUMBER: _ClassVar[int]
    FIELD2_FIELD_NUMBER: _ClassVar[int]
    FIELD3_FIELD_NUMBER: _ClassVar[int]
    FIELD4_FIELD_NUMBER: _ClassVar[int]
    FIELD5_FIELD_NUMBER: _ClassVar[int]
    FIELD6_FIELD_NUMBER: _ClassVar[int]
    FIELD7_FIELD_NUMBER: _ClassVar[int]
    FIELD9_FIELD_NUMBER: _ClassVar[int]
    FIELD12_FIELD_NUMBER: _ClassVar[int]
    FIELD13_FIELD_NUMBER: _ClassVar[int]
    FIELD14_FIELD_NUMBER: _ClassVar[int]
    FIELD16_FIELD_NUMBER: _ClassVar[int]
    FIELD17_FIELD_NUMBER: _ClassVar[int]
    FIELD18_FIELD_NUMBER: _ClassVar[int]
    FIELD22_FIELD_NUMBER: _ClassVar[int]
    FIELD23_FIELD_NUMBER: _ClassVar[int]
    FIELD24_FIELD_NUMBER: _ClassVar[int]
    FIELD25_FIELD_NUMBER: _ClassVar[int]
    FIELD29_FIELD_NUMBER: _ClassVar[int]
    FIELD30_FIELD_NUMBER: _ClassVar[int]
    FIELD59_FIELD_NUMBER: _ClassVar[int]
    FIELD60_FIELD_NUMBER: _ClassVar[int]
    FIELD67_FIELD_NUMBER: _ClassVar[int]
    FIELD68_FIELD_NUMBER: _ClassVar[int]
    FIELD78_FIELD_NUMBER: _ClassVar[int]
    FIELD80_FIELD_NUMBER: _ClassVar[int]
    FIELD81_FIELD_NUMBER: _ClassVar[int]
    FIELD100_FIELD_NUMBER: _ClassVar[int]
    FIELD101_FIELD_NUMBER: _ClassVar[int]
    FIELD102_FIELD_NUMBER: _ClassVar[int]
    FIELD103_FIELD_NUMBER: _ClassVar[int]
    FIELD104_FIELD_NUMBER: _ClassVar[int]
    FIELD128_FIELD_NUMBER: _ClassVar[int]
    FIELD129_FIELD_NUMBER: _ClassVar[int]
    FIELD130_FIELD_NUMBER: _ClassVar[int]
    FIELD131_FIELD_NUMBER: _ClassVar[int]
    FIELD150_FIELD_NUMBER: _ClassVar[int]
    FIELD271_FIELD_NUMBER: _ClassVar[int]
    FIELD272_FIELD_NUMBER: _ClassVar[int]
    FIELD280_FIELD_NUMBER: _ClassVar[int]
    field1: str
    field2: int
    field3: int
    field4: str
    field5: _containers.RepeatedScalarFieldContainer[int]
    field6: int
    field7: str
    field9: str
    field12: bool
    field13: bool
    field14: bool
    field16: int
    field17: bool
    field18: str
    field22: int
    field23: int
    field24: bool
    field25: int
    field29: int
    field30: bool
    field59: bool
    field60: int
    field67: int
    field68: int
    field78: bool
    field80: bool
    field81: bool
    field100: int
    field101: int
    field102: str
    field103: str
    field104: int
    field128: int
    field129: str
    field130: int
    field131: int
    field150: int
    field271: int
    field272: int
    field280: int
    def __init__(self, field1: _Optional[str] = ..., field2: _Optional[int] = ..., field3: _Optional[int] = ..., field4: _Optional[str] = ..., field5: _Optional[_Iterable[int]] = ..., field6: _Optional[int] = ..., field7: _Optional[str] = ..., field9: _Optional[str] = ..., field12: _Optional[bool] = ..., field13: _Optional[bool] = ..., field14: _Optional[bool] = ..., field16: _Optional[int] = ..., field17: _Optional[bool] = ..., field18: _Optional[str] = ..., field22: _Optional[int] = ..., field23: _Optional[int] = ..., field24: _Optional[bool] = ..., field25: _Optional[int] = ..., field29: _Optional[int] = ..., field30: _Optional[bool] = ..., field59: _Optional[bool] = ..., field60: _Optional[int] = ..., field67: _Optional[int] = ..., field68: _Optional[int] = ..., field78: _Optional[bool] = ..., field80: _Optional[bool] = ..., field81: _Optional[bool] = ..., field100: _Optional[int] = ..., field101: _Optional[int] = ..., field102: _Optional[str] = ..., field103: _Optional[str] = ..., field104: _Optional[int] = ..., field128: _Optional[int] = ..., field129: _Optional[str] = ..., field130: _Optional[int] = ..., field131: _Optional[int] = ..., field150: _Optional[int] = ..., field271: _Optional[int] = ..., field272: _Optional[int] = ..., field280: _Optional[int] = ...) -> None: ...

class Payload(_message.Message):
    __slots__ = ("data",)
    DATA_FIELD_NUMBER: _ClassVar[int]
    data: bytes
    def __init__(self, data: _Optional[bytes] = ...) -> None: ...

class EmitRequest(_message.Message):
    __slots__ = ("size",)
    SIZE_FIELD_NUMBER: _ClassVar[int]
    size: int
    def __init__(self, size: _Optional[int] = ...) -> None: ...

class Dictionary(_message.Message):
    __slots__ = ("entries",)
    class EntriesEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    ENTRIES_FIELD_NUMBER: _ClassVar[int]
    entries: _containers.ScalarMap[str, str]
    def __init__(self, entries: _Optional[_Mapping[str, str]] = ...) -> None: ...

class UserModel(_message.Message):
    __slots__ = ("user_id", "name", "age")
    USER_ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    AGE_FIELD_NUMBER: _ClassVar[int]
    user_id: int
    name: str
    age: int
    def __init__(self, user_id: _Optional[int] = ..., name: _Optional[str] = ..., age: _Optional[int] = ...) -> None: ...

class UserModels(_message.Message):
    __slots__ = ("users",)
    USERS_FIELD_NUMBER: _ClassVar[int]
    users: _containers.RepeatedCompositeFieldContainer[UserModel]
    def __init__(self, users: _Optional[_Iterable[_Union[UserModel, _Mapping]]] = ...) -> None: ...
