"""ZooKeeper, of one node, asked by a client of its protocol that has what tests need."""

from __future__ import annotations

import contextlib
import socket
import struct
from collections.abc import Generator, Iterator, Mapping

from harness.registries import programs
from harness.registries.base import ASKED, RegistryServer

# Operations and errors of the protocol.
CREATE, DELETE, EXISTS, GET, SET, SET_RIGHTS, CHILDREN, CLOSE = 1, 2, 3, 4, 5, 7, 8, -11
NO_NODE, NO_AUTH, NODE_EXISTS, NOT_EMPTY = -101, -102, -110, -111


def string(data: bytes | str) -> bytes:
    data = data.encode() if isinstance(data, str) else data
    return struct.pack(">i", len(data)) + data


# All may do all.
WORLD = struct.pack(">ii", 1, 31) + string("world") + string("anyone")
# Who can never have said who they are.
NOBODY = struct.pack(">ii", 1, 31) + string("digest") + string("nobody:?")


class Refused(OSError):
    """An operation that failed, by its number."""

    def __init__(self, code: int, what: str) -> None:
        super().__init__(f"ZooKeeper: {what}: error {code}")
        self.code = code


class Client:
    """A session; of an id, somebody else's. Raises OSError."""

    def __init__(self, port: int, session: int = 0, patience: float = ASKED) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=patience)
        self.file = self.socket.makefile("rb")
        try:
            self._send(struct.pack(">iqiq", 0, 0, 10_000, session) + string(password(session)))
            (id,) = struct.unpack_from(">q", self._receive(), 8)
            if not id:
                raise Refused(-112, f"session {session:#x} has expired")
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        self.file.close()
        self.socket.close()

    def _send(self, packet: bytes) -> None:
        self.socket.sendall(struct.pack(">i", len(packet)) + packet)

    def _receive(self) -> bytes:
        length = self.file.read(4)
        data = self.file.read(struct.unpack(">i", length)[0]) if len(length) == 4 else b""
        if not data:
            raise OSError("ZooKeeper: the connection has ended")
        return data

    def ask(self, operation: int, body: bytes = b"", what: str = "") -> bytes:
        """Carries out one operation. Raises Refused."""
        self._send(struct.pack(">ii", 1, operation) + body)
        while True:
            answer = self._receive()
            number, _, code = struct.unpack(">iqi", answer[:16])
            if number == 1:
                break
        if code:
            raise Refused(code, what)
        return answer[16:]

    def end_session(self) -> None:
        """Its ephemeral nodes go."""
        with contextlib.suppress(OSError):
            self.ask(CLOSE)

    def children(self, path: str) -> list[str]:
        answer = self.ask(CHILDREN, string(path) + b"\0", path)
        count, at = struct.unpack(">i", answer[:4])[0], 4
        found: list[str] = []
        for _ in range(count):
            (length,) = struct.unpack_from(">i", answer, at)
            found.append(answer[at + 4 : at + 4 + length].decode())
            at += 4 + length
        return found

    def get(self, path: str) -> tuple[bytes, int]:
        """What it holds, and the session that it is bound to, or 0."""
        answer = self.ask(GET, string(path) + b"\0", path)
        (length,) = struct.unpack_from(">i", answer)
        at = 4 + max(length, 0)
        return answer[4:at], struct.unpack_from(">qqqqiiiqiiq", answer, at)[7]

    def create(self, path: str, data: bytes = b"") -> None:
        """With all nodes above it. Raises Refused if it is there."""
        above = path.rpartition("/")[0]
        try:
            self.ask(CREATE, string(path) + string(data) + WORLD + struct.pack(">i", 0), path)
        except Refused as refused:
            if refused.code != NO_NODE or not above:
                raise
            self.create_all(above)
            self.create(path, data)

    def create_all(self, path: str) -> None:
        try:
            self.create(path)
        except Refused as refused:
            if refused.code != NODE_EXISTS:
                raise

    def delete(self, path: str) -> None:
        self.ask(DELETE, string(path) + struct.pack(">i", -1), path)

    def below(self, path: str) -> Iterator[str]:
        """All nodes below one, those that are deepest first. What goes meanwhile has nothing below it."""
        names: list[str] = []
        with suppressed(NO_NODE):
            names = self.children(path)
        for name in names:
            yield from self.below(f"{path}/{name}")
            yield f"{path}/{name}"


