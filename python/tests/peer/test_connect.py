"""TLS, and connections that cannot be made."""

from __future__ import annotations

import socket
import socketserver
import tempfile
import threading
from pathlib import Path

from harness.certificates import Authority
from harness.processes import Outcome
from harness.programs import USER_7, USERS, ProgramTest, run

from .own import PYTHON


def get_user_7(target: str, *flags: str) -> Outcome:
    return run(PYTHON, "call", "--target", target, USERS + "GetUser", '{"userId":7}', *flags)


class Connecting(ProgramTest):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.authority = Authority(self.folder)
        self.trust = ("--tls-ca", str(self.authority.file))
        self.tls = ("--listen", "127.0.0.1:0", *self.authority.server().flags())

    def test_tls(self) -> None:
        path = self.folder / "s"
        address = self.serve(PYTHON, *self.tls, "--unix", str(path)).address
        for target in (address, f"unix:{path}", address.replace("127.0.0.1", "localhost")):
            with self.subTest(target):
                self.assertEqual(get_user_7(target, *self.trust), Outcome(USER_7))

    def test_mutual_tls(self) -> None:
        address = self.serve(PYTHON, *self.tls, "--tls-client-ca", str(self.authority.file)).address
        own = self.authority.client().flags()
        self.assertEqual(get_user_7(address, *self.trust, *own), Outcome(USER_7))
        self.assert_failure(get_user_7(address, *self.trust), "UNAVAILABLE", "not_sent", address)
        other = Authority(self.folder, "another").client().flags()
        self.assert_failure(get_user_7(address, *self.trust, *other), "UNAVAILABLE", "not_sent", address)

    def test_cleartext_is_refused_unless_allowed(self) -> None:
        address = self.serve(PYTHON, *self.tls).address
        self.assert_failure(get_user_7(address), "UNAVAILABLE", "not_sent", "TLS")
        address = self.serve(PYTHON, *self.tls, "--allow-cleartext").address
        self.assertEqual(get_user_7(address), Outcome(USER_7))
        self.assertEqual(get_user_7(address, *self.trust), Outcome(USER_7))

    def test_a_wrong_certificate_is_named(self) -> None:
        other = Authority(self.folder, "another")
        address = self.serve(PYTHON, *self.tls).address
        got = get_user_7(address, "--tls-ca", str(other.file))
        self.assert_failure(got, "UNAVAILABLE", "not_sent", "certificate verify failed")
        elsewhere = self.authority.server("example.com").flags()
        address = self.serve(PYTHON, "--listen", "127.0.0.1:0", *elsewhere).address
        self.assert_failure(get_user_7(address, *self.trust), "UNAVAILABLE", "not_sent", "certificate verify failed")

    def test_tls_to_a_cleartext_port_fails(self) -> None:
        address = self.serve(PYTHON).address
        self.assert_failure(get_user_7(address, *self.trust), "UNAVAILABLE", "not_sent", address)

    def test_nobody_there_is_named(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as taken:
            closed = f"127.0.0.1:{taken.getsockname()[1]}"
        for target, words in (
            (closed, closed),
            (f"{closed},{closed}", closed),
            (f"unix:{self.folder}/no", "No such file"),
        ):
            with self.subTest(target):
                failure = self.assert_failure(get_user_7(target), "UNAVAILABLE", "not_sent", words)
                self.assertIn(target.split(",")[0], failure["message"])

    def test_another_protocol_is_no_server(self) -> None:
        for greeting in (b"HTTP/1.1 400 Bad Request\r\n\r\n", b"\0\0\0\4\0\0\0\0\0", b"SSH-2.0-x\r\n"):
            with self.subTest(greeting):
                self.assert_failure(
                    get_user_7(self.serve_raw(greeting)), "UNAVAILABLE", "not_sent", "a Trunkcall server"
                )

    def test_a_timeout_bounds_connecting(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as silent:
            target = f"127.0.0.1:{silent.getsockname()[1]}"
            for flags in ((), self.trust):
                with self.subTest(flags):
                    got = get_user_7(target, "--timeout", "50ms", *flags)
                    self.assert_failure(got, "DEADLINE_EXCEEDED", "not_sent", "deadline")

    def serve_raw(self, greeting: bytes) -> str:
        """A server that says the same to everybody."""

        class Greet(socketserver.BaseRequestHandler):
            def handle(self) -> None:
                self.request.recv(4)
                self.request.sendall(greeting)

        server = socketserver.TCPServer(("127.0.0.1", 0), Greet)
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        threading.Thread(target=server.serve_forever, args=(0.01,)).start()
        return f"127.0.0.1:{server.server_address[1]}"
