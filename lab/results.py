#!/usr/bin/env python3
"""Write lab/RESULTS.md, and README.md's table, from the rows of runs: `python3 lab/results.py [build/lab/<timestamp> …]`."""

import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
    from lab.runner.command import results_command

    sys.exit(results_command(sys.argv[1:]))
