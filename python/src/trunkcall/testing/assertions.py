"""Checks of how calls fail."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from trunkcall import Code, Delivery, StatusError


class Failure:
    """How the call has failed, known behind the block that made it."""

    def __init__(self) -> None:
        self._error: StatusError | None = None

    @property
    def error(self) -> StatusError:
        """Raises RuntimeError within the block."""
        if self._error is None:
            raise RuntimeError("the call has not failed yet: ask behind the block of `with`")
        return self._error


@contextmanager
def assert_fails(code: Code, delivery: Delivery | None = None) -> Generator[Failure]:
    """Checks that a call in the block of `with` fails with a code and, if given, what is known of its handler.

        with assert_fails(Code.NOT_FOUND, Delivery.EXECUTED) as failure:
            await client.call(get_user, GetUserRequest(user_id=7))
        assert "no such user" in failure.error.message

    Raises AssertionError otherwise. An exception that is no StatusError passes through."""
    failure = Failure()
    error = None
    try:
        yield failure
    except StatusError as raised:
        error = raised
    failure._error = error = _failed(error)
    if error.code is not code or (delivery is not None and error.delivery is not delivery):
        got = _words(error.code, delivery and error.delivery)
        raise AssertionError(f"want {_words(code, delivery)}, got {got}: {error}") from error


@contextmanager
def assert_not_executed() -> Generator[Failure]:
    """Checks that a call in the block of `with` fails and that its handler provably did not run: it may be repeated.
    Raises AssertionError otherwise."""
    failure = Failure()
    error = None
    try:
        yield failure
    except StatusError as raised:
        error = raised
    failure._error = error = _failed(error)
    if error.delivery not in (Delivery.NOT_SENT, Delivery.REFUSED):
        raise AssertionError(f"want not_sent or refused, got {error.delivery.value}: {error}") from error


def _failed(error: StatusError | None) -> StatusError:
    if error is None:
        raise AssertionError("the call succeeded")
    return error


def _words(code: Code, delivery: Delivery | None) -> str:
    return code.name if delivery is None else f"{code.name} ({delivery.value})"
