#!/usr/bin/env python3
"""Run a benchmark configuration: `python3 lab/run.py lab/go.toml [--only ROW] [--pairs N] [--quick]`."""

import sys

from runner.command import run_command

if __name__ == "__main__":
    sys.exit(run_command(sys.argv[1:]))
