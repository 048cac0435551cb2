"""TLS as the flags ask for it."""

from __future__ import annotations

import argparse
import contextlib
import ssl
from collections.abc import Generator
from pathlib import Path

import trunkcall
from load import UsageError


def add_identity(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--tls-cert", metavar="FILE", default="", help="certificate, PEM")
    parser.add_argument("--tls-key", metavar="FILE", default="", help="key for --tls-cert, PEM")


def client_tls(flags: argparse.Namespace) -> ssl.SSLContext | None:
    """What --tls-ca, --tls-cert and --tls-key ask for; None is cleartext. Raises UsageError."""
    own = identity(flags)
    if not flags.tls_ca:
        if own:
            raise UsageError("--tls-cert needs --tls-ca, to know the server by")
        return None
    check_authorities("tls-ca", flags.tls_ca)
    with told_as_usage(flags):
        return trunkcall.client_tls(ca=flags.tls_ca, cert=flags.tls_cert or None, key=flags.tls_key or None)


def server_tls(flags: argparse.Namespace) -> ssl.SSLContext | None:
    """What --tls-cert, --tls-key and --tls-client-ca ask for; None is cleartext. Raises UsageError."""
    if not identity(flags):
        if flags.tls_client_ca or flags.allow_cleartext:
            raise UsageError("--tls-client-ca and --allow-cleartext go with --tls-cert and --tls-key")
        return None
    if flags.tls_client_ca:
        check_authorities("tls-client-ca", flags.tls_client_ca)
    with told_as_usage(flags):
        return trunkcall.server_tls(flags.tls_cert, flags.tls_key, client_ca=flags.tls_client_ca or None)


def identity(flags: argparse.Namespace) -> bool:
    """Whether a certificate and its key were given; one without the other is turned down, and what is no file."""
    if not (flags.tls_cert or flags.tls_key):
        return False
    if not (flags.tls_cert and flags.tls_key):
        raise UsageError("--tls-cert and --tls-key go together")
    read(own_files(flags), flags.tls_cert)
    if "ENCRYPTED" in read(own_files(flags), flags.tls_key):
        raise UsageError(f"{own_files(flags)}: the key is encrypted")  # nobody is there to type the password
    return True


def own_files(flags: argparse.Namespace) -> str:
    return f"--tls-cert {flags.tls_cert}, --tls-key {flags.tls_key}"


@contextlib.contextmanager
def told_as_usage(flags: argparse.Namespace) -> Generator[None]:
    try:
        yield
    except (ssl.SSLError, ValueError) as error:
        raise UsageError(f"{own_files(flags)}: {error}") from None


def check_authorities(flag: str, file: str) -> None:
    """Turns down a file of certificates to trust that cannot be read, or that holds none."""
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cadata=read(f"--{flag}", file))
    except (ssl.SSLError, ValueError):
        raise UsageError(f"--{flag}: {file} holds no PEM certificate") from None


def read(where: str, file: str) -> str:
    try:
        return Path(file).read_text(encoding="latin-1")
    except OSError as error:
        raise UsageError(f"{where}: open {file}: {(error.strerror or str(error)).lower()}") from None
