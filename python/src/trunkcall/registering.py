"""What users register methods with."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from google.protobuf.descriptor import ServiceDescriptor

from .method import Handler, Method
from .services import service_handlers

if TYPE_CHECKING:
    from .serving import Serving


class Registry:
    """What serves methods: a Server, a Client."""

    _serving: Serving
    _registered: Callable[[], None] | None = None  # is told that there is more

    def register(self, *handlers: Handler) -> None:
        """Serves methods to the other side: a server to its clients, a client to its servers over its own connections.
        That holds for open connections too. Raises ValueError for a method that is served already, TypeError for what
        is no Handler."""
        self._serving.register(handlers)
        if self._registered is not None:
            self._registered()

    def register_service(self, service: ServiceDescriptor, implementation: object) -> None:
        """Serves all methods of a service that Protobuf describes. `implementation` has a function for each, named
        `GetUser` or `get_user`, which is like any handler. Nothing else that it has is served. Raises as
        `register`, and ValueError if a method is missing."""
        self.register(*service_handlers(service, implementation))

    @property
    def methods(self) -> list[Method[Any, Any]]:
        """The methods that are served, by name."""
        served = self._serving.methods.values()
        return sorted((method.target.method for method in served), key=lambda method: method.name)

    @property
    def services(self) -> list[str]:
        """The names of the services that have a method, sorted."""
        return sorted({method.name.strip("/").rpartition("/")[0] for method in self.methods})

    @property
    def running(self) -> int:
        """The number of handlers that run, those included whose call was ended already."""
        return self._serving.load.running
