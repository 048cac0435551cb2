"""The sockets that processes listen on, made before there are any.

On Linux each place of a process has a socket of its own for HOST:PORT (SO_REUSEPORT), among which the system shares out
the connections. The supervisor keeps all of them open: who takes the place of a process that has died takes its socket,
and with it the connections that nobody has accepted yet.
"""

from __future__ import annotations

import contextlib
import os
import socket
import sys
from collections.abc import Sequence

from trunkcall.transport import PASSIVE, Address, address_of, bind_found, bind_path, parse_address

BALANCES = sys.platform == "linux"  # elsewhere SO_REUSEPORT gives all connections to one of the sockets


class Sockets:
    """Those of all places. Raises OSError, ValueError, TypeError; sockets that were given are then their giver's."""

    def __init__(self, where: Sequence[str | socket.socket], places: int) -> None:
        self.addresses: list[str] = []
        self._of: list[list[socket.socket]] = [[] for _ in range(places)]  # by place, what all share in each of them
        self._paths: list[str] = []  # that were made here, and end here
        taken: list[socket.socket] = []
        try:
            for one in where:
                if isinstance(one, str):
                    self._listen(parse_address(one), one)
                else:
                    self.addresses.append(str(address_of(one)))
                    copy = one.dup()
                    self._share([copy])
                    taken.append(one)
        except BaseException:
            self.close()
            raise
        for one in taken:
            one.close()

    def _listen(self, address: Address, text: str) -> None:
        if address.name:
            raise ValueError(f"{text}: processes share no memory: want HOST:PORT or unix:PATH")
        try:
            if address.path:
                self._share([bind_path(address.path)])
                self._paths.append(address.path)
                self.addresses.append(str(address))
            else:
                self._listen_on_port(address)
        except OSError as error:
            error.filename = error.filename or text
            raise

    def _listen_on_port(self, address: Address) -> None:
        found = socket.getaddrinfo(address.host or None, address.port, **PASSIVE)
        own = BALANCES and len(self._of) > 1
        if own and address.port:  # another program that listens there too is told of, not joined
            for probe in bind_found(found, address.port, False):
                probe.close()
        first = bind_found(found, address.port, own)
        port = int(first[0].getsockname()[1])
        if own:
            self._of[0] += first
            for others in self._of[1:]:
                others += bind_found(found, port, True)
        else:
            self._share(first)
        self.addresses.append(str(Address(address.host, port)))

    def _share(self, bound: list[socket.socket]) -> None:
        for sockets in self._of:
            sockets += bound

    def only(self, place: int) -> list[socket.socket]:
        """In the process that takes the place: its sockets. Those of the others are closed here."""
        own = self._of[place]
        for others in self._of:
            for one in others:
                if one not in own:
                    one.close()
        return own

    def close(self) -> None:
        """Stops listening, as far as this process goes: clients could still connect, to nobody."""
        for sockets in self._of:
            for one in sockets:
                one.close()
        for path in self._paths:
            with contextlib.suppress(OSError):
                os.unlink(path)
        self._paths = []
