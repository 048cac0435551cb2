"""The examples print what the README says."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import trunkcall
from example.v1.user_pb2 import GetUserRequest, GetUserResponse
from harness.certificates import Authority
from harness.processes import Process
from harness.programs import serving
from trunkcall.blocking import Client

from .peer.own import PYTHON

GET_USER = trunkcall.unary("/trunkcall.example.v1.UserService/GetUser", GetUserRequest, GetUserResponse)

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "python"


def completed(name: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-W", "error", str(EXAMPLES / name), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def run(name: str, *arguments: object) -> str:
    """What an example prints, and of one that fails what it logs."""
    done = completed(name, *arguments)
    return done.stdout if done.returncode == 0 else done.stdout + done.stderr


class TestExamples(unittest.TestCase):
    def test_the_quickstart_calls_and_fails_with_a_status(self) -> None:
        self.assertEqual(run("quickstart.py"), "found user-7\nINVALID_ARGUMENT, executed: user_id 0: ids begin at 1\n")

    def test_code_first(self) -> None:
        wrong = "want a whole number from 0 to 255, got a number out of range"
        told = f"parameter 1 of /shop/placeOrder, at .count: {wrong}"
        self.assertEqual(run("codefirst.py").splitlines(), ["3 x pear", "Division(quotient=3, remainder=1)", told])

    def test_code_that_blocks(self) -> None:
        failed = "INVALID_ARGUMENT, executed: user_id 0: ids begin at 1"
        several = "found user-1 user-2 user-3 user-4"
        printed = ["found user-7", failed, "listed user-3", "imported 2", several, "meanwhile", "found user-8"]
        self.assertEqual(run("blocking_client.py").splitlines(), printed)

    def test_stock_stubs_run_unchanged(self) -> None:
        self.assertEqual(run("stubs.py"), "found user-7\nINVALID_ARGUMENT: ids begin at 1\n")

    def test_stock_blocking_stubs_run_unchanged(self) -> None:
        several = ["listed user-1 user-2", "imported 2 and found user-8"]
        printed = ["found user-7", "INVALID_ARGUMENT: ids begin at 1", *several]
        self.assertEqual(run("blocking_stubs.py").splitlines(), printed)

    def test_streams(self) -> None:
        self.assertEqual(run("streams.py"), "found user-3\nimported 2\nwatched user-7\nwatched user-8\n")

    def test_errors_with_details(self) -> None:
        said = ("INVALID_ARGUMENT, executed: ids begin at 1", "user_id must be at least 1")
        advice = "UNAVAILABLE: it did not run; repeat it if you like"
        self.assertEqual(run("errors.py").splitlines(), [*said, advice])

    def test_deadlines_and_cancellation_travel(self) -> None:
        stopped = "two services on: cancelled"
        self.assertEqual(run("deadlines.py").splitlines(), ["DEADLINE_EXCEEDED", stopped, stopped])

    def test_codecs_and_compression(self) -> None:
        self.assertEqual(run("codecs.py"), "1500000 bytes\n['3', 'columns']\n")

    def test_a_client_of_grpc_as_it_is(self) -> None:
        with serving(PYTHON, "--listen", "127.0.0.1:0") as server:
            self.assertEqual(run("grpc_client.py", server.address), "found user-7\nfailed with NOT_FOUND\n")

    def test_a_retry_with_a_budget(self) -> None:
        self.assertEqual(run("retry.py"), "user-7 at attempt 3\n")

    def test_a_policy_file(self) -> None:
        file = EXAMPLES.parent / "go" / "policies" / "policy.yaml"
        self.assertEqual(run("policies.py", file), "Ada after 3 attempts\n")

    def test_an_interceptor_of_one_method(self) -> None:
        self.assertEqual(run("cache.py").splitlines(), ["asked for 7", "user-7", "asked for 8", "user-8", "user-7"])

    def test_metrics_of_a_stream_at_both_ends(self) -> None:
        printed = run("metrics.py")
        labels = '{code="NOT_FOUND",method="/trunkcall.example.v1.UserService/ListUsers",side="%s"} 1.0\n'
        self.assertIn("user-0\nuser-1\n", printed)
        for side in ("client", "server"):
            self.assertIn(f"rpc_calls_total{labels % side}", printed)

    def test_traces_of_a_stream_at_both_ends(self) -> None:
        name = "trunkcall.example.v1.UserService/ListUsers"
        self.assertEqual(run("traces.py"), f"3 users\nSERVER {name} within another\nCLIENT {name} root\n")

    def test_tokens(self) -> None:
        rejected = "UNAUTHENTICATED: no token that is known here (refused)"
        self.assertEqual(run("tokens.py"), f"user-7 for ada\n{rejected}\n")

    def test_metadata_there_and_back(self) -> None:
        answers = ["user-7 of north", "user-7 of north server-1 3", "server-1 ['user-1 of north']"]
        self.assertEqual(run("metadata.py").splitlines(), answers)

    def test_mutual_tls(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            authority = Authority(Path(folder))
            server, client = authority.server("localhost"), authority.client()
            printed = run("mutual_tls.py", authority.file, server.cert, server.key, client.cert, client.key)
        self.assertEqual(printed, "hello client\nwithout a certificate: UNAVAILABLE\n")

    def test_programs_without_their_arguments_say_their_usage(self) -> None:
        for name in ("grpc_client.py", "mutual_tls.py", "production/client.py", "production/server.py"):
            with self.subTest(name):
                done = completed(name)
                self.assertEqual(done.returncode, 1)
                self.assertTrue(done.stderr.startswith("usage: "), done.stderr)

    def test_a_server_in_several_processes(self) -> None:
        command = [sys.executable, "-W", "error", str(EXAMPLES / "production" / "processes.py")]
        with Process(command, env={**os.environ, "DRAIN_DELAY": "0"}) as served:
            address = served.line().removeprefix("serving ")
            with Client(address) as client:
                user = client.call(GET_USER, GetUserRequest(user_id=7), timeout=60)
            self.assertRegex(user.name, "^user-7 of [0-9]+$")
            served.signal(signal.SIGTERM)
            self.assertEqual(served.finish().stdout, "stopped\n")

    def test_a_protocol_of_ones_own(self) -> None:
        users = '{"name": "user-7"}\n{"code": "OK", "message": ""}\n{"name": "user-0"}\n{"name": "user-1"}\n'
        failure = '{"code": "NOT_FOUND", "message": "ids begin at 1"}\n'
        self.assertEqual(run("own_protocol.py"), f'{users}{{"code": "OK", "message": ""}}\n{failure}')

    def test_an_application_beside_a_service(self) -> None:
        printed = 'the application starts\n{"title":"the page of user 7"}\nuser-7\nthe application ends\n'
        self.assertEqual(run("mounted.py"), printed)

    def test_a_mock_of_a_server(self) -> None:
        done = completed("mock_server.py")
        self.assertIn("Ran 2 tests", done.stderr)
        self.assertEqual(done.returncode, 0)

    def test_unit_tests_in_memory(self) -> None:
        done = completed("unit_tests.py")
        self.assertIn("Ran 5 tests", done.stderr)
        self.assertEqual(done.returncode, 0)

    def test_examples_of_seams_are_short(self) -> None:
        for name in ("retry", "metrics", "traces", "tokens", "mock_server", "registry", "weighted", "tunnel"):
            with self.subTest(name):
                self.assertLessEqual(len((EXAMPLES / f"{name}.py").read_text().splitlines()), 60)

    def test_servers_are_found(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            command = [sys.executable, "-W", "error", str(EXAMPLES / "discovery.py")]
            with Process([*command, "serve", f"file:{folder}", "first"]) as first:
                self.assertRegex(first.line(), "^first serves 127.0.0.1:[0-9]+$")
                with Process([*command, "call", f"file:{folder}"]) as client:
                    self.assertEqual(client.line(), "found first")
                    with Process([*command, "serve", f"file:{folder}", "second"]) as second:
                        self.assertEqual(client.line(), "found second")
                        done = first.stop()
                        self.assertRegex(done.stdout, "^first answered [0-9]+ calls\n$")
                        self.assertEqual(done.status, 0)
                        done = client.stop()
                        last = "^first answered [0-9]+ calls\nsecond answered [0-9]+ calls\n0 calls failed\n$"
                        self.assertRegex(done.stdout, last)
                        self.assertEqual(done.status, 0, done.stderr)
                        self.assertEqual(second.stop().status, 0)

    def test_a_client_that_has_found_nobody_ends_when_it_is_told_to(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            command = [sys.executable, "-W", "error", str(EXAMPLES / "discovery.py")]
            with Process([*command, "call", f"file:{folder}"]) as client:
                client.wait_said("no instance of")
                done = client.stop()
                self.assertEqual((done.status, done.stdout), (0, "0 calls failed\n"), done.stderr)

    def test_a_registry_that_there_is_not_is_told(self) -> None:
        done = completed("discovery.py", "call", "nowhere:x")
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn('registry "nowhere:x": ', done.stderr)

    def test_a_registry_of_ones_own(self) -> None:
        self.assertEqual(run("registry.py"), "first: 10\nfirst: 5, second: 5\nsecond: 10\n")

    def test_a_list_that_somebody_else_keeps(self) -> None:
        self.assertEqual(run("source.py"), "answered by first\nanswered by second\n")

    def test_a_balancer_of_ones_own(self) -> None:
        self.assertEqual(run("weighted.py"), "both were called, the large one more often: True\n")

    def test_a_dialer_of_ones_own(self) -> None:
        self.assertEqual(run("tunnel.py"), "the proxy is asked for inside.example\nhello through the tunnel\n")
