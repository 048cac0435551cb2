"""Trunkcall for code that blocks: the client of threads, without asyncio.

    from trunkcall import blocking

    with blocking.Client("127.0.0.1:4000") as client:
        response = client.call(greet, GreetRequest(name="Ada"), timeout=1.0)

        with client.open(watch, WatchRequest()) as changes:
            for change in changes:
                print(change)

    Client        the same as trunkcall.Client, for any number of threads
    ClientStream  a call that is not unary: an iterator of what comes, and a context manager
    StartedCall   a unary call that goes on by itself: a concurrent.futures.Future
    Connection    one connection of a client
    Server        a trunkcall.Server with an event loop of its own
    Caller        what calls are made through; a class of your own may be one
    Interceptor   wraps calls, as a plain function
    Watch         what a resolver works for

Everything else is what `trunkcall` has: methods, policies, codecs, statuses, options. A handler that blocks is a plain
function, which servers run on a thread.
"""

from __future__ import annotations

from .adapting import Dialer, Resolver, Watch, for_method
from .caller import Caller, ClientStream, Interceptor, MessageStream, Next
from .calls import Connection
from .client import Client
from .server import Server
from .started import StartedCall

__all__ = [
    "Caller",
    "Client",
    "ClientStream",
    "Connection",
    "Dialer",
    "Interceptor",
    "MessageStream",
    "Next",
    "Resolver",
    "Server",
    "StartedCall",
    "Watch",
    "for_method",
]
