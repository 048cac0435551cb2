#!/usr/bin/env python3
"""Builds of two revisions in several layouts: `python3 lab/layouts.py REVISION [--count N] [--out DIR]`.

DIR then has `old-1 … old-N`, the reference program of Go at REVISION, and `new-1 … new-N`, that of this tree, each with
its functions in another order. By the order alone programs differ by some per cent, which `lab/run.py --against
build/peer-go=DIR` therefore takes in turn (decision 0050).
"""

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def build(tree: Path, name: str, count: int, out: Path) -> None:
    """Link the program of a tree `count` times."""
    for number in range(1, count + 1):
        words = [os.environ.get("GO", "go"), "build", "-C", str(tree / "go"), f"-ldflags=-randlayout={number}"]
        subprocess.run([*words, "-o", str(out / f"{name}-{number}"), "./peer"], check=True)


def main() -> int:
    parser = argparse.ArgumentParser(prog="lab/layouts.py", description="Build two revisions in several layouts.")
    parser.add_argument("revision", metavar="REVISION", help="the older one, as git knows it")
    parser.add_argument("--count", type=int, default=5, metavar="N", help="layouts of each (5)")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "layouts", metavar="DIR", help="build/layouts")
    options = parser.parse_args()
    out = options.out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as directory:
        tree = Path(directory) / "tree"
        git = ["git", "-C", str(ROOT), "worktree"]
        try:
            subprocess.run([*git, "add", "--quiet", "--detach", str(tree), options.revision], check=True)
            build(tree, "old", options.count, out)
        except subprocess.CalledProcessError as failed:
            print(f"lab/layouts.py: {failed}", file=sys.stderr)
            return 1
        finally:
            subprocess.run([*git, "remove", "--force", str(tree)], check=False)
    build(ROOT, "new", options.count, out)
    print(options.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
