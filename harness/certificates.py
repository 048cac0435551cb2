"""An authority that signs certificates for tests, in the standard library alone: ECDSA on P-256, X.509 in DER.

For tests only. It takes no care to keep a key from whoever measures its time, and trusts no input.
"""

from __future__ import annotations

import base64
import hashlib
import ipaddress
import secrets
import textwrap
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

# The curve: SEC 2, section 2.4.2.
PRIME = 2**256 - 2**224 + 2**192 + 2**96 - 1
ORDER = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
Point = tuple[int, int]
GENERATOR: Point = (
    0x6B17D1F2E12C4247F8BCE6E563A440F277037D812DEB33A0F4A13945D898C296,
    0x4FE342E2FE1A7F9B8EE7EB4A7C0F9E162BCE33576B315ECECBB6406837BF51F5,
)

# Object identifiers, encoded.
EC_PUBLIC_KEY = bytes.fromhex("06072a8648ce3d0201")
P256 = bytes.fromhex("06082a8648ce3d030107")
ECDSA_SHA256 = bytes.fromhex("06082a8648ce3d040302")
COMMON_NAME = bytes.fromhex("0603550403")
SUBJECT_KEY = bytes.fromhex("0603551d0e")
KEY_USAGE = bytes.fromhex("0603551d0f")
ALTERNATIVE_NAME = bytes.fromhex("0603551d11")
BASIC_CONSTRAINTS = bytes.fromhex("0603551d13")
AUTHORITY_KEY = bytes.fromhex("0603551d23")
EXTENDED_KEY_USAGE = bytes.fromhex("0603551d25")
SERVER = bytes.fromhex("06082b06010505070301")
CLIENT = bytes.fromhex("06082b06010505070302")


def add(a: Point | None, b: Point | None) -> Point | None:
    """The sum of two points; None is the one at infinity."""
    if a is None or b is None:
        return a or b
    if a[0] == b[0]:
        if (a[1] + b[1]) % PRIME == 0:
            return None
        slope = (3 * a[0] * a[0] - 3) * pow(2 * a[1], -1, PRIME) % PRIME
    else:
        slope = (b[1] - a[1]) * pow(b[0] - a[0], -1, PRIME) % PRIME
    x = (slope * slope - a[0] - b[0]) % PRIME
    return x, (slope * (a[0] - x) - a[1]) % PRIME


def times(factor: int) -> Point:
    """That multiple of the generator."""
    total: Point | None = None
    step: Point | None = GENERATOR
    while factor:
        if factor & 1:
            total = add(total, step)
        step = add(step, step)
        factor >>= 1
    assert total is not None
    return total


