"""Public names (spec/code-first.md 2)."""

from __future__ import annotations

import re
import string

_SMALL = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)
_LARGE = str.maketrans(string.ascii_lowercase, string.ascii_uppercase)
# Between a small letter, or a digit, and a capital; before the last capital of a run that a small letter follows.
_EDGE = re.compile(r"(?<=[^A-Z_])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][^A-Z0-9_])")


def public_name(member: str) -> str:
    """The lowerCamelCase of a member's name: get_url, getURL and GetURL as getUrl; of ASCII letters alone."""
    words = [word.translate(_SMALL) for word in _EDGE.sub("_", member).split("_") if word]
    return "".join([*words[:1], *(word[0].translate(_LARGE) + word[1:] for word in words[1:])])


def check_public_name(name: object, whose: str) -> str:
    """A name that can be one of a service, method or field. Raises TypeError, ValueError."""
    if not isinstance(name, str):
        raise TypeError(f"the public name of {whose} is {name!r}, want a text")
    if not name or "/" in name:
        raise ValueError(f'the public name of {whose} is "{name}", want at least one character, and no "/"')
    try:
        name.encode()
    except UnicodeEncodeError:
        raise ValueError(f"the public name of {whose} is {name!r}, which is no UTF-8") from None
    return name
