#!/usr/bin/env python3
"""Make a report again from the rows kept of it: `python3 lab/report.py build/lab/<timestamp>`."""

import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
    from lab.runner.command import report_command

    sys.exit(report_command(sys.argv[1:]))
