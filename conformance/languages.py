"""The reference programs of the languages, and the pairs that they make."""

from __future__ import annotations

from harness.programs import GO, PYTHON, Program

PROGRAMS: dict[str, Program] = {"go": GO, "python": PYTHON}

# Flags that a program's bench command wants whatever it measures.
BENCH_FLAGS = {"go": (), "python": ("--async",)}

# Client and server of different languages.
PAIRS = [(client, server) for client in PROGRAMS for server in PROGRAMS if client != server]


def bench_words(client: str, target: str, *flags: str) -> tuple[str, ...]:
    return ("bench", "--target", target, "--warmup", "0s", *BENCH_FLAGS[client], *flags)