def password(session: int) -> bytes:
    """The one that the server gives to a session: the first bytes of Java's random numbers of its id."""
    if not session:
        return bytes(16)
    seed = ((session ^ 0xB3415C00) ^ 0x5DEECE66D) & (1 << 48) - 1
    found = b""
    for _ in range(4):
        seed = (seed * 0x5DEECE66D + 0xB) & (1 << 48) - 1
        found += (seed >> 16).to_bytes(4, "little")
    return found


class ZooKeeper(RegistryServer):
    scheme = "zookeeper"

    @classmethod
    def program(cls) -> tuple[str, str]:
        return programs.zookeeper()

    def prepare(self) -> None:
        settings = {
            **{"dataDir": self.folder / "data", "clientPort": self._ports[0], "clientPortAddress": "127.0.0.1"},
            # Leases of a second, as short as tests have them, are noticed to be over in time.
            **{"tickTime": 200, "minSessionTimeout": 1000, "maxSessionTimeout": 60_000, "maxClientCnxns": 0},
            **{"admin.enableServer": "false", "4lw.commands.whitelist": "ruok"},
        }
        (self.folder / "data").mkdir()
        (self.folder / "zoo.cfg").write_text(
            "".join(f"{key}={value}\n" for key, value in settings.items()), encoding="utf-8"
        )

    def words(self) -> list[str]:
        java, path = self.program()
        return [
            *(java, "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xmx512m", "-Djava.net.preferIPv4Stack=true"),
            *("-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", "-cp", path),
            *("org.apache.zookeeper.server.ZooKeeperServerMain", str(self.folder / "zoo.cfg")),
        ]

    @contextlib.contextmanager
    def client(self, session: int = 0, patience: float = ASKED) -> Generator[Client]:
        client = Client(self._ports[0].number, session, patience)
        try:
            yield client
        finally:
            client.end_session()
            client.close()

    def answers(self) -> bool:
        """What it is asked while it starts it may forget."""
        with self.client(patience=0.5) as client:
            return "zookeeper" in client.children("/")

    def path(self, service: str, id: str) -> str:
        return f"/{self.root}/{service}/{id}"

    def entries(self, service: str) -> Mapping[str, bytes]:
        found: dict[str, bytes] = {}
        with self.client() as client, suppressed(NO_NODE):
            for name in client.children(f"/{self.root}/{service}"):
                with suppressed(NO_NODE, NO_AUTH):  # it has gone since, or is hidden
                    found[name] = client.get(self.path(service, name))[0]
        return found

    def put(self, service: str, id: str, data: bytes) -> None:
        """In place of what there is; then the node is bound to the session that it was bound to."""
        path = self.path(service, id)
        with self.client() as client:
            try:
                client.create(path, data)
            except Refused as refused:
                if refused.code != NODE_EXISTS:
                    raise
                client.ask(SET, string(path) + string(data) + struct.pack(">i", -1), path)

    def hide(self, service: str, id: str) -> None:
        """Makes a node that nobody may read."""
        self.put(service, id, b"")
        path = self.path(service, id)
        with self.client() as client:
            client.ask(SET_RIGHTS, string(path) + NOBODY + struct.pack(">i", -1), path)

    def remove(self, service: str, id: str) -> None:
        with self.client() as client, suppressed(NO_NODE):
            client.delete(self.path(service, id))

    def empty(self) -> None:
        with self.client() as client:
            for path in client.below(f"/{self.root}"):
                with suppressed(NO_NODE, NOT_EMPTY):  # somebody has published again
                    client.delete(path)

    def sessions(self) -> set[int]:
        """Those of all who have published."""
        found: set[int] = set()
        with self.client() as client:
            for path in client.below(f"/{self.root}"):
                with suppressed(NO_NODE, NO_AUTH):
                    found.add(client.get(path)[1])
        return found - {0}

    def expire(self) -> None:
        """Ends the sessions in their own names."""
        for session in self.sessions():
            with self.client(session):
                pass


@contextlib.contextmanager
def suppressed(*codes: int) -> Generator[None]:
    """Operations may fail with these."""
    try:
        yield
    except Refused as refused:
        if refused.code not in codes:
            raise
