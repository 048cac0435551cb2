"""The public test suite for HTTP/2, github.com/summerwind/h2spec, against each server that has it."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from unittest import mock
from xml.etree import ElementTree

import pytest

from harness.languages import ROOT, Language
from harness.processes import run
from harness.programs import serving

from .languages import HUB, LANGUAGES, having

H2SPEC = ROOT / "build/tools/h2spec"

Case = tuple[str, str]  # section and title

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
    known = {split(case) for case in language.fails.get("h2spec", {})}
    with serving(language.program, "--listen", "127.0.0.1:0") as server:
        host, port = server.address.rsplit(":", 1)
        failed = failures("-h", host, "-p", port, "--timeout", "1")
        if failed - ANSWERED != known:  # on a busy machine an answer may take longer than a second
            record_property("retry", f"with a second for each answer it is {sorted(failed - ANSWERED)} that fail")
            failed = failures("-h", host, "-p", port, "--timeout", "10")
        assert failed - ANSWERED - known == set(), "fail and are not known to"
        assert known - failed == set(), "are listed and pass"
        assert server.stop().status == 0, server.said()


def test_what_is_known_to_fail_stands_in_the_file_of_the_language(record_property: Callable[[str, str], None]) -> None:
    case = ("http2/1", "Sends what is wrong")
    hub = LANGUAGES[HUB]
    with mock.patch(f"{__name__}.serving") as serving:
        serving.return_value.__enter__.return_value.stop.return_value.status = 0
        serving.return_value.__enter__.return_value.address = "127.0.0.1:1"
        for known, failed in (({}, set[Case]()), ({"http2/1 Sends what is wrong": "why"}, {case})):
            with mock.patch(f"{__name__}.failures", return_value=failed):
                test_a_server_fails_no_case_but_those_known(replace(hub, fails={"h2spec": known}), record_property)


def split(case: str) -> Case:
    section, _, title = case.partition(" ")
    return section, title


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
