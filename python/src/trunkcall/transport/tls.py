"""TLS contexts for the native protocol (protocol.md 13): version 1.2 or later, ALPN `trunk`."""

from __future__ import annotations

import ssl
from os import PathLike

ALPN = "trunk"
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


def prepared(context: ssl.SSLContext) -> ssl.SSLContext:
    """The same context, with the protocol's ALPN set and versions before 1.2 refused. Raises TypeError."""
    if not isinstance(context, ssl.SSLContext):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"tls is an ssl.SSLContext, as client_tls and server_tls make, not {context!r}")
    context.set_alpn_protocols([ALPN])
    if context.minimum_version < ssl.TLSVersion.TLSv1_2:
        context.minimum_version = ssl.TLSVersion.TLSv1_2
    return context
