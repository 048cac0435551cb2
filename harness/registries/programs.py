"""Where the programs of the registries are that tests start: of this machine, or prepared by `make registries`."""

from __future__ import annotations

import os
import re
import shutil
import zipfile
from functools import cache
from pathlib import Path

from harness.languages import ROOT

PREPARED = ROOT / "build" / "registries"
DEBIAN = PREPARED / "debian"  # Debian's packages, unpacked
CONSUL = PREPARED / "consul"
JARS = Path("/usr/share/java")


class Missing(Exception):
    """Why a registry cannot be started on this machine."""


@cache
def etcd() -> str:
    unpacked = DEBIAN / "usr/bin/etcd"
    found = shutil.which("etcd") or (str(unpacked) if unpacked.exists() else None)
    if not found:
        raise Missing("the command etcd is not there, and `make registries` has not prepared it")
    return found


@cache
def consul() -> str:
    found = shutil.which("consul") or (str(CONSUL) if CONSUL.exists() else None)
    if not found:
        raise Missing("the command consul is not there, and `make registries` has not prepared it")
    return found


@cache
def zookeeper() -> tuple[str, str]:
    """The command java, and the class path of Debian's ZooKeeper."""
    java = shutil.which(os.environ.get("JAVA", "java"))
    if not java:
        raise Missing("the command java is not there")
    server = jar(JARS / "zookeeper.jar")
    if not server:
        raise Missing("Debian's libzookeeper-java is not there, and `make registries` has not prepared it")
    # The file names all that it may need by where the packages put it. Some is for tools alone.
    wanted = [*needed(server), JARS / "slf4j-simple.jar"]
    return java, ":".join(map(str, [server, *filter(None, map(jar, wanted))]))


def jar(path: Path) -> Path | None:
    """A file of a package that is installed, or else unpacked."""
    return next((one for one in (path, DEBIAN / path.relative_to("/")) if one.exists()), None)


def needed(server: Path) -> list[Path]:
    with zipfile.ZipFile(server) as file:
        manifest = file.read("META-INF/MANIFEST.MF").decode().replace("\r\n", "\n").replace("\n ", "")
    found = re.search(r"^Class-Path: (.*)$", manifest, re.MULTILINE)
    return [Path(word) for word in found[1].split()] if found else []
