#!/usr/bin/env python3
"""Run a benchmark configuration: `python3 lab/run.py lab/go.toml [--only ROW] [--pairs N] [--quick]`."""

import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
    from lab.runner.command import run_command

    sys.exit(run_command(sys.argv[1:]))
