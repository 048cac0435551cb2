#!/usr/bin/env python3
"""Fails when a Python module imports upward: wire <- transport <- http <- the public package <- stubs, programs.

scripts/layers.py does the same for Go, and ARCHITECTURE.md draws the layers. A folder that is not in the table below
fails too, so that each new one gets a place. Imports for types alone count like any others.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PYTHON = ROOT / "python"
PACKAGE = "trunkcall"
PUBLIC = "trunkcall"
GENERATED = "gen"

# Where a module stands -> what it may import: other places, and modules of others by the beginning of their names. The
# modules that lie in src/trunkcall itself are the public package, each folder there is a place of its own.
MAY_IMPORT: dict[str, tuple[set[str], tuple[str, ...]]] = {
    "trunkcall.wire": (set(), ()),
    "trunkcall.policy": (set(), ()),
    "trunkcall.values": (set(), ("msgspec",)),
    "trunkcall.transport": ({"trunkcall.wire"}, ("websockets",)),
    "trunkcall.http": ({"trunkcall.wire", "trunkcall.transport"}, ("h2", "h11", "hyperframe")),
    PUBLIC: (
        {"trunkcall.wire", "trunkcall.policy", "trunkcall.transport", "trunkcall.http", "trunkcall.values"},
        ("google.protobuf", "typing_extensions"),  # the latter for type checkers alone, which bring it
    ),
    "trunkcall.blocking": ({"trunkcall.wire", "trunkcall.transport", "trunkcall.policy", PUBLIC}, ("google.protobuf",)),
    "trunkcall.registry": ({"trunkcall.transport", PUBLIC}, ("google.protobuf", "dns", "h11", "kazoo")),
    "trunkcall.grpcstub": ({PUBLIC, "trunkcall.blocking"}, ("google.protobuf", "grpc")),
    "trunkcall.processes": ({"trunkcall.transport", PUBLIC}, ()),
    "trunkcall.gunicorn": ({"trunkcall.processes", PUBLIC}, ("gunicorn",)),
    "trunkcall.codefirst": ({PUBLIC, "trunkcall.values"}, ()),
    "trunkcall.testing": ({PUBLIC, "trunkcall.blocking", "trunkcall.transport"}, ("pytest",)),
    "session": ({"trunkcall.wire"}, ()),
    "policyplay": ({"trunkcall.policy"}, ()),
    "load": ({GENERATED}, ()),
    "peer": (
        {
            PUBLIC,
            "trunkcall.blocking",
            "trunkcall.grpcstub",
            "trunkcall.codefirst",
            "trunkcall.processes",
            "trunkcall.registry",
            GENERATED,
            "load",
        },
        ("google.protobuf", "grpc", "grpc_health", "grpc_reflection", "uvloop"),
    ),
}


def place(module: str) -> str | None:
    """Where a module stands, None for another's."""
    first, *rest = module.split(".")
    if first == PACKAGE and rest:
        layer = f"{PACKAGE}.{rest[0]}"
        return layer if layer in MAY_IMPORT or (PYTHON / "src" / PACKAGE / rest[0]).is_dir() else PUBLIC
    if first == PACKAGE:
        return PUBLIC
    if first in ("example", "bench", "conformance", "fault"):
        return GENERATED
    return first if first in MAY_IMPORT else None


def is_standard(module: str) -> bool:
    return module.split(".")[0] in sys.stdlib_module_names


def imported(source: str, module: str, is_package: bool) -> Iterator[str]:
    """The full names of what a module imports; of `from trunkcall import y` trunkcall.y, as y may be a folder."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = module.split(".")
            above = above[: len(above) - node.level + is_package] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            yield from (f"{base}.{alias.name}" for alias in node.names) if base == PACKAGE else (base,)


def faults(module: str, source: str, is_package: bool = False) -> list[str]:
    own = place(module)
    if own not in MAY_IMPORT:
        return [f"{module}: scripts/python_layers.py does not know this module's place"]
    places, others = MAY_IMPORT[own]
    found = []
    for name in dict.fromkeys(imported(source, module, is_package)):
        layer = place(name)
        if layer is None:
            allowed = is_standard(name) or any(f"{name}.".startswith(f"{other}.") for other in others)
        else:
            allowed = layer == own or layer in places
        if not allowed:
            found.append(f"{module} imports {name}")
    return found


def modules() -> Iterator[tuple[str, Path]]:
    for top in (PYTHON / "src", PYTHON):
        for path in sorted(top.rglob("*.py")):
            parts = path.relative_to(top).with_suffix("").parts
            if top == PYTHON and parts[0] not in MAY_IMPORT:
                continue  # src, which has had its turn, generated code, tests and tools
            yield ".".join(parts).removesuffix(".__init__"), path


def main() -> int:
    found: list[str] = []
    count = 0
    for module, path in modules():
        count += 1
        found += faults(module, path.read_text(encoding="utf-8"), path.name == "__init__.py")
    print("\n".join(found) or f"{count} modules")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
