"""Generates python/gen from spec/proto: messages with their types, and the stubs of the stock gRPC plugin.

    build/python/bin/python python/tools/generate.py            writes
    build/python/bin/python python/tools/generate.py --check    writes nothing; the exit status tells whether it is up
    to date

The modules are called as the files of spec/proto are, example.v1.user_pb2 for example/v1/user.proto, which is what
protoc makes of them for everybody. So `trunkcall` stays the framework's own name.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROTO = ROOT / "spec" / "proto"
GEN = ROOT / "python" / "gen"


def generate(folder: Path) -> None:
    """Fills a folder; raises CalledProcessError if a source does not compile, which the compiler has then said."""
    sources = sorted(str(path.relative_to(PROTO)) for path in PROTO.rglob("*.proto"))
    outputs = [f"--{kind}_out={folder}" for kind in ("python", "pyi", "grpc_python")]
    compiler = [sys.executable, "-m", "grpc_tools.protoc"]
    subprocess.run([*compiler, f"-I{PROTO}", *outputs, *sources], check=True)
    for path in list(folder.rglob("*")):
        if path.is_dir():
            (path / "__init__.py").touch()


def contents(folder: Path) -> dict[str, bytes]:
    files = [path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def main() -> int:
    parser = argparse.ArgumentParser(description="Generates python/gen from spec/proto.")
    parser.add_argument("--check", action="store_true", help="write nothing, say what is out of date")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as made:
        try:
            generate(Path(made))
        except subprocess.CalledProcessError as failure:
            return failure.returncode
        wanted = contents(Path(made))
    present = contents(GEN)
    stale = sorted(name for name in wanted.keys() | present.keys() if wanted.get(name) != present.get(name))
    if options.check:
        for name in stale:
            print(f"python/gen/{name} is not what spec/proto gives: run `make generate`")
        return 1 if stale else 0
    for name in stale:
        path = GEN / name
        if name in wanted:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(wanted[name])
        else:
            path.unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main())
