"""Builds the stock clients of conformance/stock into build/stock.

    python3 -m scripts.stock             all for which this machine has the tools
    python3 -m scripts.stock grpc-js     only this one

They are other projects' libraries, whatever languages Trunkcall has: each is built here, by name.

A client whose tools are missing is left out, and a line on stdout says what is missing. Exit status: 0 all others are
there, 1 one could not be built, and stderr says why. What has not changed is not built again.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from harness.languages import ROOT, environment
from scripts import stamps

SOURCES = ROOT / "conformance" / "stock"
BUILT = ROOT / "build" / "stock"
PROTO = ROOT / "spec" / "proto"
GO = os.environ.get("GO", "go")

# Each program finds the tree by where it lies itself.
LAUNCHER = """#!/bin/sh
root=$(cd -- "${0%/*}/../.." && pwd) || exit 1
"""
PYTHON = LAUNCHER + """unset PYTHONDONTWRITEBYTECODE PYTHONHOME PYTHONPATH
export PYTHONPYCACHEPREFIX="$root/build/.cache/python"
exec "$root/build/python/bin/python" "$root/conformance/stock/python/PROGRAM" "$@"
"""
NODE = LAUNCHER + """exec node "$root/build/stock/node/main.js" "$root/spec/proto"
"""
# It runs for a minute at most: what compiles best takes longer to begin.
JAVA = LAUNCHER + """exec java -XX:+UseSerialGC -XX:TieredStopAtLevel=1 \\
	-cp "$root/build/stock/java/classes:$root/build/stock/java/lib/*" com.trunkcall.stock.Main
"""


class Failed(Exception):
    """Why a client could not be built."""


class Missing(Exception):
    """What this machine has not."""


def grpc_go() -> None:
    run([GO, "build", "-o", str(BUILT / "grpc-go"), "."], SOURCES / "go")


def grpcio() -> None:
    environment_of_python()
    launcher("grpcio", PYTHON.replace("PROGRAM", "grpcio_client.py"))


def curl() -> None:
    if "HTTP2" not in said("curl", "--version"):
        raise Missing("a curl that knows HTTP/2")
    environment_of_python()
    launcher("curl", PYTHON.replace("PROGRAM", "curl_client.py"))


def grpc_js() -> None:
    tools = [said("node", "--version"), said("npm", "--version")]
    if version(tools[0]) < 20:
        raise Missing("Node.js 20 or later")
    folder, files = BUILT / "node", sorted((SOURCES / "node").glob("*.js"))
    lock = [SOURCES / "node" / name for name in ("package.json", "package-lock.json", ".npmrc")]

    def make() -> None:
        folder.mkdir(exist_ok=True)
        copy(lock, folder)
        run(["npm", "ci", "--loglevel=error", *npm_cache()], folder)

    made_of(folder, lock, tools, make)
    copy(files, folder)
    launcher("grpc-js", NODE)


def grpc_java() -> None:
    tools = [said("javac", "-version"), said("mvn", "--version")]
    if version(tools[0]) < 17:
        raise Missing("a JDK of Java 17 or later")
    folder, sources = BUILT / "java", SOURCES / "java"
    files = [sources / "pom.xml", *sorted(sources.rglob("*.java")), *sorted(PROTO.rglob("*.proto"))]

    def make() -> None:
        shutil.rmtree(folder, ignore_errors=True)
        run(["mvn", "--quiet", "--batch-mode", *maven_cache(), "process-classes"], sources)

    made_of(folder, files, tools, make)
    launcher("grpc-java", JAVA)


CLIENTS: dict[str, Callable[[], None]] = {
    "grpc-go": grpc_go,
    "grpcio": grpcio,
    "grpc-js": grpc_js,
    "grpc-java": grpc_java,
    "curl": curl,
}


def said(*words: str) -> str:
    """What a tool says of itself. Raises Missing if it is not there."""
    try:
        return subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        raise Missing(f"the command {words[0]}") from None


def version(text: str) -> int:
    found = re.search(r"\d+", text)
    return int(found[0]) if found else 0


def run(words: list[str], folder: Path) -> None:
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


def environment_of_python() -> None:
    run([sys.executable, str(ROOT / "scripts" / "environment.py"), "build/python"], ROOT)


def homeless() -> bool:
    """Whether there is no home to keep caches in; they go under build/ then."""
    return not os.access(os.environ.get("HOME", ""), os.W_OK)


def npm_cache() -> list[str]:
    return [f"--cache={ROOT / 'build' / '.cache' / 'npm'}"] if homeless() else []


def maven_cache() -> list[str]:
    return [f"-Dmaven.repo.local={ROOT / 'build' / '.cache' / 'maven'}"] if homeless() else []


def made_of(folder: Path, files: list[Path], tools: list[str], make: Callable[[], None]) -> None:
    """Makes a folder unless it was made of these files as they are now, by tools that said the same of themselves."""
    wanted = stamps.digest([str(folder), *tools], files)
    stamps.make(BUILT / f"{folder.name}.made-of", wanted, make, folder.exists())


def copy(files: list[Path], folder: Path) -> None:
    for file in files:
        shutil.copyfile(file, folder / file.name)


def launcher(name: str, text: str) -> None:
    path = BUILT / name
    new = path.with_name(f"{name}.new")
    new.write_text(text, encoding="ascii")
    new.chmod(0o755)
    new.replace(path)


def main(names: list[str]) -> int:
    if unknown := set(names) - set(CLIENTS):
        print(f"there is no client {', '.join(sorted(unknown))}; there are {', '.join(CLIENTS)}", file=sys.stderr)
        return 2
    BUILT.mkdir(parents=True, exist_ok=True)
    failed = False
    with stamps.alone(BUILT / ".making", "the stock clients"):
        for name in names or CLIENTS:
            try:
                CLIENTS[name]()
            except Missing as missing:
                (BUILT / name).unlink(missing_ok=True)
                print(f"{name} is left out, for this machine has not {missing}", flush=True)
            except (Failed, OSError) as failure:
                failed = True
                print(f"{name} cannot be built: {failure}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
