"""TLS contexts (protocol.md 13, http.md 1): version 1.2 or later, ALPN `trunk`, at servers `h2` and `http/1.1` too."""

from __future__ import annotations

import functools
import logging
import os
import ssl
import threading
from collections.abc import Callable
from os import PathLike
from typing import Any, Self

from .monotonic import clock

ALPN = "trunk"
ALPN_HTTP1 = "http/1.1"
ALPN_HTTP2 = "h2"
LOOK = 1.0  # seconds between two looks at files, at least (client.md 9.6)
FilePath = str | PathLike[str]
_WANTED = "an ssl.SSLContext, or what client_tls, server_tls or tls_files makes"


def client_tls(ca: FilePath | None = None, cert: FilePath | None = None, key: FilePath | None = None) -> ssl.SSLContext:
    """A context for clients. Usually `tls_files` is what you want: it reads its files again when they change, which a
    context does not. Use this to set more of a context. `ca` names a file of the authorities to trust, by default the
    system's; `cert` and `key` are files of the client's own certificate, for servers that ask for one. Raises OSError,
    ssl.SSLError."""
    context = _trusting(ssl.Purpose.SERVER_AUTH, ca)
    if cert is not None:
        _show(context, cert, key)
    return prepared(context)


def server_tls(cert: FilePath, key: FilePath | None = None, client_ca: FilePath | None = None) -> ssl.SSLContext:
    """A context for servers. Usually `tls_files` is what you want: it reads its files again when they change, which a
    context does not. Use this to set more of a context. With `client_ca` every client must show a certificate of that
    authority. Raises OSError, ssl.SSLError."""
    context = _trusting(ssl.Purpose.CLIENT_AUTH, client_ca)
    _show(context, cert, key)
    if client_ca is not None:
        context.verify_mode = ssl.CERT_REQUIRED
    return prepared(context)


def _trusting(purpose: ssl.Purpose, ca: FilePath | None) -> ssl.SSLContext:
    if ca is not None:
        _read("authorities", ca)
    try:
        return ssl.create_default_context(purpose, cafile=ca)
    except ssl.SSLError as error:
        raise _wrong(f"certificates of authorities in {ca}", error) from error


def _show(context: ssl.SSLContext, cert: FilePath, key: FilePath | None) -> None:
    name, secret = f"certificate {cert}", f"key {key}" if key is not None else f"key in {cert}"
    if b"-----BEGIN CERTIFICATE" not in _read("certificate", cert):
        raise ssl.SSLError(0, f"{name}: there is no certificate in the file, want PEM")
    if b"PRIVATE KEY-----" not in _read("key", cert if key is None else key):
        raise ssl.SSLError(0, f"{secret}: there is no private key in the file, want PEM")

    def no_password() -> str:  # OpenSSL would ask at the terminal
        raise ssl.SSLError(0, f"{secret}: it is encrypted, want one that is not")

    try:
        context.load_cert_chain(cert, key, no_password)
    except ssl.SSLError as error:
        if error.errno == 0:
            raise
        raise _wrong(f"{name} with {secret}", error) from error


def _read(option: str, path: FilePath) -> bytes:
    """What the file holds. Raises OSError, which has its name: those of the ssl module have none."""
    try:
        name = os.fspath(path)
    except TypeError:
        raise TypeError(f"TLS files: {option} is {path!r}, want the name of a file") from None
    with open(name, "rb") as file:
        return file.read()


def _wrong(what: str, error: ssl.SSLError) -> ssl.SSLError:
    """The same error, which says what it is about."""
    told = type(error)(error.errno, f"{what}: {error.strerror}")
    told.library, told.reason = error.library, error.reason
    return told


def prepared(context: ssl.SSLContext, *more: str) -> ssl.SSLContext:
    """The same context, with the protocol's ALPN set, `more` behind it, and versions before 1.2 refused. Raises
    TypeError."""
    if not isinstance(context, ssl.SSLContext):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"option tls: {context!r} was given, want {_WANTED}")
    context.set_alpn_protocols([ALPN, *more])
    if context.minimum_version < ssl.TLSVersion.TLSv1_2:
        context.minimum_version = ssl.TLSVersion.TLSv1_2
    return context


