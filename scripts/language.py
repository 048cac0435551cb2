"""Carries out a step of the languages as their files (languages/NAME.toml) have it.

    python3 -m scripts.language build                 all parts of all languages
    python3 -m scripts.language build peer examples   only these parts
    python3 -m scripts.language format --only go      of one language
    python3 -m scripts.language list                  the languages
    python3 -m scripts.language --plan build peer     prints the commands and runs none

The environment of a language is made before its first command. A language that is optional is left out where its tools
are missing, and a line says so. Exit status: 0 all well, 1 a command failed, 2 the command line or a file is wrong.
"""

from __future__ import annotations

import argparse
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator

from harness.languages import ROOT, STEPS, Language, Step, Wrong, environment, languages, named
from harness.prerequisites import missing

WHAT = ("build", "environment", "clean", "list", *STEPS)


def steps(language: Language, what: str, parts: list[str]) -> tuple[Step, ...]:
    if what == "build":
        chosen = tuple(step for step in language.build if not parts or step.part in parts)
    else:
        chosen = () if what == "environment" else getattr(language, what)
    return (*language.environment, *chosen) if chosen or what == "environment" else ()


def commands(language: Language, step: Step) -> Iterator[tuple[tuple[str, ...], str]]:
    """Each command of a step, with the folder that it is run in."""
    for folder in step.folders:
        yield language.words(step.command), folder


def carry_out(language: Language, what: str, parts: list[str], plan: bool) -> bool:
    """Whether all went well. What is checked in one folder after the other is, whatever came of the first."""
    for step in steps(language, what, parts):
        statuses = []
        for words, folder in commands(language, step):
            if plan:
                print(f"{folder}: {shlex.join(words)}")
                continue
            (ROOT / "build").mkdir(exist_ok=True)
            statuses.append(subprocess.run(words, cwd=ROOT / folder, env=environment(step)).returncode)
        if any(statuses):
            return False
    return True


def clean(language: Language, plan: bool) -> None:
    for name in language.clean:
        print(f"remove {name}") if plan else shutil.rmtree(ROOT / name, ignore_errors=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--plan", action="store_true", help="print what would be run")
    parser.add_argument("--only", metavar="LANGUAGE", help="all unless given")
    parser.add_argument("what", choices=WHAT)
    parser.add_argument("parts", nargs="*", metavar="PART", help="of build")
    options = parser.parse_args()
    try:
        chosen = [named(options.only)] if options.only else list(languages().values())
        known = {step.part for language in languages().values() for step in language.build}
    except Wrong as wrong:
        print(wrong, file=sys.stderr)
        return 2
    if unknown := [part for part in options.parts if options.what != "build" or part not in known]:
        print(f"there is no part {', '.join(unknown)} to build; there are {', '.join(sorted(known))}", file=sys.stderr)
        return 2
    if options.what == "list":
        print(*(language.key for language in chosen), sep="\n")
        return 0
    well = True
    for language in chosen:
        if options.what == "clean":
            clean(language, options.plan)
        elif language.optional and not options.only and (lacking := missing(language)):
            print(f"{language.name} is left out, for this machine has not {'; '.join(lacking)}", flush=True)
        else:
            well &= carry_out(language, options.what, options.parts, options.plan)
    return 0 if well else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
