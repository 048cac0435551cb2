from __future__ import annotations

import sys

from .commands import serve

if __name__ == "__main__":
    serve(sys.stdin.buffer, sys.stdout.buffer)
