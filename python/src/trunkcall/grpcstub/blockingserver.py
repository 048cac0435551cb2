"""A server object that generated code takes, for programs without asyncio."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NoReturn

import grpc
import grpc.aio

from trunkcall import blocking

from . import registrar


class Server(grpc.Server):
    """A trunkcall.blocking.Server as a grpc.Server, for add_…Servicer_to_server. See aio.Server: servicers may have
    plain methods, which run on threads of the Trunkcall server's executor, and coroutines.

    It serves as soon as the Trunkcall server listens; ports and credentials are that one's own."""

    def __init__(
        self,
        server: blocking.Server,
        *,
        hide_errors: bool = False,
        interceptors: Sequence[grpc.aio.ServerInterceptor | grpc.ServerInterceptor] = (),
    ) -> None:
        """As aio.Server, with the same interceptors."""
        self._server = server
        self._servicers = registrar.Server(server._server, hide_errors=hide_errors, interceptors=interceptors)
        self._stopped = threading.Event()

    @property
    def services(self) -> list[str]:
        """See aio.Server.services."""
        return self._servicers.services

    def add_generic_rpc_handlers(self, generic_rpc_handlers: Iterable[grpc.GenericRpcHandler]) -> None:
        """Takes the handlers of generated code, which have names; others raise ValueError."""
        self._servicers.add_generic_rpc_handlers(generic_rpc_handlers)

    def add_registered_method_handlers(self, service_name: str, method_handlers: Mapping[str, Any]) -> None:
        self._servicers.add_registered_method_handlers(service_name, method_handlers)

    def add_insecure_port(self, address: str) -> NoReturn:
        raise NotImplementedError("use blocking.Server.listen of the Trunkcall server")

    def add_secure_port(self, address: str, server_credentials: grpc.ServerCredentials) -> NoReturn:
        raise NotImplementedError("use blocking.Server.listen of the Trunkcall server")

    def start(self) -> None:
        """Does nothing: blocking.Server.listen serves at once."""

    def stop(self, grace: float | None) -> threading.Event:
        """Stops the Trunkcall server and returns at once; the event is set when it has stopped."""
        work = partial(self._stop, grace or 0.0)
        threading.Thread(target=work, name="trunkcall stop", daemon=True).start()
        return self._stopped

    def _stop(self, grace: float) -> None:
        try:
            self._server.stop(grace)
        finally:
            self._stopped.set()

    def wait_for_termination(self, timeout: float | None = None) -> bool:
        """Waits until the Trunkcall server has stopped, whoever stops it; True if that took longer than the timeout."""
        return not self._server._gone.wait(timeout)
