"""What servicers get as their `context`: grpc.aio's for coroutines, grpc's for plain methods on threads."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NoReturn

import grpc
import grpc.aio

from trunkcall import Code
from trunkcall.servercall import ServerCall
from trunkcall.status import StatusError

from .conversion import Entries, entries, failed, to_entries, to_metadata


class CommonContext:
    """What both kinds of context have. `call` is the call as Trunkcall's own handlers see it."""

    def __init__(self, call: ServerCall) -> None:
        self.call = call
        self._code: grpc.StatusCode | int | None = None
        self._details = ""
        self._trailing: Entries = []
        self._aborted: StatusError | None = None
        self._callbacks: list[Callable[..., Any]] = []
        self._over = False

    def invocation_metadata(self) -> Any:
        return to_entries(self.call.metadata)

    def set_trailing_metadata(self, trailing_metadata: Any) -> None:
        self._trailing = entries(trailing_metadata)

    def trailing_metadata(self) -> Any:
        return to_metadata(self._trailing)

    def set_code(self, code: grpc.StatusCode) -> None:
        self._code = code

    def set_details(self, details: str) -> None:
        self._details = details

    def code(self) -> Any:
        return self._code

    def details(self) -> str:
        return self._details

    def peer(self) -> str:
        remote = self.call.peer
        if remote.startswith("unix:"):
            return remote
        return f"ipv6:{remote}" if remote.startswith("[") else f"ipv4:{remote}"

    def peer_identities(self) -> Any:
        return None

    def peer_identity_key(self) -> Any:
        return None

    def auth_context(self) -> Mapping[str, Any]:
        return {}

    def set_compression(self, compression: grpc.Compression) -> None:
        """Does nothing: answers are compressed as the Trunkcall server has it."""

    def disable_next_message_compression(self) -> None:
        """Does nothing: answers are compressed as the Trunkcall server has it."""

    def time_remaining(self) -> Any:
        return self.call.time_remaining()

    def cancelled(self) -> bool:
        return self.call.cancelled

    def done(self) -> bool:
        return self._over or self.call.cancelled

    def _abort(self, code: grpc.StatusCode, details: str, trailing_metadata: Any) -> NoReturn:
        if code is grpc.StatusCode.OK:
            raise ValueError("abort with OK")
        trailer = [*self._trailing, *entries(trailing_metadata)]
        self._aborted = failed(code, details, trailer)
        raise self._aborted

    # For the registrar.

    def finish(self, response: Any = None) -> Any:
        """The response, once the servicer has returned. Raises StatusError when it asked for a failure."""
        if self._aborted is not None:
            raise self._aborted
        failure = self.failure()
        if failure is not None:
            raise failure
        if self._trailing:
            self.call.set_trailer(self._trailing)
        return response

    def failure(self) -> StatusError | None:
        """The failure that the servicer asked for by `abort` or `set_code`, whatever it raised afterwards."""
        if self._aborted is not None:
            return self._aborted
        if self._code is None or self._code is grpc.StatusCode.OK or self._code == 0:
            return None
        return failed(self._code, self._details, self._trailing)

    @property
    def aborted(self) -> bool:
        """Whether the servicer called `abort`."""
        return self._aborted is not None

    @property
    def trailing(self) -> Entries:
        """The trailers that the servicer has set."""
        return self._trailing

    def end(self) -> list[Callable[..., Any]]:
        """Notes that the servicer has returned. Returns the callbacks that are to be called."""
        self._over = True
        callbacks, self._callbacks = self._callbacks, []
        return callbacks


class AsyncContext(CommonContext, grpc.aio.ServicerContext[Any, Any]):
    """The context of a coroutine or an asynchronous generator."""

    async def abort(self, code: grpc.StatusCode, details: str = "", trailing_metadata: Any = ()) -> NoReturn:
        self._abort(code, details, trailing_metadata)

    async def abort_with_status(self, status: Any) -> NoReturn:
        self._abort(status.code, status.details, status.trailing_metadata)

    async def send_initial_metadata(self, initial_metadata: Any) -> None:
        await self.call.send_header(entries(initial_metadata))

    async def read(self) -> Any:
        message = await self.call.receive()
        return grpc.aio.EOF if message is None else message

    async def write(self, message: Any) -> None:
        if not await self.call.send(message):
            raise StatusError(Code.CANCELLED, "the call is over")

    def add_done_callback(self, callback: Any) -> None:
        self._callbacks.append(callback)


class ThreadContext(CommonContext, grpc.ServicerContext):
    """The context of a plain method, used on the thread that runs it."""

    def __init__(self, call: ServerCall, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(call)
        self._loop = loop
        self._lock = threading.Lock()

    def abort(self, code: grpc.StatusCode, details: str, trailing_metadata: Any = ()) -> NoReturn:
        self._abort(code, details, trailing_metadata)

    def abort_with_status(self, status: Any) -> NoReturn:
        self._abort(status.code, status.details, status.trailing_metadata)

    def send_initial_metadata(self, initial_metadata: Any) -> None:
        asyncio.run_coroutine_threadsafe(self.call.send_header(entries(initial_metadata)), self._loop).result()

    def is_active(self) -> bool:
        return not self.done()

    def cancel(self) -> bool:
        """Ends the call with CANCELLED when the method returns."""
        self._aborted = failed(grpc.StatusCode.CANCELLED, "cancelled by the servicer")
        return True

    def add_callback(self, callback: Callable[[], None]) -> bool:
        with self._lock:
            if self._over:
                return False
            self._callbacks.append(callback)
            return True

    @property
    def aborted(self) -> bool:
        """Whether the servicer called `abort`."""
        return self._aborted is not None

    @property
    def trailing(self) -> Entries:
        """The trailers that the servicer has set."""
        return self._trailing

    def end(self) -> list[Callable[..., Any]]:
        with self._lock:
            return super().end()


class Requests:
    """The requests of a call for a plain method: a blocking iterator, for the thread that runs it."""

    def __init__(self, call: ServerCall, loop: asyncio.AbstractEventLoop) -> None:
        self._call = call
        self._loop = loop

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        message = asyncio.run_coroutine_threadsafe(self._call.receive(), self._loop).result()
        if message is None:
            raise StopIteration
        return message
