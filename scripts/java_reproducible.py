"""Checks that the jars of Java are the same bytes whenever and wherever they are built: builds them twice, in different
folders and time zones, and compares them. What Maven has them built by has to stand in java/pom.xml with its version, so
that another Maven brings no other plugin. A jar has the rights of the files in it, so both are built with umask 022."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("java", "lab/peers/java", "examples/java", "spec/proto")
# What users are given, and the program that the languages are compared with.
MODULES = (
    ":trunkcall",
    ":trunkcall-grpc",
    ":trunkcall-test",
    ":trunkcall-spring-boot-starter",
    ":trunkcall-peer",
)
SECONDS = 1_200  # that a build may take
RAN = re.compile(r"^\[INFO\] --- ([a-z-]+):([^:\s]+):\S+ .*@ ", re.MULTILINE)


def main() -> int:
    with tempfile.TemporaryDirectory() as made:
        one, another = Path(made) / "one", Path(made) / "another" / "folder"
        for part in FOLDERS:
            shutil.copytree(ROOT / part, one / part, ignore=shutil.ignore_patterns("target"))
            shutil.copytree(one / part, another / part)
        ran, first = build(one, "UTC")
        _, second = build(another, "Asia/Tokyo")
    wrong = [f"{name} differs between two builds" for name in compared(first, second)]
    wrong += [f"{plugin} {version} is not in java/pom.xml" for plugin, version in unlocked(ran)]
    for line in wrong:
        print(line)
    if not ran:
        print("what Maven prints names no plugin")
        return 1
    if len(first) < len(MODULES):
        print(f"only these were built: {', '.join(sorted(first)) or 'none'}")
        return 1
    return 1 if wrong else 0


def build(folder: Path, zone: str) -> tuple[set[tuple[str, str]], dict[str, str]]:
    """The plugins that ran, with their versions, and the digests of the jars, by name."""
    command = [
        "mvn",
        "-B",
        "-f",
        "java",
        "package",
        "-Dmaven.test.skip",
        "-Dstyle.color=never",
    ]
    command += ["-pl", ",".join(MODULES), "-am"]
    done = subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, "TZ": zone},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=SECONDS,
        check=False,
        umask=0o022,
    )
    if done.returncode:
        sys.exit(f"{' '.join(command)} failed:\n{done.stdout}")
    jars = {path.name: digest(path) for path in folder.glob("java/*/target/*.jar")}
    return {(full(plugin), version) for plugin, version in RAN.findall(done.stdout)}, jars


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def full(plugin: str) -> str:
    """A plugin's own name, which Maven 3.9 shortens."""
    if plugin.endswith(("-plugin", "-maven")):
        return plugin
    return f"maven-{plugin}-plugin"


def compared(first: dict[str, str], second: dict[str, str]) -> list[str]:
    return [name for name in sorted(first.keys() | second.keys()) if first.get(name) != second.get(name)]


def unlocked(ran: set[tuple[str, str]]) -> list[tuple[str, str]]:
    """Those that no part of java/pom.xml names with that version."""
    text = (ROOT / "java/pom.xml").read_text(encoding="utf-8")
    properties = dict(re.findall(r"<([a-z.]+)>([^<]+)</\1>", text))
    named = {
        (plugin, properties.get(version.strip("${}"), version))
        for plugin, version in re.findall(r"<artifactId>([^<]+)</artifactId>\s*<version>([^<]+)</version>", text)
    }
    return sorted((plugin, version) for plugin, version in ran if not named & spelled(plugin, version))


def spelled(plugin: str, version: str) -> set[tuple[str, str]]:
    short = plugin.removeprefix("maven-").removesuffix("-plugin")
    return {(plugin, version), (f"{short}-maven-plugin", version)}


if __name__ == "__main__":
    sys.exit(main())
