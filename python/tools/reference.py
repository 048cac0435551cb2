"""Makes the reference of the API from the docstrings, as pages of HTML under build/reference/python.

Exit status 1, and what is missing on stderr, if something that users can see has no docstring.
"""

from __future__ import annotations

import importlib
import inspect
import sys
from pathlib import Path
from typing import Any

import pdoc

FOLDER = Path(__file__).resolve().parent.parent.parent / "build" / "reference" / "python"
MODULES = (
    "trunkcall",
    "trunkcall.blocking",
    "trunkcall.codefirst",
    "trunkcall.grpcstub.aio",
    "trunkcall.grpcstub.blocking",
    "trunkcall.gunicorn",
    "trunkcall.processes",
    "trunkcall.testing",
    "trunkcall.testing.blocking",
    "trunkcall.testing.fixtures",
)


def undocumented(name: str) -> list[str]:
    """What a module exports that has no docstring: classes, functions, and their methods."""
    found: list[str] = []
    for exported in sorted(importlib.import_module(name).__all__):
        what: Any = getattr(sys.modules[name], exported)
        if not inspect.isclass(what) and not inspect.isfunction(what):
            continue
        if not inspect.getdoc(what):
            found.append(f"{name}.{exported}")
        members: dict[str, Any] = dict(vars(what)) if inspect.isclass(what) else {}
        for member, value in members.items():
            function = value.fget if isinstance(value, property) else value
            if not member.startswith("_") and inspect.isfunction(function) and not documented(what, member):
                found.append(f"{name}.{exported}.{member}")
    return found


def documented(kind: Any, member: str) -> bool:
    """Whether a member of a class has a docstring, there or where it is overridden from."""
    bases: tuple[type[Any], ...] = kind.__mro__
    return any(inspect.getdoc(vars(base)[member]) for base in bases if member in vars(base))


def main() -> int:
    FOLDER.mkdir(parents=True, exist_ok=True)
    pdoc.pdoc(*MODULES, output_directory=FOLDER)
    missing = undocumented("trunkcall")
    for name in missing:
        print(f"{name} has no docstring", file=sys.stderr)
    return int(bool(missing))


if __name__ == "__main__":
    sys.exit(main())
