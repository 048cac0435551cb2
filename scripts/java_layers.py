#!/usr/bin/env python3
"""Fails when a Java class imports upward: wire <- transport <- client <- the public package <- code-first,
and policy, which knows nothing but numbers and text, below the client.

scripts/layers.py does the same for Go, and ARCHITECTURE.md draws the layers. A package that is not in the table below
fails too, so that each new one gets a place. Of a layer that may not use the public package some may use values of it.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCES = "java/*/src/main/java/**/*.java"
PUBLIC = "io.trunkcall"
WIRE = "io.trunkcall.internal.wire"
TRANSPORT = "io.trunkcall.internal.transport"
HTTP = "io.trunkcall.internal.transport.http"
POLICY = "io.trunkcall.internal.policy"
CLIENT = "io.trunkcall.internal.client"
GRPC = "io.trunkcall.grpc"
CODE_FIRST = "io.trunkcall.codefirst"
REGISTRY = "io.trunkcall.registry"
PROGRAMS = ("io.trunkcall.peer", "io.trunkcall.jmh")

VALUES = {"Code", "Delivery", "Metadata", "Priority", "Status", "StatusException"}

# Package -> the other packages of ours that it may import, and what it may import of others, by the beginning.
MAY_IMPORT: dict[str, tuple[set[str], tuple[str, ...]]] = {
    WIRE: (set(), ()),
    TRANSPORT: ({WIRE}, ("io.netty.", "javax.net.ssl.")),
    HTTP: ({WIRE, TRANSPORT}, ("io.netty.", "javax.net.ssl.", "com.fasterxml.jackson.core.", "com.google.protobuf.")),
    POLICY: (set(), ()),
    CLIENT: ({PUBLIC, TRANSPORT, POLICY}, ()),  # it keeps endpoints, whose words are the user's; no connection, no Netty
    PUBLIC: (
        {WIRE, TRANSPORT, HTTP, POLICY, CLIENT},
        ("io.netty.channel.EventLoop", "com.google.protobuf.", "com.github.luben.zstd.", "javax.net.ssl."),
    ),
    GRPC: ({PUBLIC}, ("io.grpc.", "com.google.protobuf.", "com.google.rpc.", "javax.net.ssl.")),
    CODE_FIRST: ({PUBLIC}, ("com.google.protobuf.", "io.github.classgraph.", "com.fasterxml.jackson.")),
    # What an address is, and how pauses grow, is said once; records are read by the library that code-first has.
    REGISTRY: (
        {PUBLIC, TRANSPORT, CLIENT},
        ("com.fasterxml.jackson.core.", "com.google.protobuf.", "com.trunkcall.registry.v1.", "javax.naming."),
    ),
    "io.trunkcall.etcd": ({REGISTRY}, ("io.etcd.jetcd.", "io.grpc.Status")),
    "io.trunkcall.zookeeper": ({REGISTRY}, ("org.apache.zookeeper.",)),
    "io.trunkcall.consul": ({REGISTRY}, ("com.fasterxml.jackson.core.",)),
    "io.trunkcall.test": ({PUBLIC, CODE_FIRST}, ("org.junit.jupiter.api.",)),
    "io.trunkcall.spring": (
        {PUBLIC, CODE_FIRST, GRPC},
        ("org.springframework.", "io.micrometer.core.", "io.grpc.BindableService", "io.netty.util.Version"),
    ),
}
OF_ALL = ("java.", "org.jspecify.annotations.")

IMPORT = re.compile(r"^import (?:static )?([\w.]+(?:\.\*)?);", re.MULTILINE)
PACKAGE = re.compile(r"^package ([\w.]+);", re.MULTILINE)


def split(name: str) -> tuple[str, str]:
    """The package of a class, and the class with what is within it."""
    parts = name.split(".")
    first = next((i for i, part in enumerate(parts) if part[:1].isupper() or part == "*"), len(parts))
    return ".".join(parts[:first]), ".".join(parts[first:])


def faults(package: str, source: str) -> Iterator[str]:
    """What a class of a package imports that it may not."""
    ours, others = MAY_IMPORT[package]
    for name in IMPORT.findall(source):
        where, what = split(name)
        if where == package or name.startswith((*OF_ALL, *others)) or where in ours:
            continue
        if where == PUBLIC and package in (WIRE, TRANSPORT, HTTP, POLICY) and what.split(".")[0] in VALUES:
            continue
        yield name


def main() -> int:
    wrong = 0
    for path in sorted(ROOT.glob(SOURCES)):
        source = path.read_text(encoding="utf-8")
        found = PACKAGE.search(source)
        package = found.group(1) if found else ""
        if not package.startswith(PUBLIC) or package.startswith(PROGRAMS):
            continue  # programs, which use public packages as everybody does
        if package not in MAY_IMPORT:
            print(f"{path.relative_to(ROOT)}: package {package} has no place in the layers")
            wrong += 1
            continue
        for name in faults(package, source):
            print(f"{path.relative_to(ROOT)}: {package} must not import {name}")
            wrong += 1
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
