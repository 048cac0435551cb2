"""One connection's end of serving: how a call that the other side makes is begun, run and answered.

Every handler that is not inline runs in a task of its own, in a context of its own, so that cancellation, timeouts and
context variables are its own as well.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
import secrets
import sys
from typing import TYPE_CHECKING, Any

from .adapt import Served
from .admission import Admission, Admit, Arrival, Rejected
from .codec import kind_of, one_of
from .compression import TooLong
from .context import current
from .executing import NotStarted
from .interceptor import Call, answers, chain, wrong_answer
from .method import Binding
from .options import listed
from .servercall import OnlyMessage, ServerCall
from .serverlimits import entered, left
from .status import StatusError, spelled, told
from .transport import ConnectionEvents, clock
from .values import Misfit
from .wire import OK, Code, IncomingCall, LimitError, Status

if TYPE_CHECKING:
    from .connection import Connection
    from .serving import Serving

UNDECODED: Any = object()  # stands for a request that admission comes before
LARGE_REQUEST: Any = object()  # stands for a request that is decompressed on a thread
THREW = "the handler panicked"
OUT_OF_TIME = "the deadline passed"


class Undecodable(Exception):
    """A request that does not decompress or decode: a code and a text."""


class ServingEnd(ConnectionEvents):
    """The calls that the other side of one connection makes."""

    def __init__(self, serving: Serving, loop: asyncio.AbstractEventLoop) -> None:
        self.serving = serving
        self.loop = loop

    @property
    def caller(self) -> Connection:
        """The connection as users see it."""
        raise NotImplementedError

    def start(self, call: IncomingCall) -> None:
        served: Served = call.method.target
        binding = served.bindings.get(call.codec)
        if binding is None:
            codecs = self.serving.codecs
            only = listed(codecs[number] for number in served.bindings)
            text = f"the messages of this method are not {codecs[call.codec].name}, only {only}"
            call.refuse(Status(Code.UNIMPLEMENTED, text))
            return
        if self.serving.admits:
            self._begin(served, call, UNDECODED)
            return
        try:
            request = self._decoded(binding, call)
        except Undecodable as error:
            call.refuse(Status(*error.args))
            return
        if served.inline and not self.serving.interceptors and request is not LARGE_REQUEST:
            server_call = call.user = ServerCall(call, self, served.method)
            if _is_late(call):
                self._refuse_late(call)
            else:
                self._run_inline(served, server_call, call, request)
            return
        self._begin(served, call, request)

    def _begin(self, served: Served, call: IncomingCall, request: Any) -> None:
        """Serves a call in a task of its own."""
        server_call = call.user = ServerCall(call, self, served.method)
        server_call._task = task = self.loop.create_task(self._serve(served, server_call, call, request))
        if task.done():  # an eager one
            return
        self.serving.tasks.add(task)
        if server_call._stopped:  # while its first step ran
            server_call._stop()

    def _decoded(self, binding: Binding, call: IncomingCall) -> Any:
        """The request of a method that takes one; LARGE_REQUEST if that takes a thread. Raises Undecodable."""
        message = call.message
        if message is None:
            return None
        try:
            if call.compression:
                limit = call.session.own.max_message
                message = self.serving.packing.unpack_small(call.compression, message, limit)
            return binding.decode_request(message) if message is not None else LARGE_REQUEST
        except Exception as error:
            raise Undecodable(*self._undecodable(call, error)) from error

    async def _admit(self, call: ServerCall) -> None:
        """Asks whether a call may run: the limits of the policy file, then admission. Raises Rejected."""
        self._limit(call)
        if self.serving.admission is None:
            return
        admitted = False
        try:
            await self._ask(self.serving.admission, call)
            admitted = True
        finally:
            if not admitted:
                left(call, None)

    def _limit(self, call: ServerCall) -> None:
        """Asks the limits of the policy file, if there is one. Raises Rejected."""
        file, name = self.serving.policies, call.method.name
        if file is not None:
            refused = entered(file.current.known.get(name) or file.current.of(name), call)
            if refused is not None:
                raise Rejected(refused)

    async def _ask(self, admit: Admit, call: ServerCall) -> None:
        """Raises Rejected."""
        arrival = Arrival(call.method, call.metadata, call.peer, call._protocol, call.time_remaining(), call.tls)
        try:
            said = admit(arrival)
            admitted = await said if inspect.isawaitable(said) else said
            if not isinstance(admitted, Admission):  # pyright: ignore[reportUnnecessaryIsInstance]
                raise TypeError(f"admission returned {admitted!r}, want an Admission, such as Admission()")
        except Exception as error:
            raise Rejected(self._status(call, error, "admission")) from error
        call._principal, call._release = admitted.principal, admitted.release

    def _undecodable(self, call: IncomingCall, error: Exception) -> tuple[Code, str]:
        if isinstance(error, TooLong):
            return Code.RESOURCE_EXHAUSTED, f"the request {error}"
        name = self.serving.codecs[call.codec].name
        return told(error, Code.INVALID_ARGUMENT, f"the request is not a valid {name} message: {error}")

    def _refuse_late(self, call: IncomingCall) -> None:
        """For a call whose time ran out behind others that were read with it (protocol.md 10)."""
        call.refuse(Status(Code.DEADLINE_EXCEEDED, "the deadline passed before the handler started"))

    def _accept(self, call: ServerCall, incoming: IncomingCall) -> None:
        """The handler of a one-way call will run: its message was read, and interceptors have let it through."""
        incoming.accept()
        self.connection.schedule()
        task = call._task or asyncio.current_task()
        if task is not None:
            self._watch(incoming.deadline, call, task)

    def _watch(self, deadline: int, call: ServerCall, task: asyncio.Task[None]) -> None:
        """The session has done with a one-way call once it was accepted: here its deadline ends the handler."""
        one_ways = self.serving.one_ways
        one_ways[call] = task
        task.add_done_callback(lambda _: one_ways.pop(call))
        if deadline:
            timer = self.loop.call_later(max(deadline - clock(), 0) / 1e6, call._stop, OUT_OF_TIME)
            task.add_done_callback(lambda _: timer.cancel())

    def unserved(self, method: bytes, refused: bool, code: Code, text: str) -> None:
        self.serving.journal.unserved(self.connection.remote, method, refused, code, text)

    def stopped(self, call: IncomingCall) -> None:
        server_call: ServerCall = call.user
        server_call._arrived()
        server_call._room()
        server_call._stop()

    def half_closed(self, call: IncomingCall) -> None:
        call.user._arrived()

    def fail(self, incoming: IncomingCall, code: Code, text: str) -> None:
        """Ends a call whose handler still runs, though its interceptors are done; the handler is not cancelled."""
        call: ServerCall = incoming.user
        task, call._task = call._task, None
        self.connection.session.now = clock()
        incoming.fail(code, text)
        call._task = task
        self.connection.schedule()

    def _run_inline(self, served: Served, call: ServerCall, incoming: IncomingCall, request: Any) -> None:
        token = current.set(call)
        try:
            response = served.function(request, call)
            try:
                data = served.bindings[incoming.codec].encode_response(response)
            except Exception as error:
                raise self._unencodable(call, response) from error
            if call._is_plain and not self.serving.packs:
                incoming.finish(data)
            elif call._packs_large(data):
                call._task = self.loop.create_task(self._finish_large(call, incoming, data))
                self.serving.tasks.add(call._task)
                call._task.add_done_callback(self.serving.tasks.discard)
            else:
                self._finish(call, incoming, data, OK)
        except asyncio.CancelledError as error:
            self._finish(call, incoming, None, self._given_up(call, error))
        except Exception as error:
            self._finish(call, incoming, None, self._status(call, error))
        except BaseException:
            self._finish(call, incoming, None, Status(Code.INTERNAL, THREW))
            raise
        finally:
            current.reset(token)

    async def _serve(self, served: Served, call: ServerCall, incoming: IncomingCall, request: Any) -> None:
        current.set(call)
        connection = self.connection
        call._begun = True
        try:
            if call._stopped:  # before this task ran for the first time: cancelled then, it would not run at all
                raise asyncio.CancelledError
            if request is UNDECODED:
                if self.serving.admission is None:
                    self._limit(call)
                else:
                    await self._admit(call)
                request = self._decoded(served.bindings[incoming.codec], incoming)
            if request is LARGE_REQUEST:
                request = await self._unpacked(served, incoming)
            if incoming.deadline and incoming.deadline <= clock():
                raise NotStarted
            if incoming.oneway and not self.serving.interceptors:
                self._accept(call, incoming)
            if self.serving.interceptors:
                response = await self._intercepted(served, call, incoming, request)
            else:
                stream = call if not incoming.oneway else OnlyMessage(request)
                response = await served.run(request, stream, call)
            data = None
            if served.answers_one:
                try:
                    data = served.bindings[incoming.codec].encode_response(response)
                except Exception as error:
                    raise self._unencodable(call, response) from error
            session = connection.session
            session.now = clock()
            if data is not None and call._is_plain and not self.serving.packs:
                incoming.finish(data)
            elif data is not None and call._packs_large(data):
                self._finish(call, incoming, data, OK, await call._pack_large(data))
            else:
                self._finish(call, incoming, data, OK)
        except asyncio.CancelledError as error:
            self._finish(call, incoming, None, self._given_up(call, error))
        except NotStarted:
            call._code = None
            self._refuse_late(incoming)
        except Undecodable as error:
            call._code = None
            incoming.refuse(Status(*error.args))
        except Rejected as error:
            self._reject(call, incoming, error.args[0])
        except Exception as error:
            self._failed(call, incoming, self._status(call, error))
        except BaseException:
            self._finish(call, incoming, None, Status(Code.INTERNAL, THREW))
            raise
        finally:
            if call._task is not None:
                self.serving.tasks.discard(call._task)
            self._leave(call)
            if not connection.scheduled:
                connection.schedule()

    async def _unpacked(self, served: Served, incoming: IncomingCall) -> Any:
        """The request, from a large message. Raises Undecodable."""
        limit = incoming.session.own.max_message
        try:
            packed = incoming.message or b""
            async with self.serving.packing.unpacked(incoming.compression, packed, limit) as message:
                return served.bindings[incoming.codec].decode_request(message)
        except Exception as error:
            raise Undecodable(*self._undecodable(incoming, error)) from error

    async def _intercepted(self, served: Served, call: ServerCall, incoming: IncomingCall | None, request: Any) -> Any:
        given: Any = call  # what the handler returned; nothing yet
        failed: list[Exception] = []  # what it raised, or an interceptor whose name that is
        whose = ""

        async def last(seen: Call) -> Any:
            nonlocal given
            call._entered = True
            if call.oneway and incoming is not None and not incoming.over:
                self._accept(call, incoming)
            try:
                given = await served.run(seen.request, seen.stream or call, call)
            except Exception as error:
                failed[:] = [error]
                raise
            finally:
                call._left = True
            if given is None and answers(served.method) and served.method._fixed is None:
                raise self._unencodable(call, given)
            return given

        def judge(interceptor: str, answer: Any) -> StatusError | None:
            if answer is given:  # the serializer of a servicer, or the codec, is to say whether that is an answer
                return None
            wrong = wrong_answer(interceptor, answer, served.method)
            if wrong is None:
                return None
            self.serving.journal.log(logging.ERROR, "%s", wrong)
            did = "neither went on nor answered"
            if call._entered or answer is not None:
                did = "left no response" if answer is None else "returned what is no response"
            return StatusError(Code.INTERNAL, f"an interceptor of the server {did}")

        def blame(interceptor: str, error: Exception) -> None:
            nonlocal whose
            if error not in failed:
                failed[:], whose = [error], interceptor

        stream = (OnlyMessage(request) if call.oneway else call) if served.method.kind.streams else None
        seen = Call(served.method, call.metadata, request, call.time_remaining(), stream, server=call)
        status = OK
        try:
            return await chain(self.serving.interceptors, last, judge, blame)(seen)
        except BaseException as error:
            status = ended_by(error)
            if whose and isinstance(error, Exception) and error in failed and not isinstance(error, StatusError):
                words = (f"interceptor {whose}", "an interceptor of the server")
                raise StatusError.of(self._status(call, error, *words)) from error
            raise
        finally:
            failed.clear()  # lest it and this frame keep each other
            seen._end(status)

    def _failed(self, call: ServerCall, incoming: IncomingCall, status: Status) -> None:
        """Says that a call failed, and what became of its handler: with interceptors it may not have begun, or run on
        (status.md 2)."""
        if not self.serving.interceptors or call._left:
            self._finish(call, incoming, None, status)
        elif call._entered:
            self.fail(incoming, status.code, status.message)
            incoming.finish(None, status)
        else:
            self._reject(call, incoming, status)

    def _reject(self, call: ServerCall, incoming: IncomingCall, status: Status) -> None:
        """Refuses a call whose handler has not begun, with all that was said of it."""
        call._code = None
        self.connection.session.now = clock()
        for metadata in (call._refusal_metadata, call._trailers, None):
            try:
                incoming.refuse(status, metadata)
                break
            except (LimitError, ValueError):  # it cannot be sent
                continue

    def _leave(self, call: ServerCall) -> None:
        """The call is over: what it was given by limits and admission is free again."""
        if call._limit is not None:
            left(call, call._code)
        if call._release is None:
            return
        try:
            call._release()
        except Exception as error:
            self.serving.journal.log(logging.ERROR, "the release of a call of %s failed", call.method.name, error=error)

    async def _finish_large(self, call: ServerCall, incoming: IncomingCall, data: bytes) -> None:
        """Ends a call whose handler had no task, with an answer that is compressed on a thread."""
        call._begun = True
        try:
            self._finish(call, incoming, data, OK, await call._pack_large(data))
        except asyncio.CancelledError as error:
            self._finish(call, incoming, None, _cancelled(error))
        self.connection.schedule()

    def _finish(
        self,
        call: ServerCall,
        incoming: IncomingCall,
        data: bytes | None,
        status: Status,
        packed: tuple[bytes, int] | None = None,
    ) -> None:
        """Says how the call ended; what cannot be sent is replaced by a status that can. `packed`: `data` as it is
        sent, if that is known."""
        self.connection.session.now = clock()
        call._code = status.code
        if incoming.oneway and status.code:
            words = (call.method.name, call.peer, status.code.name, status.message)
            self.serving.one_way_failures += 1
            self.serving.journal.log(logging.WARNING, "one-way call of %s from %s failed: %s: %s", *words)
        try:
            call._flush_header()
            compression = 0
            if data is not None:
                data, compression = packed or call._pack(data)
            incoming.finish(data, status, compression=compression, metadata=call._trailers)
        except StatusError as error:
            incoming.finish(None, error.status)
        except LimitError as error:
            incoming.finish(None, self._too_large(call, error).status)
        except ValueError as error:
            incoming.finish(None, Status(Code.INTERNAL, f"the answer's metadata is not valid: {error}"))
        except Exception as error:
            self.serving.journal.log(logging.ERROR, "the answer of %s cannot be sent", call.method.name, error=error)
            incoming.finish(None, Status(Code.INTERNAL, "the answer cannot be sent"))

    def _too_large(self, call: ServerCall, error: LimitError) -> StatusError:
        """For an answer above a limit of the caller's, of which its side and this one are told."""
        self.serving.journal.log(logging.WARNING, "the answer of %s cannot be sent: %s", call.method.name, error)
        return StatusError(Code.RESOURCE_EXHAUSTED, str(error))

    def _unencodable(self, call: ServerCall, response: Any) -> StatusError:
        """For an answer that the codec does not take. The reason and the types go to this side's log only, except for
        None, which a handler gives that forgot to return something."""
        method, number = call.method, secrets.token_hex(8)
        hidden = f" (error {number} in the log of the server)"
        error = sys.exc_info()[1]
        if isinstance(error, Misfit):
            message = "the handler of %s returned what it cannot: %s: error %s"
            self.serving.journal.log(logging.ERROR, message, method.name, error, number)
            code = Code.RESOURCE_EXHAUSTED if error.limit else Code.INTERNAL
            return StatusError(code, f"the result of {method.name} cannot be sent{hidden}")
        if isinstance(response, method.response):
            message = "the answer of %s is not valid: error %s"
            self.serving.journal.log(logging.ERROR, message, method.name, number, error=error)
            return StatusError(Code.INTERNAL, f"the answer is not a valid {call.codec.name} message{hidden}")
        gave = "returned" if method.kind.answers_one else "sent"
        text = f"the handler of {method.name} {gave} {kind_of(response)}, want {one_of(method.response)}"
        if response is None:
            self.serving.journal.log(logging.ERROR, "%s", text)
            return StatusError(Code.INTERNAL, text)
        self.serving.journal.log(logging.ERROR, "%s: error %s", text, number)
        return StatusError(Code.INTERNAL, f"the handler's answer is not a message of this method{hidden}")

    def _status(self, call: ServerCall, error: Exception, what: str = "handler", told: str = "") -> Status:
        """What the exception of a handler, or of what else is named, makes of a call (status.md 1); others' text stays
        here. `told`: what the caller is told of instead."""
        told = told or f"the {what}"
        if isinstance(error, StatusError) and error.code:
            if error.trailer:
                call.set_trailer(error.trailer)
            return error.status
        if isinstance(error, LimitError):
            return self._too_large(call, error).status
        code = Code.DEADLINE_EXCEEDED if isinstance(error, TimeoutError) else Code.UNKNOWN
        if type(error) is TimeoutError and call.time_remaining() == 0:
            return Status(code, f"{told} ran out of time")
        return Status(code, self._told(call, error, what, told))

    def _given_up(self, call: ServerCall, error: asyncio.CancelledError) -> Status:
        """How a call ends whose handler was cancelled, or raised the cancellation of something that it waited for."""
        task = asyncio.current_task()
        if call._stopped or (task is not None and task.cancelling()):
            return _cancelled(error)
        return Status(Code.CANCELLED, self._told(call, error))

    def _told(self, call: ServerCall, error: BaseException, what: str = "handler", told: str = "the handler") -> str:
        """Logs what a caller is not told, and returns what it is told of it."""
        found = secrets.token_hex(8)
        words = (what, call.method.name, found)
        self.serving.journal.log(logging.ERROR, "%s of %s failed: error %s", *words, error=error)
        return f"{told} failed (error {found} in the log of the server)"


def _is_late(call: IncomingCall) -> bool:
    """Whether a call must not start any more."""
    return bool(call.deadline) and call.deadline <= clock()


def ended_by(error: BaseException) -> Status:
    """How a call ended, for interceptors. The caller may be told less."""
    match error:
        case StatusError():
            return error.status
        case asyncio.CancelledError():
            return _cancelled(error)
        case TimeoutError():
            return Status(Code.DEADLINE_EXCEEDED, "the handler ran out of time")
        case _:
            return Status(Code.UNKNOWN, spelled(error))


def _cancelled(error: asyncio.CancelledError) -> Status:
    if str(error) == OUT_OF_TIME:
        return Status(Code.DEADLINE_EXCEEDED, OUT_OF_TIME)
    return Status(Code.CANCELLED, "the handler was cancelled")  # another's text is not for the caller
