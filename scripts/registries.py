"""Prepares the servers of other registries for the tests, in build/registries: what `make registries` does.

    python3 -m scripts.registries            all of them
    python3 -m scripts.registries etcd       only this one

etcd and ZooKeeper are what this machine has, or else Debian's packages, fetched by apt-get and unpacked: nothing is
installed, and nobody need be root. Consul is built from source, by a module of its own, which takes some minutes the
first time. What is there already is not made again.

A line on stdout for each says where it is, or why it is left out. Exit status: 0 all others are there, 1 one could not
be made, and stderr says why.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from harness.languages import ROOT, environment
from harness.registries import SERVERS, missing, programs
from scripts import stamps

CONSUL = ROOT / "conformance" / "registries" / "consul"
GO = os.environ.get("GO", "go")
# apt-get keeps what it knows of packages and what it has fetched in folders of ours.
FETCHED = programs.PREPARED / "fetched"
APT = (
    *("apt-get", "-qq", "-o", f"Dir::State::Lists={FETCHED / 'lists'}", "-o", f"Dir::Cache={FETCHED}"),
    *("-o", f"Dir::Cache::Archives={FETCHED / 'archives'}", "-o", "APT::Sandbox::User=", "-o", "Debug::NoLocking=true"),
    *("-o", "Acquire::Retries=3"),
)


class Failed(Exception):
    """Why a server could not be made."""


def debian(package: str, file: str) -> None:
    """Unpacks a package of Debian's that has a file, with all that it needs and this machine has not installed."""
    if not shutil.which("apt-get") or not shutil.which("dpkg-deb"):
        return  # it is missing then, and said to be
    stamps.make(
        programs.PREPARED / f"{package}.unpacked", package, lambda: fetch(package), (programs.DEBIAN / file).exists()
    )


def fetch(package: str) -> None:
    for folder in (FETCHED / "lists" / "partial", FETCHED / "archives" / "partial"):
        folder.mkdir(parents=True, exist_ok=True)
    try:
        run([*APT, "update"])
        run([*APT, "install", "--download-only", "--yes", "--no-install-recommends", package])
        for file in sorted((FETCHED / "archives").glob("*.deb")):
            run(["dpkg-deb", "--extract", str(file), str(programs.DEBIAN)])
    finally:
        shutil.rmtree(FETCHED, ignore_errors=True)


def etcd() -> None:
    if not shutil.which("etcd"):
        debian("etcd-server", "usr/bin/etcd")


def zookeeper() -> None:
    if not (programs.JARS / "zookeeper.jar").exists():
        debian("libzookeeper-java", "usr/share/java/zookeeper.jar")


def consul() -> None:
    if shutil.which("consul") or not shutil.which(GO):
        return
    wanted = stamps.digest([run([GO, "env", "GOVERSION"], CONSUL)], [CONSUL / "go.mod", CONSUL / "go.sum"])

    def make() -> None:
        print("building Consul from source, which takes some minutes the first time …", file=sys.stderr, flush=True)
        run([GO, "build", "-o", str(programs.CONSUL), "github.com/hashicorp/consul"], CONSUL)

    stamps.make(programs.PREPARED / "consul.made-of", wanted, make, programs.CONSUL.exists())


PREPARE: dict[str, Callable[[], None]] = {"etcd": etcd, "zookeeper": zookeeper, "consul": consul}
assert set(PREPARE) == {one.scheme for one in SERVERS.values()}


def run(words: list[str], folder: Path = ROOT) -> str:
    """What it prints. Raises Failed."""
    done = subprocess.run(
        words,
        cwd=folder,
        env=environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        pass_fds=stamps.held(),
    )
    if done.returncode != 0:
        raise Failed(f"{' '.join(words)}:\n{done.stdout.strip()}")
    return done.stdout


def main(names: list[str]) -> int:
    if unknown := set(names) - set(PREPARE):
        print(f"there is no registry {', '.join(sorted(unknown))}; there are {', '.join(PREPARE)}", file=sys.stderr)
        return 2
    failed = False
    with stamps.alone(programs.PREPARED / ".making", "the registries"):
        for name in names or PREPARE:
            try:
                PREPARE[name]()
            except (Failed, OSError) as failure:
                failed = True
                print(f"{name} cannot be made: {failure}", file=sys.stderr)
                continue
            for found in (programs.etcd, programs.zookeeper, programs.consul):
                found.cache_clear()
            why = missing(name)
            print(f"{name} is left out: {why}" if why else f"{name} is there", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
