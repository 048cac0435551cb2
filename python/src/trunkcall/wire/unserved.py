"""What is said of a method that is not served."""

from __future__ import annotations

from collections.abc import Iterable

_COMPARED = 1000  # methods at most, so that a peer cannot have many names compared


def unserved(name: bytes, served: Iterable[bytes], side: str = "server") -> str:
    """For the caller. A method whose name differs only by case and underscores is named, as public names are not those
    of members: place_order is served as placeOrder."""
    text = f"method {name.decode('utf-8', 'replace')} is not served by this {side}"
    plain = _plain(name)
    for one, _ in zip(served, range(_COMPARED), strict=False):
        if len(one) <= 2 * len(name) and _plain(one) == plain:
            return f"{text}; {one.decode('utf-8', 'replace')} is"
    return text


def _plain(name: bytes) -> bytes:
    return name.replace(b"_", b"").lower()
