"""Calls in the shapes of grpc's blocking stubs."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from concurrent.futures import CancelledError
from contextlib import suppress
from contextvars import copy_context
from functools import partial
from typing import Any, Self

import grpc

from trunkcall import Code, Delivery
from trunkcall.blocking import ClientStream, StartedCall
from trunkcall.blocking.stream import OpenedStream
from trunkcall.status import StatusError, failure

from .conversion import to_entries
from .outcome import CallError, EndedCall, Ending, RunningCall, cancelled, error_of

logger = logging.getLogger("trunkcall")

Stream = ClientStream[Any, Any]


def on_thread(function: Callable[..., object], *args: Any) -> None:
    """Runs a function on a daemon thread of its own, in a copy of the context."""
    run = partial(copy_context().run, function, *args)
    threading.Thread(target=run, name="trunkcall stub", daemon=True).start()


class StartedFuture(RunningCall):
    """A unary call that a Client or a Connection goes on with by itself."""

    def __init__(self, started: StartedCall[Any], ending: Ending, until: int | None) -> None:
        super().__init__(ending, until)
        self._started = started
        started.add_done_callback(partial(_tell, ending))

    def _end(self, timeout: float | None = None) -> EndedCall:
        outcome = self._ending.outcome
        if outcome is not None:
            return outcome
        try:
            self._started.exception(timeout)
        except TimeoutError:
            raise grpc.FutureTimeoutError from None
        except CancelledError:
            pass
        except StatusError as error:  # it is the parent's, before fork()
            return self._ending.tell(error_of(error))
        return _tell(self._ending, self._started)  # the thread that ended it may not have come to that

    def _give_up(self) -> None:
        self._started.cancel()


def _tell(ending: Ending, started: Any) -> EndedCall:
    """Says how a started call ended; done by whichever thread is at work for its client, or who waits for it. Returns
    what was told first."""
    if started.cancelled():
        return ending.tell(cancelled())
    error = started.exception(0)
    if error is None:
        return ending.tell(EndedCall(started.result(0), started.header, started.trailer))
    return ending.tell(error_of(error))


class ThreadFuture(RunningCall):
    """A call with one response that a thread waits for: for callers of users, and for streams of requests."""

    def __init__(
        self,
        work: Callable[[], EndedCall],
        ending: Ending,
        until: int | None,
        stream: Stream | None = None,
    ) -> None:
        """`work` waits for the end of the call. Without a `stream` it cannot be given up: its answer is not used."""
        super().__init__(ending, until)
        self._stream = stream
        on_thread(_wait_for, work, ending)

    def _end(self, timeout: float | None = None) -> EndedCall:
        return self._ending.wait(timeout)

    def _give_up(self) -> None:
        if self._stream is not None:
            give_up(self._stream)

    def initial_metadata(self) -> Any:
        if self._stream is None or self.done():
            return super().initial_metadata()
        return to_entries(self._stream.header())


def _wait_for(work: Callable[[], EndedCall], ending: Ending) -> None:
    try:
        ending.tell(work())
    except BaseException as error:  # who waits would wait for ever
        ending.tell(error_of(error))


def give_up(stream: Stream) -> None:
    """Cancels a stream without waiting for anything, if it is one of ours."""
    if isinstance(stream, OpenedStream):
        stream._give_up()
    else:
        stream.cancel()


def only_response(stream: Stream, ending: Ending) -> EndedCall:
    """Waits for the one response of a call whose requests are sent meanwhile. Raises CallError."""
    try:
        with stream:
            response = stream._only()
            return EndedCall(response, stream.header(), stream.trailer)
    except StatusError as error:
        outcome = ending.tell(error_of(error))
        raise outcome if isinstance(outcome, CallError) else error_of(error) from error


class StreamCall(RunningCall):
    """A call with many responses: an iterator of them. One thread iterates; any may cancel. It is cancelled when nobody
    has it any more."""

    def __init__(self, stream: Stream, ending: Ending, until: int | None) -> None:
        super().__init__(ending, until)
        self._stream = stream
        self._watched = threading.Lock()  # held by who watches: nobody else needs to

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Any:
        ending = self._ending
        if ending.stopped and isinstance(ending.outcome, CallError):
            raise ending.outcome
        try:
            message = self._stream.receive()
        except StatusError as error:
            own = error_of(error)
            told = ending.tell(own)
            raise told if isinstance(told, CallError) else own from error
        if message is None:
            ending.tell(EndedCall(None, self._stream.header(), self._stream.trailer))
            raise StopIteration
        return message

    def next(self) -> Any:
        """The next response; raises StopIteration behind the last one."""
        return next(self)

    def initial_metadata(self) -> Any:
        """Waits for what comes ahead of the first response."""
        try:
            return to_entries(self._stream.header())
        except StatusError:  # it is the parent's, before fork()
            return ()

    def _end(self, timeout: float | None = None) -> EndedCall:
        outcome = self._ending.outcome
        if outcome is not None:
            return outcome
        if timeout is None:
            return self._ending.tell(_end_of(self._stream))
        self._watch()
        return self._ending.wait(timeout)

    def _give_up(self) -> None:
        give_up(self._stream)

    def _watch(self) -> None:
        if self._watched.acquire(blocking=False):
            on_thread(_wait_for, partial(_end_of, self._stream), self._ending)

    def __del__(self) -> None:
        stream = getattr(self, "_stream", None)
        if isinstance(stream, OpenedStream) and not stream.done:
            stream._give_up()


def _end_of(stream: Stream) -> EndedCall:
    """Waits for the end of a stream."""
    try:
        status = stream.status()
        header = stream.header()
    except StatusError as error:
        return error_of(error)
    if status.code:
        return error_of(StatusError.of(status, stream.trailer, header, stream.peer))
    return EndedCall(None, header, stream.trailer)


def feed(stream: Stream, requests: Any, ending: Ending) -> None:
    """Sends what an iterator gives, on a thread of its own: the iterator may block. The call is not held, so that one
    whose user has dropped it ends."""
    on_thread(_feed, stream, requests, ending)


def _feed(stream: Stream, requests: Any, ending: Ending) -> None:
    try:
        each = iter(requests)
        while True:
            try:
                request = next(each)
            except StopIteration:
                break
            if not _sent(stream, request):
                return
        _half_close(stream)
    except BaseException as error:
        logger.exception("the request iterator of a call raised an exception")
        text = f"the request iterator raised an exception: {type(error).__name__}: {error}"
        raised = CallError(failure(Code.UNKNOWN, text, Delivery.UNKNOWN))
        raised.__cause__ = error
        ending.stop(raised)
        give_up(stream)


def _sent(stream: Stream, request: Any) -> bool:
    """Sends a request. False: the call is over, and who receives is told why."""
    try:
        return stream.send(request)
    except (StatusError, RuntimeError):  # RuntimeError: its client was closed, or the interpreter shuts down
        return False


def _half_close(stream: Stream) -> None:
    with suppress(StatusError, RuntimeError):
        stream.half_close()
