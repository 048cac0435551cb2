"""The command line as a whole, and the parts that need no server."""

from __future__ import annotations

import logging
import socket
import tempfile
import unittest
from pathlib import Path

from google.protobuf import any_pb2

from harness.processes import Outcome
from harness.programs import ProgramTest, run
from load import UsageError
from peer import details, jsonform, log, program, target

from .own import PYTHON, carried_out


class Commands(ProgramTest):
    def test_a_wrong_command_lists_the_commands(self) -> None:
        for words in ((), ("answer",), ("--listen", "127.0.0.1:0")):
            with self.subTest(words):
                got = carried_out(*words)
                self.assertEqual((got.status, got.stdout), (2, ""))
                self.assertTrue(got.stderr.endswith(program.USAGE))

    def test_help_is_no_error(self) -> None:
        self.assertEqual(carried_out("help"), Outcome(program.USAGE))
        for command, wanted in (
            ("serve", ("--allow-cleartext", "listening HOST:PORT", "protobuf or protobuf-stock", "--uvloop")),
            ("call", ("--metadata", f"\n  {'trunkcall.example.v1.UserService/GetUser'}\n", "(client-streaming)\n")),
            ("bench", ("--callers", "--async", "not there yet", "Say, Echo,", "--tls-cert", "fell behind")),
        ):
            with self.subTest(command):
                got = carried_out(command, "-h")
                self.assertEqual((got.status, got.stderr), (0, ""))
                for words in wanted:
                    self.assertIn(words, got.stdout)

    def test_the_version_names_what_it_runs_on(self) -> None:
        got = carried_out("version")
        self.assertEqual((got.status, got.stderr, got.stdout.count("\n")), (0, "", 1))
        self.assertRegex(got.stdout, r"^peer-python .*protobuf [\d.]+ .*CPython [\d.]+\n$")

    def test_serve_turns_down_what_it_cannot_do(self) -> None:
        tcp = ("--listen", "127.0.0.1:0")
        for words, text in (
            ((), "--listen or --unix is needed"),
            (("--listen", "127.0.0.1"), "want HOST:PORT"),
            ((*tcp, "more"), "more"),
            ((*tcp, "--port", "1"), "--port"),
            ((*tcp, "--inline", "--codec", "protobuf-stock"), "--inline needs --codec protobuf"),
            ((*tcp, "--codec", "json"), "--codec json: want protobuf or protobuf-stock"),
            ((*tcp, "--compression", "zip"), "--compression zip: want gzip or zstd"),
            ((*tcp, "--tls-cert", "x"), "--tls-key"),
            ((*tcp, "--allow-cleartext"), "--tls-cert"),
            ((*tcp, "--tls-client-ca", "x"), "--tls-cert"),
            ((*tcp, "--tls-cert", "nofile", "--tls-key", "nofile"), "nofile: no such file"),
        ):
            with self.subTest(words):
                self.assert_usage(carried_out("serve", *words), text)

    def test_bench_turns_down_what_it_cannot_do(self) -> None:
        for words, text in (
            ("--codec protobuf-stock", "--codec protobuf-stock needs --async"),
            ("--async --inline", "--inline is not there yet"),
            ("--async --compression zip", "--compression zip: want gzip or zstd"),
            ("--async --codec json", "--codec json: want protobuf or protobuf-stock"),
            ("--async --method GetUser", "--method GetUser is not there"),
            ("--async --duration 5", "want a time such as 2s or 250ms"),
            ("--async --tls-cert x --tls-key y", "--tls-cert"),
            ("--async --callers 0", "--connections and --callers must be at least 1"),
            ("--async --tls-ca nofile", "nofile: no such file"),
            ("--async --nope", "--nope"),
            ("--async --calls 1 --duration 1s", "--calls and --duration"),
            ("--async --method EchoStream --connection-per-call", "--connection-per-call does not go with EchoStream"),
            (
                "--async --method Emit --connection-per-call",
                "--connection-per-call does not go with EchoStream and Emit",
            ),
        ):
            with self.subTest(words):
                self.assert_usage(carried_out("bench", "--target", "127.0.0.1:1", *words.split()), text)
        self.assert_usage(carried_out("bench"), "--target")

    def test_the_address_that_is_taken_is_named(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as taken:
            address = f"127.0.0.1:{taken.getsockname()[1]}"
            got = run(PYTHON, "serve", "--listen", address)
        self.assertEqual((got.status, got.stdout), (1, ""), got)
        self.assertRegex(got.stderr, rf"peer-python serve: --listen: {address}: Address already in use\n$")

    def test_a_path_in_no_folder_is_named(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = str(Path(folder) / "none" / "s")
            got = run(PYTHON, "serve", "--unix", path)
        self.assertEqual((got.status, got.stdout), (1, ""), got)
        self.assertRegex(got.stderr, rf"peer-python serve: --unix: unix:{path}: No such file or directory\n$")


class Targets(unittest.TestCase):
    def test_well_formed_ones_pass(self) -> None:
        for text in ("[::1]:80", ":80", "localhost:80", "a.example:65535,b.example:1", "unix:relative", "unix:/a:b"):
            with self.subTest(text):
                target.check_target(text)

    def test_malformed_ones_are_named(self) -> None:
        for text, words in (
            ("http://127.0.0.1:1", "without http://"),
            ("localhost", "missing port"),
            ("localhost:", '"" is no port'),
            ("::1:80", "too many colons"),
            ("127.0.0.1:99999", '"99999" is no port'),
            ("127.0.0.1:0", '"0" is no port'),
            ("127.0.0.1:x1", '"x1" is no port'),
            ("unix:", "there is no path"),
        ):
            with self.subTest(text), self.assertRaisesRegex(UsageError, words):
                target.check_target(text)


class JsonForms(unittest.TestCase):
    def packed(self, name: str, **fields: object) -> object:
        message = details.detail(name)
        for field, value in fields.items():
            if isinstance(value, dict):
                getattr(message, field).update(value)
            else:
                setattr(message, field, value)
        packed = any_pb2.Any()
        packed.Pack(message)
        return jsonform.detail_object(packed.type_url, packed.value)

    def test_details_are_shown_by_their_types(self) -> None:
        shown = self.packed("ErrorInfo", reason="x", metadata={"b": "2", "a": "1"})
        self.assertEqual(
            jsonform.tight(shown),
            '{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"x","metadata":{"a":"1","b":"2"}}',
        )

    def test_other_details_are_shown_as_bytes(self) -> None:
        for type_url, value, wanted in (
            ("type.googleapis.com/nobody.Knows", b"\1\2\xff", "AQL/"),
            ("type.googleapis.com/google.rpc.ErrorInfo", b"\xff", "/w=="),
            ("", b"", ""),
        ):
            with self.subTest(type_url):
                self.assertEqual(jsonform.detail_object(type_url, value), {"@type": type_url, "value": wanted})

    def test_a_status_is_what_grpc_encodes(self) -> None:
        self.assertEqual(details.status(5, "no"), b"\x08\x05\x12\x02no")


class Lines(unittest.TestCase):
    def test_values_are_quoted_where_they_are_several_words(self) -> None:
        record = logging.LogRecord("peer", logging.INFO, "", 0, "two %s", ("words",), None)
        record.fields = {"calls": 1, "text": 'a "b"'}
        self.assertRegex(log.Lines().format(record), r'^time=\S+ level=INFO msg="two words" calls=1 text="a \\"b\\""$')


if __name__ == "__main__":
    unittest.main()
