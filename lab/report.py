#!/usr/bin/env python3
"""Make a report again from the rows kept of it: `python3 lab/report.py build/lab/<timestamp>`."""

import sys

from runner.command import report_command

if __name__ == "__main__":
    sys.exit(report_command(sys.argv[1:]))
