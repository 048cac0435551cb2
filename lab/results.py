#!/usr/bin/env python3
"""Write lab/RESULTS.md, and README.md's table, from the rows of runs: `python3 lab/results.py [build/lab/<timestamp> …]`."""

import sys

from runner.command import results_command

if __name__ == "__main__":
    sys.exit(results_command(sys.argv[1:]))