class TLSFiles:
    """Certificates and authorities in files, which are read again when they change: a connection that begins after that
    uses what is there then. Connections that are open stay. One object serves clients and servers."""

    def __init__(
        self, *, ca: FilePath | None = None, cert: FilePath | None = None, key: FilePath | None = None
    ) -> None:
        """`ca` names a file of the authorities to trust: for a client by default the system's; a server that has one
        asks every client for a certificate of it. `cert` and `key` are its own, which a client needs where the server
        asks for it, and a server always. Raises OSError, ssl.SSLError; ValueError for a key without a certificate."""
        if key is not None and cert is None:
            raise ValueError("TLS files: there is a key and no certificate")
        self.ca, self.cert, self.key = ca, cert, key
        client_tls(ca, cert, key)  # raises now, rather than with the first connection


def for_clients(files: TLSFiles) -> ssl.SSLContext:
    """A context of what the files hold now. Raises OSError, ssl.SSLError."""
    return client_tls(files.ca, files.cert, files.key)


def for_servers(files: TLSFiles) -> ssl.SSLContext:
    """The same for a server. Raises OSError, ssl.SSLError; ValueError without a certificate."""
    if files.cert is None:
        raise ValueError("TLS files of a server: there is no certificate")
    return server_tls(files.cert, files.key, files.ca)


def _seen(files: TLSFiles) -> tuple[object, ...]:
    """What changes when one of the files does. Raises OSError."""
    found: list[object] = []
    for path in (files.ca, files.cert, files.key):
        if path is not None:
            status = os.stat(path)
            found += [status.st_mtime_ns, status.st_size, status.st_ino]
    return tuple(found)


def tls_files(*, ca: FilePath | None = None, cert: FilePath | None = None, key: FilePath | None = None) -> TLSFiles:
    """TLS for clients and servers, the usual way: from files that may be exchanged while the program runs. See
    TLSFiles."""
    return TLSFiles(ca=ca, cert=cert, key=key)


class TLSSource:
    """The TLS of a client or a server: the context for its next connection."""

    def __init__(
        self,
        given: ssl.SSLContext | TLSFiles | None,
        make: Callable[[TLSFiles], ssl.SSLContext],
        logger: logging.Logger,
        *more: str,
    ) -> None:
        """`make` is for_clients or for_servers, `more` are protocols of ALPN behind ours. Raises TypeError,
        OSError, ssl.SSLError, ValueError."""
        self._files = given if isinstance(given, TLSFiles) else None
        self._make = make
        self._log = logger
        self._more = more
        self._seen: tuple[object, ...] = ()
        self._fault = ""
        self._looked = clock()
        if self._files is not None:
            self._seen = _seen(self._files)
            self._context: ssl.SSLContext | None = prepared(make(self._files), *more)
        else:
            self._context = None if given is None else prepared(given, *more)  # type: ignore[arg-type]

    def __bool__(self) -> bool:
        return self._context is not None

    def context(self) -> ssl.SSLContext | None:
        """The context, read again if a file has changed, which is looked at now and then. While what is there cannot be
        used, the last one stays."""
        files = self._files
        if files is not None and clock() - self._looked >= LOOK * 1e6:
            self._looked = clock()
            try:
                seen = _seen(files)
                if seen != self._seen:
                    self._context = prepared(self._make(files), *self._more)
                    self._seen, self._fault = seen, ""
                    self._log.info("TLS: the files have changed and were read again")
            except (OSError, ssl.SSLError, ValueError) as error:
                if str(error) != self._fault:
                    self._fault = str(error)
                    self._log.warning("TLS: files that have changed cannot be used, the last ones stay: %s", error)
        return self._context


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
