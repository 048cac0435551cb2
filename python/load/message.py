"""The 581-byte message of the benchmarks and what the server does with it, the same for all programs."""

from __future__ import annotations

from bench.v1.bench_pb2 import BenchmarkMessage, Payload

SIZE = 581

TEXT = "许多往事在眼前一幕一幕，变的那麼模糊"
NUMBER = 100000

# What the handler of Say sets fields 1 and 2 to.
ANSWER_TEXT = "OK"
ANSWER_NUMBER = 100


class WrongAnswer(Exception):
    """The server answered something else than it was asked."""


def request() -> BenchmarkMessage:
    """The message as clients send it: every string, integer and bool is set, the repeated field stays empty."""
    message = BenchmarkMessage()
    for name, value in fields().items():
        setattr(message, name, value)
    return message


def fields() -> dict[str, str | int | bool]:
    """Its fields by their names, for other representations of it."""
    values: dict[str, str | int | bool] = {}
    for field in BenchmarkMessage.DESCRIPTOR.fields:
        if field.is_repeated:
            continue
        match field.type:
            case field.TYPE_STRING:
                values[field.name] = TEXT
            case field.TYPE_BOOL:
                values[field.name] = True
            case _:
                values[field.name] = NUMBER
    return values


def answer(message: BenchmarkMessage) -> BenchmarkMessage:
    """The handler of Say: changes the message that it was given, and returns it."""
    message.field1 = ANSWER_TEXT
    message.field2 = ANSWER_NUMBER
    return message


def check(field1: str, field2: int) -> None:
    if field1 != ANSWER_TEXT or field2 != ANSWER_NUMBER:
        raise WrongAnswer(
            f"the answer has field1 {field1!r} and field2 {field2}, not {ANSWER_TEXT!r} and {ANSWER_NUMBER}"
        )


def payload(size: int) -> Payload:
    """What Echo is sent."""
    return Payload(data=data(size))


def data(size: int) -> bytes:
    return bytes(i & 0xFF for i in range(size))


# Bounds what a request to Emit can have made for it.
MAX_EMIT = 16 << 20


class TooLarge(Exception):
    """A request for more than MAX_EMIT."""


def emitted(size: int) -> Payload:
    """What Emit sends, again and again. Raises TooLarge."""
    if size > MAX_EMIT:
        raise TooLarge(f"size is {size}: want at most {MAX_EMIT}")
    return payload(size)


def check_data(got: bytes, sent: bytes) -> None:
    if got != sent:
        raise WrongAnswer(f"{len(got)} bytes came back that were not sent")
