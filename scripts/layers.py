#!/usr/bin/env python3
"""Fails when a Go package imports upward: wire <- transport <- the public package <- stubs, programs.

ARCHITECTURE.md draws the layers. A package that is not in the table below fails too, so that each new one gets a place.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
MODULE = "github.com/trunkcall/trunkcall/go"
PUBLIC = "."

# The first folder of a package -> what it may import: folders of the module, and modules of others by the beginning
# of their names. Packages of the standard library need no leave.
MAY_IMPORT: dict[str, tuple[set[str], tuple[str, ...]]] = {
    "internal/wire": (set(), ()),
    "internal/policy": (set(), ()),
    "internal/transport": ({"internal/wire", "internal/transport"}, ("golang.org/x/net/", "github.com/coder/websocket", "google.golang.org/protobuf/encoding/protowire")),
    PUBLIC: (
        {"internal/wire", "internal/policy", "internal/transport"},
        ("google.golang.org/protobuf/", "github.com/klauspost/compress/"),
    ),
    "codefirst": ({PUBLIC}, ("google.golang.org/protobuf/", "github.com/go-json-experiment/json/", "github.com/tinylib/msgp/")),
    "capnp": ({PUBLIC, "capnp"}, ("capnproto.org/",)),
    "registry": ({PUBLIC, "gen"}, ("google.golang.org/protobuf/", "github.com/go-json-experiment/json/")),
    "grpcstub": ({PUBLIC}, ("google.golang.org/",)),
    "gen": (set(), ("google.golang.org/", "github.com/planetscale/vtprotobuf/")),
    "peer": ({PUBLIC, "codefirst", "grpcstub", "registry", "gen", "peer"}, ("google.golang.org/", "golang.org/x/sys/", "github.com/HdrHistogram/")),
}
# Registries that are modules of their own: the folder, and what it may import beside the public packages.
MODULES: dict[str, tuple[str, ...]] = {
    "consul": ("github.com/hashicorp/consul/api", "github.com/go-json-experiment/json"),
    "etcd": ("go.etcd.io/etcd/", "go.uber.org/zap", "google.golang.org/grpc"),
    "zookeeper": ("github.com/go-zookeeper/zk",),
}
# Their tests may also use internal packages (tools for tests) and other people's, but nothing that lies above.
LOWER = {"internal/wire", "internal/policy", "internal/transport"}


def place(path: str) -> str | None:
    """The first folder of a package of this module, the first two below internal; None for another's."""
    if path == MODULE or path == MODULE + "_test":
        return PUBLIC
    if path.startswith(MODULE + "/"):
        first, *rest = path.removeprefix(MODULE + "/").split("/")
        layer = "/".join([first, *rest[:1]])
        return layer if layer in MAY_IMPORT else first
    return None


def is_standard(path: str) -> bool:
    return "." not in path.split("/")[0]


def faults(package: dict[str, Any]) -> list[str]:
    own = place(package["ImportPath"])
    if own == "internal":
        return []  # tools for tests, which nothing else may import
    if own not in MAY_IMPORT:
        return [f"{package['ImportPath']}: scripts/layers.py does not know this package's place"]
    folders, others = MAY_IMPORT[own]
    found = []
    for path in package.get("Imports", []):
        layer = place(path)
        if layer is None and not is_standard(path) and not path.startswith(others):
            found.append(f"{package['ImportPath']} imports {path}")
        elif layer is not None and layer not in folders:
            found.append(f"{package['ImportPath']} imports {path}")
    for path in package.get("TestImports", []) + package.get("XTestImports", []):
        layer = place(path)
        if own in LOWER and layer not in {None, own, "internal", *folders}:
            found.append(f"a test of {package['ImportPath']} imports {path}")
    return found


def faults_of_module(package: dict[str, Any], others: tuple[str, ...]) -> list[str]:
    """Of a registry's module: it uses the package registry, and its library."""
    known = (f"{MODULE}/registry", *others)
    return [
        f"{package['ImportPath']} imports {path}"
        for path in package.get("Imports", [])
        if not is_standard(path) and not path.startswith(known)
    ]


def listed(folder: Path) -> list[dict[str, Any]]:
    """The packages of the module in a folder."""
    done = subprocess.run(
        [os.environ.get("GO", "go"), "list", "-json=ImportPath,Imports,TestImports,XTestImports", "./..."],
        cwd=folder,
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    packages: list[dict[str, Any]] = json.loads("[" + done.stdout.replace("}\n{", "},{") + "]")
    return packages


def main() -> int:
    packages = listed(ROOT / "go")
    found = [fault for package in packages for fault in faults(package)]
    for folder, others in MODULES.items():
        found += [fault for package in listed(ROOT / "go" / folder) for fault in faults_of_module(package, others)]
    print("\n".join(found) or f"{len(packages)} packages")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
