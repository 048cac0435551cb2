"""Carries out a step of the languages as their files (languages/NAME.toml) have it.

    python3 -m scripts.language build                 all parts of all languages
    python3 -m scripts.language build peer examples   only these parts
    python3 -m scripts.language format --only go      of one language
    python3 -m scripts.language list                  the languages
    python3 -m scripts.language --plan build peer     prints the commands and runs none

The environment of a language is made before its first command. One process at a time makes what belongs to a language, and
what is there already, of the same inputs, is not made again. A language that is optional is left out where its tools
are missing, and a line says so. Exit status: 0 all well, 1 a command failed, 2 the command line or a file is wrong.
"""

from __future__ import annotations

import argparse
import contextlib
import shlex
import shutil
import subprocess
import sys

from harness.languages import ROOT, STEPS, Language, Making, Step, environment, languages, named
from harness.prerequisites import ask, missing
from harness.processes import Failed
from harness.tables import Wrong
from scripts import stamps

STAMPS = ROOT / "build" / ".languages"
WHAT = ("build", "environment", "clean", "list", *STEPS)


def steps(language: Language, what: str, parts: list[str]) -> tuple[Step, ...]:
    """Those that follow the environment."""
    if what == "build":
        return tuple(step for step in language.build if not parts or step.part in parts)
    return () if what == "environment" else getattr(language, what)


def carry_out(language: Language, what: str, parts: list[str], plan: bool) -> bool:
    """Whether all went well."""
    chosen = steps(language, what, parts)
    if not chosen and what != "environment":
        return True
    before = language.environment
    made = (*before, *chosen) if what == "build" else before
    if plan:
        return all(run(language, step, plan=True) for step in (*before, *chosen))
    with stamps.alone(STAMPS / f"{language.key}.lock", language.name) if made else contextlib.nullcontext():
        well = all(make(language, step) for step in made if isinstance(step, Making))
    return well and (what == "build" or all(run(language, step) for step in chosen))


def make(language: Language, step: Making) -> bool:
    """Runs the step unless what it makes is fresh."""
    if not step.inputs:
        return run(language, step)
    # What is built depends on the environment, too.
    of = [*language.environment, step] if step in language.build else [step]
    files = [file for one in of for file in language.files(one.inputs)]
    wanted = stamps.digest([repr(of), str(ROOT), *variables(language, of), *tools(language)], files)
    there = all((ROOT / name).exists() for name in step.outputs)
    number = (*language.environment, *language.build).index(step)
    return stamps.make(STAMPS / f"{language.key}-{number}", wanted, lambda: run(language, step), there)


def variables(language: Language, of: list[Making]) -> list[str]:
    """What the commands are given of the variables that the language or the steps set."""
    found = []
    for step in of:
        given = environment(step)
        names = {**language.variables, **language.without_home, **step.variables}
        found += [f"{name}={given.get(name, '')}" for name in names]
    return found


def tools(language: Language) -> list[str]:
    """What the tools of the machine say of themselves."""
    found = []
    for one in language.prerequisites:
        with contextlib.suppress(Failed):  # some are for tests only
            found.append(repr(ask(one, language.words((one.command,))[0])))
    return found


def run(language: Language, step: Step, plan: bool = False) -> bool:
    """Whether all went well. What is checked in one folder after the other is, whatever came of the first."""
    statuses = []
    words = language.words(step.command)
    for folder in step.folders:
        if plan:
            print(f"{folder}: {shlex.join(words)}")
        else:
            (ROOT / "build").mkdir(exist_ok=True)
            done = subprocess.run(words, cwd=ROOT / folder, env=environment(step), pass_fds=stamps.held())
            statuses.append(done.returncode)
    return not any(statuses)


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
            try:
                well &= carry_out(language, options.what, options.parts, options.plan)
            except Wrong as wrong:
                print(f"{language.key}.toml: {wrong}", file=sys.stderr)
                return 2
    return 0 if well else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
