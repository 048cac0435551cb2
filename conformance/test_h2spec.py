"""The public test suite for HTTP/2, github.com/summerwind/h2spec, against each server that has it."""

from __future__ import annotations

import tempfile
from pathlib import Path
from xml.etree import ElementTree

from harness.processes import run
from harness.programs import Program, ProgramTest

from .languages import LANGUAGES

ROOT = Path(__file__).resolve().parent.parent
H2SPEC = ROOT / "build/tools/h2spec"

# What fails, with the reason; a case that is listed and passes is an error.
KNOWN = {("http2/3.5", "Sends invalid connection preface"): "not HTTP/2: answered as HTTP/1.1"}

# The suite calls no method that is served: a POST is answered with 404 as soon as a worker comes to it. Whether what is
# wrong with its body comes before or after that, when it no longer matters, is a matter of time.
ANSWERED = {
    ("http2/8.1", "Sends a second HEADERS frame without the END_STREAM flag"),
    ("http2/8.1.2.1", "Sends a HEADERS frame that contains a pseudo-header field as trailers"),
    (
        "http2/8.1.2.6",
        'Sends a HEADERS frame with the "content-length" header field which does not equal the DATA frame '
        "payload length",
    ),
    (
        "http2/8.1.2.6",
        'Sends a HEADERS frame with the "content-length" header field which does not equal the sum of the '
        "multiple DATA frames payload length",
    ),
}


class TheServer(ProgramTest):
    def test_a_server_fails_no_case_but_those_known(self) -> None:
        for key, language in LANGUAGES.items():
            if "h2spec" not in language.lacks.suites:
                with self.subTest(server=key):
                    self.check(language.program)

    def check(self, program: Program) -> None:
        host, port = self.serve(program).address.rsplit(":", 1)
        failed: set[tuple[str | None, str | None]] = set()
        for seconds in ("1", "10"):  # on a busy machine an answer may take longer than one
            failed = self.failures("-h", host, "-p", port, "--timeout", seconds)
            if failed - ANSWERED == KNOWN.keys():
                break
        self.assertEqual(failed - ANSWERED - KNOWN.keys(), set(), "fail and are not known to")
        self.assertEqual(KNOWN.keys() - failed, set(), "are listed and pass")

    def failures(self, *flags: str) -> set[tuple[str | None, str | None]]:
        with tempfile.TemporaryDirectory() as folder:
            report = Path(folder) / "report.xml"
            run([H2SPEC, *flags, "--junit-report", report], patience=400)
            cases = ElementTree.parse(report).getroot().findall(".//testcase")
        self.assertGreater(len(cases), 140)
        return {
            (case.get("package"), case.get("classname"))
            for case in cases
            if case.find("error") is not None or case.find("failure") is not None
        }
