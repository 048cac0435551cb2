"""The reference programs of the languages, and the pairs that they make."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from typing import TypeVar
from unittest import TestCase

from harness.languages import Language
from harness.prerequisites import here, pairs_here
from harness.programs import Program

LANGUAGES: dict[str, Language] = here()
PROGRAMS: dict[str, Program] = {key: language.program for key, language in LANGUAGES.items()}
# The one that all others meet.
(HUB,) = (key for key, language in LANGUAGES.items() if language.hub)

# Client and server of different languages.
PAIRS = [(a.key, b.key) for a, b in pairs_here() if a is not b]


def having(*suites: str) -> list[Language]:
    """Those that take part in all of these suites. Why the others do not is told by test_lacking.py."""
    return [language for language in LANGUAGES.values() if not set(suites) & set(language.lacks.suites)]


Test = TypeVar("Test", bound=type[TestCase])


def each_pair(pairs: Iterable[tuple[str, str]]) -> Callable[[Test], Test]:
    """Makes a class of tests for each `client` and `server`, in the module of the class that it is made of, which has
    none itself."""
    return _each([{"client": client, "server": server} for client, server in pairs])


def each_language(keys: Iterable[str]) -> Callable[[Test], Test]:
    """Likewise, for each `language`."""
    return _each([{"language": key} for key in keys])


def _each(settings: list[dict[str, str]]) -> Callable[[Test], Test]:
    def make(test: Test) -> Test:
        for setting in settings:
            name = test.__name__ + "".join(key.capitalize() for key in setting.values())
            more = {**setting, "__module__": test.__module__, "__test__": True}
            setattr(sys.modules[test.__module__], name, type(name, (test,), more))
        test.__test__ = False  # type: ignore[attr-defined]
        return test

    return make


def bench_words(client: str, target: str, *flags: str) -> tuple[str, ...]:
    return ("bench", "--target", target, "--warmup", "0s", *LANGUAGES[client].peer.bench, *flags)
