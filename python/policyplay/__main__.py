"""A case in JSON on each line of standard input, its outcome on a line of standard output. spec/vectors/README.md tells
their form; conformance/random_policies.py compares it with that of other languages."""

from __future__ import annotations

import json
import sys

from .cases import play

if __name__ == "__main__":
    for line in sys.stdin:
        print(json.dumps(play(json.loads(line))), flush=True)
