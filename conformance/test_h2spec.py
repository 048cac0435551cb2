"""The public test suite for HTTP/2, github.com/summerwind/h2spec, against each server that has it."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest

from harness.languages import ROOT, Language
from harness.processes import run
from harness.programs import serving

from .languages import having

H2SPEC = ROOT / "build/tools/h2spec"

Case = tuple[str, str]  # section and title

# What fails where Connect is served, which is over HTTP/1.1 too, with the reason; a case that is listed and passes is
# an error.
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


@pytest.mark.parametrize("language", [pytest.param(one, id=one.key) for one in having("h2spec")])
def test_a_server_fails_no_case_but_those_known(
    language: Language, record_property: Callable[[str, str], None]
) -> None:
    known = KNOWN.keys() if "connect" in language.peer.protocols else set[Case]()
    with serving(language.program, "--listen", "127.0.0.1:0") as server:
        host, port = server.address.rsplit(":", 1)
        failed = failures("-h", host, "-p", port, "--timeout", "1")
        if failed - ANSWERED != known:  # on a busy machine an answer may take longer than a second
            record_property("retry", f"with a second for each answer it is {sorted(failed - ANSWERED)} that fail")
            failed = failures("-h", host, "-p", port, "--timeout", "10")
        assert failed - ANSWERED - known == set(), "fail and are not known to"
        assert known - failed == set(), "are listed and pass"
        assert server.stop().status == 0, server.said()


def failures(*flags: str) -> set[Case]:
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        run([H2SPEC, *flags, "--junit-report", report], patience=400)
        cases = ElementTree.parse(report).getroot().findall(".//testcase")
    assert len(cases) > 140
    return {
        (case.get("package", ""), case.get("classname", ""))
        for case in cases
        if case.find("error") is not None or case.find("failure") is not None
    }
