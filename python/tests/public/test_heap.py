"""What freed memory costs where the allocator is glibc's: page faults. Each measurement is a process of its own."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import unittest

MEASURE = """
import resource
rounds = 50
def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt
def some():
    return [b"x" * (1 << 20) for _ in range(5)]  # as many as a message of that size takes on its way
some()
before = faults()
for _ in range(rounds):
    some()
print((faults() - before) // rounds)
"""

CONNECT = """
import asyncio
import trunkcall
async def connect():
    server = trunkcall.Server()
    address = await server.listen("127.0.0.1:0")
    async with trunkcall.Client(address) as client:
        await client.connect()
    await server.close()
asyncio.run(connect())
"""

RETAIN = "import trunkcall\ntrunkcall.retain_heap()\n"


def faults_after(program: str) -> int:
    """Page faults of allocating and freeing five blocks of 1 MiB."""
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith(("MALLOC_", "GLIBC_TUNABLES"))
    }
    done = subprocess.run([sys.executable, "-c", program + MEASURE], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return int(done.stdout)


class Heap(unittest.TestCase):
    def test_clients_and_servers_leave_the_process_as_it_is_and_retain_heap_keeps_freed_memory(self) -> None:
        untouched, connected, retained = faults_after(""), faults_after(CONNECT), faults_after(RETAIN)
        if platform.libc_ver()[0] == "glibc":
            self.assertGreater(connected, untouched / 2)
            self.assertLess(retained, untouched / 4)
