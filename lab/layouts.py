#!/usr/bin/env python3
"""Builds of two revisions in several layouts: `python3 lab/layouts.py REVISION [--count N] [--out DIR]`.

DIR then has `old-1 … old-N`, the reference program of Go at REVISION, and `new-1 … new-N`, that of this tree, each with
its functions in another order. By the order alone programs differ by some per cent, which `lab/run.py --against
build/peer-go=DIR` therefore takes in turn (decision 0050).
"""

import argparse
import os
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PATIENCE = 600.0  # that one build may take, in seconds
sys.path.insert(0, str(ROOT))

from harness.processes import Failed, run  # noqa: E402


def make(words: list[str]) -> None:
    done = run(words, cwd=ROOT, patience=PATIENCE)
    if done.status != 0:
        raise Failed(f"{' '.join(words)}: ended with status {done.status}", done.stderr)


def build(tree: Path, name: str, count: int, out: Path) -> None:
    """Link the program of a tree `count` times."""
    for number in range(1, count + 1):
        words = [os.environ.get("GO", "go"), "build", "-C", str(tree / "go"), f"-ldflags=-randlayout={number}"]
        folder = "peer/peer-go" if (tree / "go/peer/peer-go").exists() else "peer"  # older trees have it there
        make([*words, "-o", str(out / f"{name}-{number}"), f"./{folder}"])


def build_both(revision: str, count: int, out: Path) -> None:
    out.mkdir(parents=True, exist_ok=True)
    for left in [*out.glob("old-*"), *out.glob("new-*")]:  # of another revision: the lab takes all that are there
        left.unlink()
    with tempfile.TemporaryDirectory() as directory:
        tree = str(Path(directory) / "tree")
        make(["git", "worktree", "add", "--quiet", "--detach", tree, revision])
        try:
            build(Path(tree), "old", count, out)
        finally:
            make(["git", "worktree", "remove", "--force", tree])
    build(ROOT, "new", count, out)


def main() -> int:
    parser = argparse.ArgumentParser(prog="lab/layouts.py", description="Build two revisions in several layouts.")
    parser.add_argument("revision", metavar="REVISION", help="the older one, as git knows it")
    parser.add_argument("--count", type=int, default=5, metavar="N", help="layouts of each (5)")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "layouts", metavar="DIR", help="build/layouts")
    options = parser.parse_args()
    if options.count < 1:
        parser.error(f"--count {options.count}: want 1 or more")
    try:
        build_both(options.revision, options.count, options.out.resolve())
    except Failed as failure:
        print(f"lab/layouts.py: {failure}", file=sys.stderr)
        return 1
    print(options.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
