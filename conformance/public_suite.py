#!/usr/bin/env python3
"""The public conformance suite of Connect, gRPC and gRPC-Web (connectrpc.com/conformance), for every language.

    python -m conformance.public_suite
    python -m conformance.public_suite --only 'go' --only 'go to go, natively' --junit-xml=build/public-suite.xml

Its own clients call the `connect-server` of each language that serves these protocols, over each of them. Natively,
`connect-client` calls `connect-server`, of languages that meet (each itself and the hub, all in `make conformance`).
Trunkcall has no client of HTTP, so the suite's own servers are out of its reach: what is shown natively is that calls
do what the suite wants of calls, not that they are gRPC's or Connect's.

What a language lacks, and which cases it fails, stands in its file with the reasons; a case that is listed there and
passes is an error. What is left out for the lack of it is a skipped case, with the reason.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from harness import interrupts, processes
from harness.languages import PROTOCOLS, ROOT, Language
from harness.prerequisites import here, pairs_here
from harness.processes import Failed, Process, run

FOLDER = ROOT / "conformance/connect"
RUNNER = ROOT / "build/tools/connectconformance"
FILES = ("client_compat", "server_compat", "service")
# Bounds a run of the suite, in seconds.
PATIENCE = 540.0
# Cases of which the suite's own client loses a part by chance, and what it says then: its call ends after the very time
# that the server is told, so between the head of the server's answer and the body that came with it (decisions/0059).
RACE = re.compile(
    r"FAILED: Timeouts/HTTPVersion:2/\S*Protocol:PROTOCOL_CONNECT/\S*/unary:"
    r"\s+connect error JSON: unexpected end of JSON input"
)
# How often such a case may come out so in a row. A server whose answer has no body fails each time.
RACES = 4


@dataclass(frozen=True)
class Way:
    """What is under test: the server of a language, or a client with a server, natively."""

    server: Language
    client: Language | None = None

    def __str__(self) -> str:
        return f"{self.client.key} to {self.server.key}, natively" if self.client else self.server.key

    @property
    def lacks(self) -> str:
        """Why it cannot be tested; "" if it can."""
        suite = "connect-client" if self.client else "connect-server"
        sides = (self.client, self.server) if self.client else (self.server,)
        return next((one.lacks.suites[suite] for one in sides if suite in one.lacks.suites), "")

    def lacking(self) -> dict[str, str]:
        """What the suite asks for and is not there, with the reasons. Natively it asks for neither HTTP nor codecs."""
        found = dict(self.server.lacks.connect)
        sides = (self.client, self.server) if self.client else (self.server,)
        for one in sides:
            if "tls" not in one.peer.transports:
                found["tls"] = f"{one.name} has no TLS"
        if self.client:
            lacks = self.client.lacks.client | self.server.lacks.server
            native = {"tls": found.get("tls"), "client-certificates": found.get("client-certificates")}
            native |= {"gzip": lacks.get("gzip"), "receive-limit": lacks.get("limits") or found.get("receive-limit")}
            found = {feature: why for feature, why in native.items() if why}
        return found

    def features(self) -> dict[str, Any]:
        """What the suite is told is there. Natively its names of protocols stand for the one that is spoken."""
        native = self.client is not None
        lacking = self.lacking()
        absent = {"http1", "json", "zstd", "get"} if native else set[str]()

        def has(feature: str) -> bool:
            return feature not in lacking and feature not in absent

        def those(prefix: str, names: dict[str, str]) -> list[str]:
            return [f"{prefix}_{name}" for name, feature in names.items() if not feature or has(feature)]

        served = [one for one in PROTOCOLS if one in self.server.peer.protocols and one != "native"]
        protocols = ["grpc"] if native else served
        return {
            "versions": those("HTTP_VERSION", {"1": "http1", "2": "http2"}),
            "protocols": [f"PROTOCOL_{one.upper().replace('-', '_')}" for one in protocols],
            "codecs": those("CODEC", {"PROTO": "", "JSON": "json"}),
            "compressions": those("COMPRESSION", {"IDENTITY": "", "GZIP": "gzip", "ZSTD": "zstd"}),
            "supportsH2c": has("http2"),
            "supportsTls": has("tls"),
            "supportsTlsClientCerts": has("tls") and has("client-certificates"),
            "supportsTrailers": True,
            "supportsHalfDuplexBidiOverHttp1": has("half-duplex"),
            "supportsConnectGet": has("get"),
            "supportsMessageReceiveLimit": has("receive-limit"),
        }

    def fails(self) -> dict[str, str]:
        """Cases that are known to fail, with the reasons."""
        if self.client is None:
            return self.server.fails.get("connect-server", {})
        return self.client.fails.get("connect-client", {}) | self.server.fails.get("connect-client", {})


@dataclass
class Result:
    """What came of a way: the cases by their names, and of those that failed what the suite said."""

    way: Way
    cases: set[str] = field(default_factory=set[str])
    failed: dict[str, str] = field(default_factory=dict[str, str])
    raced: dict[str, int] = field(default_factory=dict[str, int])  # how often these were carried out once more
    wrong: str = ""  # with the whole of it


def ways() -> list[Way]:
    return [*(Way(one) for one in here().values()), *(Way(server, client) for client, server in pairs_here())]


@dataclass(frozen=True)
class Suite:
    """The suite as a program, a folder for its files, and its schema."""

    folder: Path
    schema: Path

    @classmethod
    def prepared(cls, folder: Path) -> Suite:
        """With the schema made."""
        schema = folder / "schema.bin"
        listed = [os.environ.get("GO", "go"), "list", "-m", "-f", "{{.Dir}}", "connectrpc.com/conformance"]
        proto = Path(done_well(listed, FOLDER).strip()) / "proto"
        files = [f"connectrpc/conformance/v1/{name}.proto" for name in FILES]
        compiler = [sys.executable, "-m", "grpc_tools.protoc", f"-I{proto}", "--include_imports"]
        done_well([*compiler, f"--descriptor_set_out={schema}", *files], ROOT)
        return cls(folder, schema)

    def test(self, way: Way) -> Result:
        result = Result(way)
        said = self._run(way, result)
        if not result.wrong and not result.cases:
            result.wrong = said
        for name in [name for name, what in result.failed.items() if RACE.fullmatch(what)]:
            self._decide(name, result)
        return result

    def _decide(self, name: str, result: Result) -> None:
        """Carries out a case alone until it passes, or fails otherwise."""
        while RACE.fullmatch(result.failed.get(name, "")) and result.raced.get(name, 0) < RACES:
            result.raced[name] = result.raced.get(name, 0) + 1
            again = Result(result.way)
            self._run(result.way, again, "--run", name)
            if again.wrong or name in again.failed:
                result.failed[name] = again.failed.get(name, again.wrong)
            elif name in again.cases:
                del result.failed[name]

    def _run(self, way: Way, result: Result, *more: str) -> str:
        features = self.folder / "features.yaml"
        features.write_text(json.dumps({"features": way.features()}), encoding="utf-8")  # JSON is YAML
        words = [str(RUNNER), "--vv", "--conf", str(features), "--max-servers", "2"]
        words += [*more, *(word for name in way.fails() for word in ("--known-failing", name))]
        server = [*way.server.program, "connect-server", "--schema", str(self.schema)]
        if way.client is None:
            words += ["--mode", "server", "--parallel", "8", "--", *server]
        else:
            client = [*way.client.program, "connect-client", "--schema", str(self.schema)]
            words += ["--mode", "both", "--", *client, "----", *server]
        try:
            done = run(words, patience=PATIENCE, merged=True)
        except Failed as failed:
            result.wrong = str(failed)
            return ""
        read(done.stdout, result)
        if (
            done.status != 0
            and not result.failed
            or not re.search(r"^\d+ passed, \d+ failed$", done.stdout, re.MULTILINE)
        ):
            result.wrong = "\n".join(line for line in done.stdout.splitlines() if not PROGRESS.match(line))
        return done.stdout


def done_well(words: list[str], folder: Path) -> str:
    """What a command printed. Raises Failed where it ends badly."""
    with Process(words, cwd=folder) as process:
        done = process.finish(PATIENCE)
        if done.status != 0:
            raise process.failure(f"ended with status {done.status}")
    return done.stdout


PROGRESS = re.compile(r'^(?:Sending request for|Received response for) "(.+)"\.\.\.$')


def read(said: str, result: Result) -> None:
    """Takes the cases, and those that failed, from what the suite said."""
    name = ""
    for line in said.splitlines():
        if progress := PROGRESS.match(line):
            result.cases.add(progress[1])
        elif failed := re.match(r"^FAILED: (.+?)(?::| was expected to fail but did not)$", line):
            name = failed[1]
            result.failed[name] = line
        elif name and line.startswith((" ", "\t")):
            result.failed[name] += "\n" + line
        else:
            name = ""


def behaviour(case: str, way: Way) -> str:
    """The case without what it was permuted with: versions of HTTP, protocols, codecs, compressions, TLS."""
    parts = [part for part in case.split("/") if ":" not in part and not part.startswith("(")]
    return "/".join([*parts, "natively"] if way.client else parts)


def write_junit(results: list[Result], skipped: list[Way], path: Path) -> None:
    """A behaviour is the class of its cases; their names say how they were permuted, and what was under test."""
    suite = ElementTree.Element("testsuite", name="public suite")
    for way in skipped:
        case = ElementTree.SubElement(suite, "testcase", classname="public suite", name=str(way))
        ElementTree.SubElement(case, "skipped", message=way.lacks)
    for result in results:
        for feature, why in result.way.lacking().items():
            case = ElementTree.SubElement(suite, "testcase", classname="public suite", name=f"{result.way}: {feature}")
            ElementTree.SubElement(case, "skipped", message=f"{feature}: {why}")
        if result.wrong:
            case = ElementTree.SubElement(suite, "testcase", classname="public suite", name=str(result.way))
            ElementTree.SubElement(case, "failure", message="the suite did not come to its end")
        for name in sorted(result.cases):
            case = ElementTree.SubElement(
                suite, "testcase", classname=behaviour(name, result.way), name=f"{result.way}: {name}"
            )
            if name in result.raced:
                properties = ElementTree.SubElement(case, "properties")
                why = f"{result.raced[name]} times, since the suite's client lost the body of an answer"
                ElementTree.SubElement(properties, "property", name="retry", value=why)
            if name in result.failed:
                ElementTree.SubElement(case, "failure", message="see the output")
    path.parent.mkdir(parents=True, exist_ok=True)
    ElementTree.ElementTree(suite).write(path, encoding="utf-8", xml_declaration=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--only", action="append", metavar="WAY", help="a language, or `A to B, natively`; may be repeated"
    )
    parser.add_argument("--junit-xml", metavar="FILE", type=Path, help="write the results there too")
    options = parser.parse_args()
    chosen = [way for way in ways() if not options.only or str(way) in options.only]
    if not chosen:
        print(f"there are {'; '.join(map(str, ways()))}", file=sys.stderr)
        return 2
    interrupts.install()
    try:
        results = run_ways(chosen)
    except interrupts.Interrupted as interrupted:
        processes.end_all()
        return 128 + interrupted.signum
    if options.junit_xml:
        write_junit(results, [way for way in chosen if way.lacks], options.junit_xml)
    return 1 if any(result.failed or result.wrong for result in results) else 0


def run_ways(chosen: list[Way]) -> list[Result]:
    results: list[Result] = []
    with tempfile.TemporaryDirectory() as folder:
        suite = Suite.prepared(Path(folder))
        for way in chosen:
            if way.lacks:
                print(f"{way}: left out, {way.lacks}", flush=True)
                continue
            results.append(suite.test(way))
            tell(results[-1])
    return results


def tell(result: Result) -> None:
    for text in (*result.failed.values(), result.wrong):
        if text:
            print(text)
    passed = len(result.cases) - len(result.failed)
    print(f"{result.way}: {passed} passed, {len(result.failed)} failed", flush=True)


if __name__ == "__main__":
    sys.exit(main())
