"""The reference programs of the languages, and the pairs that they make."""

from __future__ import annotations

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


def bench_words(client: str, target: str, *flags: str) -> tuple[str, ...]:
    return ("bench", "--target", target, "--warmup", "0s", *LANGUAGES[client].peer.bench, *flags)
