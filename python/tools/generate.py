"""Generates python/gen from spec/proto: messages with their types, and the stubs of the stock gRPC plugin. Messages of
the framework itself, in spec/proto/trunkcall, become a part of the package, without stubs.

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
OWN = Path("trunkcall")  # in the package itself
SRC = ROOT / "python" / "src"


def generate(folder: Path) -> None:
    """Fills a folder; raises CalledProcessError if a source does not compile, which the compiler has then said."""
    sources = sorted(path.relative_to(PROTO) for path in PROTO.rglob("*.proto"))
    compiler = [sys.executable, "-m", "grpc_tools.protoc", f"-I{PROTO}"]
    own = [str(source) for source in sources if OWN in source.parents]
    others = [str(source) for source in sources if OWN not in source.parents]
    for names, kinds in ((own, ("python", "pyi")), (others, ("python", "pyi", "grpc_python"))):
        subprocess.run([*compiler, *(f"--{kind}_out={folder}" for kind in kinds), *names], check=True)
    for path in list(folder.rglob("*")):
        within = path.relative_to(folder)
        if path.is_dir() and (any(path.glob("*.py")) or OWN not in (within, *within.parents)):
            (path / "__init__.py").touch()


def contents(folder: Path) -> dict[Path, bytes]:
    files = [path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    return {path.relative_to(folder): path.read_bytes() for path in files}


def present() -> dict[Path, bytes]:
    """What was generated before: of the package, what lies in folders of generated code alone."""
    folders = {path.parent.relative_to(PROTO) for path in (PROTO / OWN).rglob("*.proto")}
    own = {folder / name: data for folder in folders for name, data in contents(SRC / folder).items()}
    return contents(GEN) | own


def place(name: Path) -> Path:
    return (SRC if OWN in name.parents else GEN) / name


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
    before = present()
    stale = sorted(name for name in wanted.keys() | before.keys() if wanted.get(name) != before.get(name))
    if options.check:
        for name in stale:
            print(f"{place(name).relative_to(ROOT)} is not what spec/proto gives: run `make generate`")
        return 1 if stale else 0
    for name in stale:
        path = place(name)
        if name in wanted:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(wanted[name])
        else:
            path.unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main())
