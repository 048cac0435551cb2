"""Ports of the loopback interface that stay one's own while the server behind them is killed and started again.

They lie below those that the system gives to whoever connects, so that nobody's connection takes one meanwhile. Other
processes of the tests are kept away by a Unix socket of the port's name, which ends with this process.
"""

from __future__ import annotations

import random
import socket

LOWEST, HIGHEST = 20_000, 32_000


class Port:
    """One port of 127.0.0.1, until it is given back."""

    def __init__(self) -> None:
        for number in random.sample(range(LOWEST, HIGHEST), HIGHEST - LOWEST):
            guard = socket.socket(socket.AF_UNIX)
            try:
                guard.bind(f"\0trunkcall-port-{number}")
                with socket.socket() as probe:
                    probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                    probe.bind(("127.0.0.1", number))
            except OSError:
                guard.close()
                continue
            self._guard = guard
            self.number = number
            return
        raise OSError(f"all ports from {LOWEST} to {HIGHEST} are taken")

    def close(self) -> None:
        self._guard.close()

    def __str__(self) -> str:
        return str(self.number)
