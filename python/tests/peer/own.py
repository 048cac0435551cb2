"""The reference program in Python, as a process and within this one."""

from __future__ import annotations

import contextlib
import io
import sys

from harness.processes import Outcome
from harness.programs import Program
from peer import program

PYTHON: Program = (sys.executable, "-P", "-W", "error", "-m", "peer")


def carried_out(*words: str) -> Outcome:
    """Carries a command line out within this process, for commands that are turned down."""
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as err:
        status = program.main(words)
    return Outcome(out.getvalue(), err.getvalue(), status)
