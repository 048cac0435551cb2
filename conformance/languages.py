"""The reference programs of the languages, and the pairs that they make."""

from __future__ import annotations

from harness.languages import Language, languages, pairs
from harness.prerequisites import present
from harness.programs import Program

LANGUAGES: dict[str, Language] = {key: language for key, language in languages().items() if present(language)}
PROGRAMS: dict[str, Program] = {key: language.program for key, language in LANGUAGES.items()}
# The one that all others meet.
(HUB,) = (key for key, language in LANGUAGES.items() if language.hub)

# Client and server of different languages.
PAIRS = [(a.key, b.key) for a, b in pairs() if a is not b and a.key in PROGRAMS and b.key in PROGRAMS]


def bench_words(client: str, target: str, *flags: str) -> tuple[str, ...]:
    return ("bench", "--target", target, "--warmup", "0s", *LANGUAGES[client].peer.bench, *flags)
