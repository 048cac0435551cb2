"""Writes api.txt: everything of the package that users can see, a line each, to be read when it changes.

    tools/api.py            writes python/api.txt
    tools/api.py --check    says whether it is as it would be written; exit status 1 if not

What is listed: the names that the modules below export, and of their classes every member without an underscore,
attributes that are only assigned to included.
"""

from __future__ import annotations

import argparse
import ast
import dataclasses
import importlib
import inspect
import re
import sys
import textwrap
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import Any

FILE = Path(__file__).resolve().parent.parent / "api.txt"
MODULES = (
    "trunkcall",
    "trunkcall.blocking",
    "trunkcall.capnp",
    "trunkcall.codefirst",
    "trunkcall.grpcstub.aio",
    "trunkcall.grpcstub.blocking",
    "trunkcall.gunicorn",
    "trunkcall.processes",
    "trunkcall.registry",
    "trunkcall.testing",
    "trunkcall.testing.blocking",
    "trunkcall.testing.fixtures",
)


def lines() -> Iterator[str]:
    for name in MODULES:
        module = importlib.import_module(name)
        for exported in sorted(module.__all__):
            yield from described(f"{name}.{exported}", getattr(module, exported))


def described(name: str, what: Any) -> Iterator[str]:
    if inspect.isclass(what):
        bases = [base.__name__ for base in what.__bases__ if base is not object and not base.__name__.startswith("_")]
        yield f"class {name}" + (f"({', '.join(bases)})" if bases else "") + constructor(what)
        for member in sorted(members(what)):
            yield f"  {name.rpartition('.')[2]}.{member}"
    elif inspect.isfunction(what):
        yield f"def {name}{inspect.signature(what)}"
    else:
        named = type(what).__name__
        yield f"{name} = {what}" if named.endswith("Alias") else f"{name}: {named}"


def constructor(kind: type[Any]) -> str:
    if issubclass(kind, Enum) or inspect.isabstract(kind) or "__init__" not in vars(kind):
        return ""
    return f" {signature(kind.__init__)}"


def signature(function: Any) -> str:
    """A signature without `self`."""
    found = inspect.signature(function)
    return str(found.replace(parameters=[one for one in found.parameters.values() if one.name != "self"]))


def members(kind: type[Any]) -> Iterator[str]:
    """What stands in the class itself and in private classes that it is derived of."""
    seen: set[str] = set()
    for base in kind.__mro__:
        ours = base.__module__.startswith("trunkcall")
        if not ours or (base is not kind and base.__name__ in exported_names()):
            continue
        for name, value in own_members(base):
            if not name.startswith("_") and name not in seen:
                seen.add(name)
                yield value


def exported_names() -> set[str]:
    return {name for module in MODULES for name in importlib.import_module(module).__all__}


def own_members(kind: type[Any]) -> Iterator[tuple[str, str]]:
    if issubclass(kind, Enum):
        yield from ((one.name, f"{one.name} = {one.value!r}") for one in kind)
    fields = {field.name: field.type for field in dataclasses.fields(kind)} if dataclasses.is_dataclass(kind) else {}
    for name, annotation in fields.items():
        yield name, f"{name}: {annotation}"
    for name, value in vars(kind).items():
        if name in fields or (issubclass(kind, Enum) and isinstance(value, kind)):
            continue
        if isinstance(value, property):
            given = inspect.signature(value.fget).return_annotation if value.fget else ""
            yield name, f"{name}: {given}"
        elif isinstance(value, classmethod | staticmethod):
            yield name, f"{name}{signature(vars(kind)[name].__func__)} [{type(vars(kind)[name]).__name__}]"
        elif inspect.isfunction(value):
            kinds = "async " if inspect.iscoroutinefunction(value) else ""
            yield name, f"{kinds}{name}{signature(value)}"
        elif inspect.isclass(value) or not name.startswith("_"):
            yield name, f"{name} = {type(value).__name__}"
    yield from ((name, f"{name} [attribute]") for name in assigned(kind) - set(fields))


def assigned(kind: type[Any]) -> set[str]:
    """The attributes that the functions of a class assign to `self`."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(kind)))
    except (OSError, TypeError):
        return set()
    return {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and isinstance(node.ctx, ast.Store)
        and isinstance(node.value, ast.Name)
        and node.value.id == "self"
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing")
    options = parser.parse_args()
    text = re.sub(r" at 0x[0-9a-f]+", "", "".join(f"{line}\n" for line in lines()))
    if not options.check:
        FILE.write_text(text, encoding="utf-8")
        return 0
    if FILE.exists() and FILE.read_text(encoding="utf-8") == text:
        return 0
    print("python/api.txt is not what the package shows: run `make api`, and read what changes", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
