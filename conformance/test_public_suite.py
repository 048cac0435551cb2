"""What runs the public suite: what it is told of a language, and that one way which goes wrong leaves the others."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path
from unittest import TestCase, mock
from xml.etree import ElementTree

from harness.languages import Lacks, Language
from harness.processes import Failed, Outcome

from . import public_suite
from .languages import HUB, LANGUAGES
from .public_suite import Result, Suite, Way, ways, write_junit

SUITE = Suite(Path("nowhere"), Path("nowhere/schema.bin"))

# A case that the suite's client may lose, and what the suite says then.
LOSES = (
    "Timeouts/HTTPVersion:2/Protocol:PROTOCOL_CONNECT/Codec:CODEC_PROTO/Compression:COMPRESSION_GZIP/TLS:false/unary"
)
LOST = f'''Sending request for "{LOSES}"...
FAILED: {LOSES}:
\tconnect error JSON: unexpected end of JSON input
0 passed, 1 failed
'''


def ada() -> Language:
    """A language that serves all protocols, and lacks a few things."""
    hub = LANGUAGES[HUB]
    lacks = Lacks(
        client={"gzip": "no gzip yet"},
        connect={
            "get": "no GET yet",
            "http1": "no HTTP/1.1 yet",
            "json": "no JSON yet",
            "receive-limit": "no limit yet",
        },
    )
    fails = {"connect-server": {"a/case": "of a server"}, "connect-client": {"another/case": "natively"}}
    peer = replace(hub.peer, transports=("tcp",))
    return replace(hub, key="ada", name="Ada", hub=False, peer=peer, lacks=lacks, fails=fails)


class Features(TestCase):
    def test_what_a_server_lacks_is_not_asked_of_it(self) -> None:
        features = Way(ada()).features()
        self.assertEqual(features["versions"], ["HTTP_VERSION_2"])
        self.assertEqual(features["codecs"], ["CODEC_PROTO"])
        self.assertEqual(features["compressions"], ["COMPRESSION_IDENTITY", "COMPRESSION_GZIP", "COMPRESSION_ZSTD"])
        asked = {name for name, there in features.items() if there is True}
        self.assertEqual(asked, {"supportsH2c", "supportsTrailers", "supportsHalfDuplexBidiOverHttp1"})

    def test_nor_natively_what_either_side_lacks(self) -> None:
        hub = LANGUAGES[HUB]
        whole = Way(hub, hub).features()
        self.assertEqual((whole["versions"], whole["codecs"]), (["HTTP_VERSION_2"], ["CODEC_PROTO"]))
        self.assertEqual(whole["compressions"], ["COMPRESSION_IDENTITY", "COMPRESSION_GZIP"])
        self.assertTrue(whole["supportsTls"] and whole["supportsMessageReceiveLimit"])
        self.assertEqual(Way(hub, ada()).features()["compressions"], ["COMPRESSION_IDENTITY"])
        self.assertFalse(Way(hub, ada()).features()["supportsTls"])

    def test_what_is_left_out_is_a_skipped_case(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "results.xml"
            write_junit([Result(Way(ada()))], [], path)
            skipped = [one.get("message") for one in ElementTree.parse(path).getroot().iter("skipped")]
        self.assertEqual(skipped[:2], ["get: no GET yet", "http1: no HTTP/1.1 yet"])
        self.assertIn("tls: Ada has no TLS", skipped)

    def test_cases_that_are_known_to_fail_are_those_of_the_file(self) -> None:
        for way, known in ((Way(ada()), "a/case"), (Way(LANGUAGES[HUB], ada()), "another/case")):
            with (
                mock.patch.object(Path, "write_text"),
                mock.patch.object(public_suite, "run", return_value=Outcome("1 passed, 0 failed\n")) as run,
            ):
                SUITE.test(way)
            words = run.call_args.args[0]
            self.assertEqual([words[i + 1] for i, word in enumerate(words) if word == "--known-failing"], [known])


class Running(TestCase):
    def test_a_case_that_fails_is_not_carried_out_again(self) -> None:
        said = 'Sending request for "Timeouts/a"...\nFAILED: Timeouts/a:\n  too late\n0 passed, 1 failed\n'
        with (
            mock.patch.object(Path, "write_text"),
            mock.patch.object(public_suite, "run", return_value=Outcome(said, status=1)) as started,
        ):
            result = SUITE.test(ways()[0])
        self.assertEqual((list(result.failed), result.wrong, started.call_count), (["Timeouts/a"], "", 1))

    def carried_out(self, *said: str) -> tuple[Result, mock.Mock]:
        """The result of a way, and the runs of the suite for it, which say this in turn."""
        outcomes = [Outcome(text, status=int("FAILED" in text)) for text in said]
        with (
            mock.patch.object(Path, "write_text"),
            mock.patch.object(public_suite, "run", side_effect=outcomes) as runs,
        ):
            return SUITE.test(ways()[0]), runs

    def test_what_the_suites_client_loses_by_chance_is_carried_out_again(self) -> None:
        passes = f'Sending request for "{LOSES}"...\n1 passed, 0 failed\n'
        result, runs = self.carried_out(LOST, LOST, passes)
        self.assertEqual((result.failed, result.raced, result.wrong, runs.call_count), ({}, {LOSES: 2}, "", 3))
        words = runs.call_args.args[0]
        self.assertEqual(words[words.index("--run") + 1], LOSES)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "results.xml"
            write_junit([result], [], path)
            root = ElementTree.parse(path).getroot()
        self.assertEqual([one.get("name") for one in root.iter("property")], ["retry"])
        self.assertEqual(list(root.iter("failure")), [])

    def test_what_is_lost_each_time_has_failed(self) -> None:
        result, runs = self.carried_out(*[LOST] * (1 + public_suite.RACES))
        self.assertEqual((list(result.failed), runs.call_count), ([LOSES], 1 + public_suite.RACES))

    def test_nor_does_it_pass_that_way_with_another_fault(self) -> None:
        other = LOST.replace("unexpected end of JSON input", "no code")
        result, _ = self.carried_out(LOST, other)
        self.assertIn("no code", result.failed[LOSES])
        with_more = LOST.replace("\n0 passed", "\n  wrong code\n0 passed")
        self.assertEqual(self.carried_out(with_more)[1].call_count, 1)

    def test_a_way_that_does_not_end_has_failed(self) -> None:
        with (
            mock.patch.object(Path, "write_text"),
            mock.patch.object(public_suite, "run", side_effect=Failed("did not end within 1 s")),
        ):
            result = SUITE.test(ways()[0])
        self.assertEqual(result.wrong, "did not end within 1 s")
