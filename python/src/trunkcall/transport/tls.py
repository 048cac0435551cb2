"""TLS contexts (protocol.md 13, http.md 1): version 1.2 or later, ALPN `trunk`, `http/1.1` for WebSockets."""

from __future__ import annotations

import functools
import ssl
import threading
from os import PathLike
from typing import Any, Self

ALPN = "trunk"
ALPN_HTTP1 = "http/1.1"
FilePath = str | PathLike[str]


def client_tls(ca: FilePath | None = None, cert: FilePath | None = None, key: FilePath | None = None) -> ssl.SSLContext:
    """A context for clients. `ca` names a file of the authorities to trust, by default the system's; `cert` and `key`
    are files of the client's own certificate, for servers that ask for one. Raises OSError, ssl.SSLError."""
    context = ssl.create_default_context(ssl.Purpose.SERVER_AUTH, cafile=ca)
    if cert is not None:
        context.load_cert_chain(cert, key)
    return prepared(context)


def server_tls(cert: FilePath, key: FilePath | None = None, client_ca: FilePath | None = None) -> ssl.SSLContext:
    """A context for servers, of files. With `client_ca` every client must show a certificate of that authority.
    Raises OSError, ssl.SSLError."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=client_ca)
    context.load_cert_chain(cert, key)
    if client_ca is not None:
        context.verify_mode = ssl.CERT_REQUIRED
    return prepared(context)


def prepared(context: ssl.SSLContext, *more: str) -> ssl.SSLContext:
    """The same context, with the protocol's ALPN set, `more` behind it, and versions before 1.2 refused. Raises
    TypeError."""
    if not isinstance(context, ssl.SSLContext):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"tls is an ssl.SSLContext, as client_tls and server_tls make, not {context!r}")
    context.set_alpn_protocols([ALPN, *more])
    if context.minimum_version < ssl.TLSVersion.TLSv1_2:
        context.minimum_version = ssl.TLSVersion.TLSv1_2
    return context


@functools.cache
def usual_tls() -> ssl.SSLContext:
    """What a client trusts that was given no context: the system's authorities."""
    return client_tls()


class HTTP1(ssl.SSLContext):
    """Another context as a client's WebSocket uses it, with ALPN `http/1.1` for its one connection: the context may
    serve native connections besides, and contexts cannot be copied."""

    _context: ssl.SSLContext
    _turn = threading.Lock()

    def __new__(cls, context: ssl.SSLContext) -> Self:
        made = super().__new__(cls, ssl.PROTOCOL_TLS_CLIENT)
        made._context = context
        return made

    def wrap_bio(self, *args: Any, **options: Any) -> ssl.SSLObject:
        """Begins a connection; it keeps the ALPN that is set now."""
        with self._turn:
            self._context.set_alpn_protocols([ALPN_HTTP1])
            try:
                return self._context.wrap_bio(*args, **options)
            finally:
                self._context.set_alpn_protocols([ALPN])
