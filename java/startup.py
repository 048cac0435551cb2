#!/usr/bin/env python3
"""Start-up time and resident memory of an idle server and an idle client, ours beside grpc-java's.

`make build peers` makes the programs. Medians of five; the first call is that of a process that was just started.
"""

from __future__ import annotations

import statistics
import subprocess
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PROGRAMS = {
    "trunkcall": (["build/peer-java"], []),
    "grpc-java": (["build/peers/java-grpc"], ["--default"]),
}
RUNS = 5
CALL = ["--method", "Say", "--connections", "1", "--callers", "1"]


def resident(process: subprocess.Popen[str]) -> float:
    """MiB of a process."""
    for line in Path(f"/proc/{process.pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    raise SystemExit(f"process {process.pid} has ended")


def started(words: list[str]) -> subprocess.Popen[str]:
    return subprocess.Popen(words, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)


def ended(process: subprocess.Popen[str]) -> None:
    process.terminate()
    process.communicate()


def measure(program: list[str], flags: list[str]) -> list[float]:
    """Time until it listens (s), memory of the server, time of a client with one call (s), memory of the client."""
    began = time.monotonic()
    server = started([*program, "serve", *flags, "--listen", "127.0.0.1:0"])
    try:
        assert server.stdout is not None
        line = server.stdout.readline()
        listening = time.monotonic() - began
        if not line.startswith("listening "):
            raise SystemExit(f"{program[0]}: it does not listen")
        target = ["--target", line.split()[1]]
        time.sleep(1)
        of_server = resident(server)
        began = time.monotonic()
        once = [*program, "bench", *flags, *target, *CALL, "--calls", "1", "--warmup", "0s"]
        subprocess.run(once, cwd=ROOT, stdout=subprocess.DEVNULL, check=True)
        call = time.monotonic() - began
        client = started(
            [*program, "bench", *flags, *target, *CALL, "--rate", "1", "--duration", "6s", "--warmup", "0s"]
        )
        time.sleep(4)
        of_client = resident(client)
        ended(client)
    finally:
        ended(server)
    return [listening, of_server, call, of_client]


def main() -> None:
    print("program     listens after  idle server  process with one call  idle client")
    for name, (program, flags) in PROGRAMS.items():
        figures = [
            statistics.median(column) for column in zip(*(measure(program, flags) for _ in range(RUNS)), strict=True)
        ]
        print(
            f"{name:<11} {figures[0]:>11.2f} s  {figures[1]:>7.0f} MiB  {figures[2]:>19.2f} s  {figures[3]:>7.0f} MiB"
        )


if __name__ == "__main__":
    main()
