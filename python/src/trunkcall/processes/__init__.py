"""Several processes that serve on one port: Python runs one thread of a process at a time, so a service that is to use
more processors needs more processes.

    def make() -> trunkcall.Server:
        server = trunkcall.Server(drain_delay=5)
        server.register(get_user.handler(user))
        return server

    if __name__ == "__main__":
        sys.exit(processes.run(make, "0.0.0.0:4000", processes=4))

`run` forks the processes, and sees to it that there are as many as there should be until it is told to stop. Each of
them makes its server, on an event loop of its own. POSIX only.
"""

from __future__ import annotations

from .service import ServerFactory
from .supervisor import CUT_OFF, NOT_STARTED, OK, run

__all__ = ["CUT_OFF", "NOT_STARTED", "OK", "ServerFactory", "run"]
