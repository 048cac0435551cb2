"""What a figure was measured on: recorded at the head of the rows."""

import contextlib
import os
import platform
import time
from pathlib import Path

from harness.processes import Failed, run


def describe() -> dict:
    """Kernel, CPU, cores, memory, load: what makes runs on two machines differ."""
    return {
        "date": time.strftime("%Y-%m-%d %H:%M:%S %z"),
        "kernel": f"{platform.system()} {platform.release()}",
        "cpu": _field("/proc/cpuinfo", "model name") or platform.machine(),
        "cores": len(os.sched_getaffinity(0)),
        "memory": _field("/proc/meminfo", "MemTotal"),
        "load": list(os.getloadavg()),
        "python": platform.python_version(),
        "environment": {name: os.environ[name] for name in SETTINGS if name in os.environ},
    }


# Settings of runtimes, collectors and allocators. Every program gets the same environment.
SETTINGS = (
    "GOGC", "GOMEMLIMIT", "GOMAXPROCS", "GODEBUG", "PYTHONMALLOC", "GLIBC_TUNABLES", "MALLOC_ARENA_MAX",
    "MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_", "MALLOC_TOP_PAD_", "LD_PRELOAD", "GRPC_ENABLE_FORK_SUPPORT",
    "JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "NODE_OPTIONS", "UV_THREADPOOL_SIZE",
)  # fmt: skip


def versions(commands: dict[str, list[str]], root: str) -> dict[str, str]:
    """First line that each command prints; what fails or prints nothing is left out."""
    found = {}
    for name, command in commands.items():
        line = first_line(command, root)
        if line:
            found[name] = line
    return found


def first_line(command: list[str], root: str, patience: float = 5.0) -> str:
    with contextlib.suppress(Failed):
        done = run(command, cwd=root, patience=patience)
        return done.stdout.strip().partition("\n")[0] if done.status == 0 else ""
    return ""


def _field(path: str, name: str) -> str:
    with contextlib.suppress(OSError):
        for line in Path(path).read_text(encoding="utf-8", errors="replace").splitlines():
            key, _, value = line.partition(":")
            if key.strip() == name:
                return value.strip()
    return ""
