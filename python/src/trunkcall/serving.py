"""The server's end of one connection: running handlers.

Every handler that is not inline runs in a task of its own, in a context of its own, so that cancellation, timeouts and
context variables are its own as well.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from .adapt import Served
from .context import current
from .interceptor import Call, chain
from .servercall import ServerCall, resolve
from .status import StatusError
from .transport import Endpoint, clock
from .wire import OK, Code, IncomingCall, LimitError, Status

if TYPE_CHECKING:
    from .server import Server

THREW = "the handler raised an exception"


class ServerEndpoint(Endpoint):
    """A server's end of one connection."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.loop = server.loop
        self.gone: asyncio.Future[None] = self.loop.create_future()

    # What the connection tells.

    def connected(self) -> None:
        self.server.connected(self)

    def disconnected(self, why: str) -> None:
        self.server.disconnected(self, why)
        resolve(self.gone)

    def failed(self, kind: str, text: str) -> None:
        self.connection.why = text
        self.server.logger.info("connection of %s ended: %s", self.connection.remote, text)

    def goes_away(self, reason: int, text: str) -> None:
        if reason:
            self.server.logger.info("peer %s ends the connection: %s", self.connection.remote, text)

    # Calls.

    def start(self, call: IncomingCall) -> None:
        served: Served = call.method.target
        binding = served.bindings.get(call.codec)
        if binding is None:
            name = self.server.codecs[call.codec].name
            self._turn_away(call, Code.UNIMPLEMENTED, f"the messages of this method are not {name}")
            return
        message = call.message
        request: Any = None
        if message is not None:
            try:
                request = binding.decode_request(message)
            except Exception as error:
                name = self.server.codecs[call.codec].name
                self._turn_away(call, Code.INVALID_ARGUMENT, f"the request is not a valid {name} message: {error}")
                return
        server_call = call.user = ServerCall(call, self, served.method)
        if served.inline and not self.server.interceptors:
            self._run_inline(served, server_call, call, request)
            return
        work = self._serve(served, server_call, call, request)
        server_call.task = task = self.loop.create_task(work)
        self.server.tasks.add(task)

    def _turn_away(self, call: IncomingCall, code: Code, text: str) -> None:
        """Refuses a call. The caller of a one-way call, which was accepted, hears nothing any more: it is logged
        (protocol.md 7.5)."""
        call.refuse(code, text)
        if call.oneway:
            name = call.method.target.method.name
            self.server.logger.warning("one-way call of %s from %s dropped: %s", name, self.connection.remote, text)

    def stopped(self, call: IncomingCall) -> None:
        server_call: ServerCall = call.user
        server_call.arrived()
        server_call.writable()
        server_call.stopped = True
        if server_call.begun and server_call.task is not None:
            server_call.task.cancel()

    def arrived(self, call: Any) -> None:
        call.user.arrived()

    def half_closed(self, call: IncomingCall) -> None:
        call.user.arrived()

    def writable(self, call: Any) -> None:
        call.user.writable()

    def fail(self, incoming: IncomingCall, code: Code, text: str) -> None:
        """Ends a call for what its handler just tried to read: it is told by an exception, not by cancelling it."""
        call: ServerCall = incoming.user
        task, call.task = call.task, None
        incoming.fail(code, text)
        call.task = task
        self.connection.schedule()

    def _run_inline(self, served: Served, call: ServerCall, incoming: IncomingCall, request: Any) -> None:
        token = current.set(call)
        try:
            response = served.function(request, call)
            try:
                data = served.bindings[incoming.codec].encode_response(response)
            except Exception as error:
                raise self._unencodable(call, response) from error
            if call.is_plain:
                incoming.finish(data)
            else:
                self._finish(call, incoming, data, OK)
        except asyncio.CancelledError as error:
            self._finish(call, incoming, None, _cancelled(error))
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
        call.begun = True
        try:
            if call.stopped:  # before this task ran for the first time: cancelled then, it would not run at all
                raise asyncio.CancelledError
            if self.server.interceptors:
                response = await self._intercepted(served, call, request)
            else:
                response = await served.run(request, call, call)
            data = None
            if served.answers_one:
                try:
                    data = served.bindings[incoming.codec].encode_response(response)
                except Exception as error:
                    raise self._unencodable(call, response) from error
            session = connection.session
            session.now = clock()
            if data is not None and call.is_plain:
                incoming.finish(data)
            else:
                self._finish(call, incoming, data, OK)
        except asyncio.CancelledError as error:
            self._finish(call, incoming, None, _cancelled(error))
        except Exception as error:
            self._finish(call, incoming, None, self._status(call, error))
        except BaseException:
            self._finish(call, incoming, None, Status(Code.INTERNAL, THREW))
            raise
        finally:
            if call.task is not None:
                self.server.tasks.discard(call.task)
            if not connection.scheduled:
                connection.schedule()

    async def _intercepted(self, served: Served, call: ServerCall, request: Any) -> Any:
        async def last(seen: Call) -> Any:
            return await served.run(seen.request, seen.stream or call, call)

        stream = None if served.method.kind.takes_one and served.answers_one else call
        seen = Call(served.method, call.metadata, request, call.time_remaining(), stream, server=call)
        return await chain(self.server.interceptors, last)(seen)

    def _finish(self, call: ServerCall, incoming: IncomingCall, data: bytes | None, status: Status) -> None:
        """Says how the call ended; what cannot be sent is replaced by a status that can."""
        self.connection.session.now = clock()
        try:
            call.flush_header()
            incoming.finish(data, status, metadata=call.trailers)
        except StatusError as error:
            incoming.finish(None, error.status)
        except LimitError as error:
            incoming.finish(None, Status(Code.RESOURCE_EXHAUSTED, str(error)))
        except ValueError as error:
            incoming.finish(None, Status(Code.INTERNAL, f"the answer's metadata is not valid: {error}"))
        except Exception as error:
            self.server.logger.error("the answer of %s cannot be sent", call.method.name, exc_info=error)
            incoming.finish(None, Status(Code.INTERNAL, "the answer cannot be sent"))

    def _unencodable(self, call: ServerCall, response: Any) -> StatusError:
        """For an answer that the codec does not take. Why, and what types it has, is for this side's log alone."""
        method = call.method
        found = f": a {method.response.__name__} is expected, not a {type(response).__name__}"
        if isinstance(response, method.response):
            found = ""
        self.server.logger.error("the answer of %s is not valid%s", method.name, found, exc_info=True)
        if found:
            return StatusError(Code.INTERNAL, f"codec {call.codec.name} cannot carry the messages of this method")
        return StatusError(Code.INTERNAL, f"the answer is not a valid {call.codec.name} message")

    def _status(self, call: ServerCall, error: Exception) -> Status:
        """What a handler's exception makes of its call (status.md 1): the text of others stays here."""
        if isinstance(error, StatusError) and error.code:
            if error.trailer:
                call.set_trailer(error.trailer)
            return error.status
        if isinstance(error, LimitError):
            return Status(Code.RESOURCE_EXHAUSTED, str(error))
        self.server.logger.error("handler of %s raised an exception", call.method.name, exc_info=error)
        return Status(Code.INTERNAL, THREW)


def _cancelled(error: asyncio.CancelledError) -> Status:
    return Status(Code.CANCELLED, str(error) or "the handler was cancelled")