def der(tag: int, *parts: bytes) -> bytes:
    content = b"".join(parts)
    size = len(content)
    if size < 128:
        return bytes([tag, size]) + content
    length = size.to_bytes((size.bit_length() + 7) // 8, "big")
    return bytes([tag, 128 | len(length)]) + length + content


def sequence(*parts: bytes) -> bytes:
    return der(0x30, *parts)


def integer(value: int) -> bytes:
    return der(0x02, value.to_bytes(value.bit_length() // 8 + 1, "big"))


def octets(content: bytes) -> bytes:
    return der(0x04, content)


def bits(content: bytes, unused: int = 0) -> bytes:
    return der(0x03, bytes([unused]), content)


def name(common: str) -> bytes:
    return sequence(der(0x31, sequence(COMMON_NAME, der(0x0C, common.encode()))))


def time(when: datetime) -> bytes:
    return der(0x17, when.strftime("%y%m%d%H%M%SZ").encode())


def extension(identifier: bytes, value: bytes, critical: bool = False) -> bytes:
    return sequence(identifier, *([der(0x01, b"\xff")] if critical else []), octets(value))


def alternative_names(hosts: tuple[str, ...]) -> bytes:
    parts: list[bytes] = []
    for host in hosts:
        try:
            parts.append(der(0x87, ipaddress.ip_address(host).packed))
        except ValueError:
            parts.append(der(0x82, host.encode()))
    return sequence(*parts)


class Key:
    def __init__(self) -> None:
        self.secret = secrets.randbelow(ORDER - 1) + 1
        x, y = times(self.secret)
        self.point = b"\x04" + x.to_bytes(32, "big") + y.to_bytes(32, "big")
        self.identifier = hashlib.sha1(self.point).digest()

    def public(self) -> bytes:
        return sequence(sequence(EC_PUBLIC_KEY, P256), bits(self.point))

    def private(self) -> bytes:
        """RFC 5915."""
        return sequence(
            integer(1), octets(self.secret.to_bytes(32, "big")), der(0xA0, P256), der(0xA1, bits(self.point))
        )

    def sign(self, content: bytes) -> bytes:
        digest = int.from_bytes(hashlib.sha256(content).digest(), "big")
        once = secrets.randbelow(ORDER - 1) + 1
        r = times(once)[0] % ORDER
        s = pow(once, -1, ORDER) * (digest + r * self.secret) % ORDER
        return sequence(integer(r), integer(s))


@dataclass(frozen=True)
class Identity:
    """A certificate and its key, as files."""

    cert: Path
    key: Path

    def flags(self) -> list[str]:
        return ["--tls-cert", str(self.cert), "--tls-key", str(self.key)]


class Authority:
    """Signs certificates that are valid for an hour, and keeps them as files in a folder."""

    def __init__(self, folder: Path, title: str = "test authority") -> None:
        self.folder = folder
        self.title = title
        self.key = Key()
        self.count = 0
        self.file = self._write("authority", self._certificate(self.key, title, authority=True), self.key).cert

    def server(self, *hosts: str) -> Identity:
        return self._issue("server", SERVER, hosts or ("127.0.0.1", "localhost"))

    def client(self) -> Identity:
        return self._issue("client", CLIENT, ())

    def _issue(self, title: str, usage: bytes, hosts: tuple[str, ...]) -> Identity:
        key = Key()
        return self._write(title, self._certificate(key, title, usage=usage, hosts=hosts), key)

    def _certificate(
        self, key: Key, title: str, authority: bool = False, usage: bytes = b"", hosts: tuple[str, ...] = ()
    ) -> bytes:
        now = datetime.now(UTC)
        extensions = [
            extension(BASIC_CONSTRAINTS, sequence(*([der(0x01, b"\xff")] if authority else [])), critical=True),
            # Of the usages the first is signing, the sixth signing certificates.
            extension(KEY_USAGE, bits(b"\x04", 2) if authority else bits(b"\x80", 7), critical=True),
            extension(SUBJECT_KEY, octets(key.identifier)),
            extension(AUTHORITY_KEY, sequence(der(0x80, self.key.identifier))),
        ]
        if usage:
            extensions.append(extension(EXTENDED_KEY_USAGE, sequence(usage)))
        if hosts:
            extensions.append(extension(ALTERNATIVE_NAME, alternative_names(hosts)))
        algorithm = sequence(ECDSA_SHA256)
        body = sequence(
            der(0xA0, integer(2)),
            integer(secrets.randbits(120) + 1),
            algorithm,
            name(self.title),
            sequence(time(now - timedelta(hours=1)), time(now + timedelta(hours=1))),
            name(title),
            key.public(),
            der(0xA3, sequence(*extensions)),
        )
        return sequence(body, algorithm, bits(self.key.sign(body)))

    def _write(self, title: str, certificate: bytes, key: Key) -> Identity:
        self.count += 1
        stem = f"{title}-{self.count}"
        return Identity(
            self._pem(f"{stem}.pem", "CERTIFICATE", certificate),
            self._pem(f"{stem}.key", "EC PRIVATE KEY", key.private()),
        )

    def _pem(self, file: str, kind: str, content: bytes) -> Path:
        text = "\n".join(textwrap.wrap(base64.b64encode(content).decode(), 64))
        path = self.folder / file
        path.write_text(f"-----BEGIN {kind}-----\n{text}\n-----END {kind}-----\n", encoding="ascii")
        return path
