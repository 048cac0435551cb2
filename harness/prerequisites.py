"""What languages need of the machine, and whether it has that."""

from __future__ import annotations

import re
import shutil
from functools import cache

from harness.languages import ROOT, Language, Prerequisite, environment, languages, pairs
from harness.processes import Failed, Outcome, plain, run

PATIENCE = 60.0  # for a tool to say what it is, in seconds


def missing(language: Language, tests: bool = False) -> list[str]:
    """What is missing on this machine, a text for each; `tests`: of what only tests need, too."""
    wanted = [one for one in language.prerequisites if tests or not one.for_tests]
    return [fault for one in wanted if (fault := lacks(one, language.words((one.command,))[0]))]


def present(language: Language) -> bool:
    """Whether the language takes part: one that is optional is left out where its tools are not."""
    return not (language.optional and missing(language))


def here() -> dict[str, Language]:
    """The languages that take part on this machine, by their keys: what everything uses that runs their programs."""
    return {key: language for key, language in languages().items() if present(language)}


def pairs_here(whole: bool | None = None) -> list[tuple[Language, Language]]:
    """The pairs of client and server among those that take part."""
    there = here()
    return [(client, server) for client, server in pairs(whole) if client.key in there and server.key in there]


@cache
def lacks(one: Prerequisite, command: str) -> str:
    """Why a prerequisite is not met; empty if it is."""
    wanted = f"{one.what} {one.least} or later" if one.least else one.what
    if not shutil.which(command):
        return f"{wanted}: the command {command} is not there"
    try:
        asked = ask(one, command)
    except Failed as failed:
        return f"{wanted}: {failed}"
    said = "\n".join(filter(None, map(answer, (asked.stdout, asked.stderr))))
    if asked.status != 0:
        return f"{wanted}: {command} says {said or f'nothing, and ends with status {asked.status}'}"
    if one.least and version(said) < version(one.least):
        return f"{wanted}: {command} is {said}"
    return ""


@cache
def ask(one: Prerequisite, command: str) -> Outcome:
    """What it says when it is asked. Raises Failed if it does not end."""
    return run([command, *one.asks], cwd=ROOT / one.folder, env=environment(), patience=PATIENCE)


def answer(said: str) -> str:
    """What a tool says of itself. A virtual machine of Java also says which options it has taken from a variable."""
    return "\n".join(line for line in plain(said).strip().splitlines() if not line.startswith("Picked up "))


def version(text: str) -> tuple[int, ...]:
    """The first number with dots in a text; nothing if there is none, which is less than any."""
    found = re.search(r"\d+(\.\d+)*", text)
    return tuple(int(part) for part in found[0].split(".")) if found else ()
