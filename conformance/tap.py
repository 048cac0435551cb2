"""Stands between a client and a server, so that a test can act when a certain number of bytes has passed."""

from __future__ import annotations

import contextlib
import socket
import threading


class Tap:
    """Forwards connections to an address. `passed` is set when that many bytes have come from clients."""

    def __init__(self, target: str, after: int) -> None:
        host, _, port = target.rpartition(":")
        self.target = (host, int(port))
        self.passed = threading.Event()
        self._left = after
        self._counting = threading.Lock()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"
        self._threads: list[threading.Thread] = []
        self._start(self._accept)

    def __enter__(self) -> Tap:
        return self

    def stop_listening(self) -> None:
        """Takes no more connections, as a server does that drains."""
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def __exit__(self, *_: object) -> None:
        """Waits until all connections have ended by themselves."""
        self.stop_listening()
        for thread in self._threads:
            thread.join()

    def _start(self, work: object, *arguments: object) -> None:
        thread = threading.Thread(target=work, args=arguments, daemon=True)  # type: ignore[arg-type]
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                self._start(self._join, client)

    def _join(self, client: socket.socket) -> None:
        """Forwards both ways until both have ended. A server that is gone ends the client's connection."""
        with client:
            try:
                server = socket.create_connection(self.target)
            except OSError:
                return
            with server:
                back = threading.Thread(target=forward, args=(server, client), daemon=True)
                back.start()
                forward(client, server, self._count)
                back.join()

    def _count(self, size: int) -> None:
        with self._counting:
            self._left -= size
            if self._left <= 0:
                self.passed.set()


def forward(source: socket.socket, sink: socket.socket, count: object = None) -> None:
    """Passes bytes on to their end, and then the end; an end by error is passed on as one."""
    try:
        while piece := source.recv(1 << 16):
            sink.sendall(piece)
            if callable(count):
                count(len(piece))
        sink.shutdown(socket.SHUT_WR)
    except OSError:
        for end in (source, sink):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
