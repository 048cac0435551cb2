"""A forwarder that counts what passes, turn by turn.

With one call in flight at a time, request and response take turns on the connection, and the bytes of two turns are
the bytes of one call: exact, whatever the protocol, and without knowing how many calls a warm-up made.
"""

import contextlib
import selectors
import socket
import statistics
from dataclasses import dataclass, field

UP, DOWN = "up", "down"


@dataclass
class Conversation:
    """One forwarded connection: the turns as (direction, bytes)."""

    turns: list[list] = field(default_factory=list)

    def passed(self, direction: str, count: int) -> None:
        if self.turns and self.turns[-1][0] == direction:
            self.turns[-1][1] += count
        else:
            self.turns.append([direction, count])

    def bytes_per_call(self) -> tuple[float, float]:
        """(median, mean) bytes of a call, both ways; the first tenth, while the connection warms up, left out.

        The median is the plain warm call; the mean has its share of pings and credit too.
        """
        warm = self.turns[len(self.turns) // 10 :]
        sizes = {d: [size for direction, size in warm if direction == d] for d in (UP, DOWN)}
        if not sizes[UP] or not sizes[DOWN]:
            return 0.0, 0.0
        median = statistics.median(sizes[UP]) + statistics.median(sizes[DOWN])
        return median, sum(sum(s) for s in sizes.values()) / min(len(s) for s in sizes.values())


class Proxy:
    """Listens on a port of its own and forwards to `target`. Messages must fit the socket buffers: sends block."""

    def __init__(self, target: str):
        host, _, port = target.rpartition(":")
        self._target = (host.strip("[]"), int(port))
        self._selector = selectors.DefaultSelector()
        self._open: list[socket.socket] = []
        self.conversations: list[Conversation] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._selector.register(self._listener, selectors.EVENT_READ)
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"

    def __enter__(self) -> "Proxy":
        return self

    def __exit__(self, *_: object) -> None:
        self._selector.close()
        for each in [self._listener, *self._open]:
            each.close()

    def step(self, timeout: float) -> None:
        """Forward what is there, waiting up to `timeout` for something."""
        for key, _ in self._selector.select(timeout):
            if key.fileobj is self._listener:
                self._accept()
            else:
                self._forward(key.fileobj, *key.data)

    def longest(self) -> Conversation | None:
        """The connection the calls went over; a client may open others to look round."""
        return max(self.conversations, key=lambda c: len(c.turns), default=None)

    def _accept(self) -> None:
        near, _ = self._listener.accept()
        self._open.append(near)
        far = socket.create_connection(self._target, timeout=5)
        self._open.append(far)
        conversation = Conversation()
        self.conversations.append(conversation)
        for sock, other, direction in ((near, far, UP), (far, near, DOWN)):
            sock.settimeout(5)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._selector.register(sock, selectors.EVENT_READ, (other, direction, conversation))

    def _forward(self, sock: socket.socket, other: socket.socket, direction: str, conversation: Conversation) -> None:
        data = b""
        with contextlib.suppress(OSError):
            data = sock.recv(65536)
        if data:
            conversation.passed(direction, len(data))
            with contextlib.suppress(OSError):
                other.sendall(data)
            return
        self._selector.unregister(sock)
        with contextlib.suppress(OSError):
            other.shutdown(socket.SHUT_WR)
