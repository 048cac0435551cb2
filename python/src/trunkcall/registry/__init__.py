"""Publishes servers in a registry, and finds them there (spec/registry.md).

    Record             what a registry holds of one instance of a server for one service
    Registrar          publishes a server: when it listens, until it is about to stop
    resolver           finds the endpoints of a service for a trunkcall.Client, blocking_resolver for a blocking one
    Source             where instances are found
    Store              a Source in which servers are published: Embedded, Folder, or one of your own
    Server, serve      the embedded registry, which any process may serve: the default on one machine
    open_store         makes one by its name: "trunkcall:127.0.0.1:4001", "file:/run/trunkcall"

A server that is found, and a client that finds it:

    store = registry.Embedded("127.0.0.1:4001")
    server = trunkcall.Server(registrar=registry.Registrar(store))

    client = trunkcall.Client("registry:example.Greeter", resolvers={"registry": registry.resolver(store)})
"""

from __future__ import annotations

from .embedded import Embedded
from .folder import Folder
from .record import InvalidRecord, Record, parse
from .registrar import Registrar
from .resolver import PlainWatch, blocking_resolver, resolver
from .server import Server, serve
from .store import RegistryError, Source, Store, Watcher, Written, add_scheme, open_registry, open_store
from .view import Entry

__all__ = [
    "Embedded",
    "Entry",
    "Folder",
    "InvalidRecord",
    "PlainWatch",
    "Record",
    "Registrar",
    "RegistryError",
    "Server",
    "Source",
    "Store",
    "Watcher",
    "Written",
    "add_scheme",
    "blocking_resolver",
    "open_registry",
    "open_store",
    "parse",
    "resolver",
    "serve",
]
