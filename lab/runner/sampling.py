"""What the system knows about a process: CPU time, resident memory, open files; and about the machine.

Linux only (/proc and POSIX CPU clocks), like the programs' own CPU figures.
"""

import contextlib
import os
import time
from dataclasses import dataclass, field

_PAGE = os.sysconf("SC_PAGE_SIZE")
_CPUCLOCK_SCHED = 2


def cpu_seconds(pid: int) -> float:
    """User and system time of a process with all its threads, ended ones included.

    The process's CPU clock counts nanoseconds; utime + stime in /proc/PID/stat, the same quantity, only ticks of 10 ms.
    """
    return time.clock_gettime((~pid << 3) | _CPUCLOCK_SCHED)


def resident_bytes(pid: int) -> int:
    with open(f"/proc/{pid}/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * _PAGE


def open_files(pid: int) -> int:
    return len(os.listdir(f"/proc/{pid}/fd"))


def machine_busy() -> tuple[float, float]:
    """(busy, stolen) CPU-seconds of the whole machine since it started."""
    with open("/proc/stat", encoding="ascii") as file:
        ticks = [int(n) for n in file.readline().split()[1:9]]
    user, nice, system, _idle, _iowait, irq, softirq, steal = ticks
    per_second = os.sysconf("SC_CLK_TCK")
    return (user + nice + system + irq + softirq) / per_second, steal / per_second


@dataclass
class Trace:
    """CPU time of one process, sampled while it runs."""

    pid: int
    at: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    peak_resident: int = 0

    def sample(self) -> None:
        # A process that has just ended is no failure here: the run's own checks name it.
        with contextlib.suppress(OSError, IndexError):
            cpu = cpu_seconds(self.pid)
            self.at.append(time.monotonic())
            self.cpu.append(cpu)
            self.peak_resident = max(self.peak_resident, resident_bytes(self.pid))

    def cpu_at(self, moment: float) -> float:
        """CPU time at a moment, linear between the samples around it."""
        at, cpu = self.at, self.cpu
        if moment <= at[0]:
            return cpu[0]
        for i in range(1, len(at)):
            if moment <= at[i]:
                share = (moment - at[i - 1]) / (at[i] - at[i - 1])
                return cpu[i - 1] + share * (cpu[i] - cpu[i - 1])
        return cpu[-1]

    def load(self, start: float, end: float) -> float:
        """CPU-seconds per second between two moments."""
        return (self.cpu_at(end) - self.cpu_at(start)) / (end - start)


def measured_window(arrived: float, seconds: float) -> tuple[float, float]:
    """The part of a run that counts for CPU, from when the result arrived and how long the client measured.

    The client's clock starts after its warm-up, at a moment it does not tell; its result comes shortly after the clock
    has stopped. A tenth of the time left out at both ends keeps warm-up, sorting of samples and closing of connections
    out, and what remains is steady load.
    """
    margin = seconds / 10
    return arrived - seconds + margin, arrived - margin
