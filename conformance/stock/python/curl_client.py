"""Carries out conformance cases with curl, over Connect: unary calls with JSON, and GET for Read.

    curl_client.py --http1.1
    curl_client.py --http2-prior-knowledge

Every call is one command, whose words are curl's own; what it prints is read as Connect's protocol says.
"""

from __future__ import annotations

import asyncio
import base64
import gzip
import hashlib
import json
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from carrying import Call
from google.protobuf import json_format
from lines import answer_line

from conformance.v1 import conformance_pb2 as pb
from program import Program

SERVICE = "trunkcall.conformance.v1.ConformanceService"
# Data of more bytes than these goes in Protobuf: in JSON it is a third longer, and may be beyond a limit that it keeps.
LONG = 1 << 16
# What is asked for by GET is no longer than this.
URL = 4096
# What Connect makes of a status of HTTP whose body is no error of its own.
BY_STATUS = {400: "INTERNAL", 401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 404: "UNIMPLEMENTED"}
BY_STATUS |= dict.fromkeys((429, 502, 503, 504), "UNAVAILABLE")
# Exits of curl that say that there is no connection, and so nothing was sent.
NO_CONNECTION = {6, 7}
# Those that say that a connection was lost.
LOST = {16, 18, 52, 55, 56, 92}


class Curl:
    """Makes calls of one case; each has a connection of its own."""

    def __init__(self, case: dict[str, Any], version: str) -> None:
        scheme = "https" if "tls" in case else "http"
        self._url = f"{scheme}://{case['target']}"
        if scheme == "https" and version == "--http2-prior-knowledge":
            version = "--http2"
        self._words = ["curl", "--silent", "--show-error", version]
        files = case.get("tls", {})
        for flag, name in (("--cacert", "ca"), ("--cert", "cert"), ("--key", "key")):
            if files.get(name):
                self._words += [flag, files[name]]
        wanted = case.get("client", {})
        if (
            "maxMessage" in wanted
            or wanted.get("codec", "json") != "json"
            or wanted.get("compression", "gzip") != "gzip"
        ):
            raise ValueError(f"curl cannot be set up so: {wanted}")
        self._zipped = "compression" in wanted

    async def call(self, call: Call) -> dict[str, Any]:
        with tempfile.TemporaryDirectory() as folder:
            sent = Sent.of(call)
            words = [*self._words, *sent.words(call, self._url, self._zipped, Path(folder))]
            said = await run(words, Path(folder), call.give_up)
        return told(said, sent.codec) if said is not None else {"code": "CANCELLED"}

    async def observe(self, plan: str, until: str) -> dict[str, Any]:
        with tempfile.TemporaryDirectory() as folder:
            body = json.dumps({"id": plan, "until": until})
            words = [*self._words, "--json", body, f"{self._url}/{SERVICE}/Observe"]
            said = await run(words, Path(folder), asyncio.Event())
        assert said is not None
        if said.status != 200:
            raise ConnectionError(f"observing: {said}")
        return json.loads(said.body)

    async def close(self) -> None:
        pass


@dataclass
class Sent:
    """What a call sends."""

    path: str
    codec: str
    body: bytes

    @staticmethod
    def of(call: Call) -> Sent:
        path = call.method if call.method.startswith("/") else f"/{SERVICE}/{call.method}"
        if call.arguments is not None:
            return Sent(path, "json", json.dumps(call.arguments).encode())
        request = call.requests[0] if call.requests else pb.Request()
        if isinstance(request, bytes):
            return Sent(path, "proto", request)
        if len(request.data) > LONG or any(size > LONG for size in request.plan.answers):
            return Sent(path, "proto", request.SerializeToString())
        return Sent(path, "json", json_format.MessageToJson(request, indent=None).encode())

    def words(self, call: Call, url: str, zipped: bool, folder: Path) -> list[str]:
        """Those of the command that say what is sent, and where to."""
        words = ["--compressed"] if zipped else []
        for key, value in call.metadata:
            text = base64.b64encode(value).decode() if isinstance(value, bytes) else value
            words += ["--header", f"{key}: {text}" if text else f"{key};"]
        if call.timeout is not None:
            words += ["--header", f"Connect-Timeout-Ms: {round(call.timeout * 1_000)}"]
        if call.wait_for_ready:
            limit = str(round(call.timeout or 60))
            words += ["--retry", limit, "--retry-delay", "1", "--retry-connrefused", "--retry-max-time", limit]
        if call.method == "Read" and self.codec == "json" and len(self.body) <= URL:
            query = (f"message={self.body.decode()}", "encoding=json", "connect=v1")
            return [*words, "--get", *(word for one in query for word in ("--data-urlencode", one)), url + self.path]
        body = self.body
        if zipped:
            body = gzip.compress(body)
            words += ["--header", "Content-Encoding: gzip"]
        (folder / "sent").write_bytes(body)
        words += ["--header", f"Content-Type: application/{self.codec}", "--data-binary", f"@{folder / 'sent'}"]
        return [*words, url + self.path]


@dataclass
class Said:
    """What a command of curl came to."""

    exit: int
    status: int
    fields: list[tuple[str, str]]
    body: bytes
    complaint: str


async def run(words: list[str], folder: Path, give_up: asyncio.Event) -> Said | None:
    """Runs a command; None if it was given up before it had ended."""
    fields = folder / "fields"
    process = await asyncio.create_subprocess_exec(
        *words[:1],
        "--disable",  # nothing that somebody's configuration says
        *words[1:],
        "--dump-header",
        fields,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    ending = asyncio.ensure_future(process.communicate())
    giving_up = asyncio.ensure_future(give_up.wait())
    try:
        await asyncio.wait((ending, giving_up), return_when=asyncio.FIRST_COMPLETED)
        given_up = not ending.done()
    finally:
        giving_up.cancel()
        if not ending.done():
            process.kill()
    body, complaint = await ending
    if given_up:
        return None
    status, found = read_fields(fields.read_bytes().decode("latin-1") if fields.exists() else "")
    return Said(process.returncode or 0, status, found, body, complaint.decode(errors="replace").strip())


def read_fields(text: str) -> tuple[int, list[tuple[str, str]]]:
    """Status and fields of the last answer; before it may be some of status 100."""
    last = text.strip().split("\r\n\r\n")[-1].splitlines()
    if not last:
        return 0, []
    pairs = (line.partition(":")[::2] for line in last[1:])
    return int(last[0].split()[1]), [(key.lower(), value.strip()) for key, value in pairs]


def told(said: Said, codec: str) -> dict[str, Any]:
    """The outcome of a call, as Connect's protocol has it."""
    if said.exit in NO_CONNECTION:
        return {"code": "UNAVAILABLE", "message": said.complaint, "delivery": "not_sent"}
    if said.exit in LOST:
        return {"code": "UNAVAILABLE", "message": said.complaint}
    if said.exit != 0:
        raise ChildProcessError(f"curl: {said.complaint} ({said.exit})")
    header = [(key, value) for key, value in said.fields if not key.startswith("trailer-")]
    trailer = [(key.removeprefix("trailer-"), value) for key, value in said.fields if key.startswith("trailer-")]
    outcome: dict[str, Any] = {
        "code": "OK",
        "message": "",
        "delivery": "",
        "details": [],
        "header": padded(header),
        "trailer": padded(trailer),
        "answers": [],
    }
    if said.status != 200:
        return outcome | failure(said, dict(header))
    return outcome | answers(said.body, codec)


def padded(pairs: list[tuple[str, str]]) -> list[list[str]]:
    return [[key, standard(value) if key.endswith("-bin") else value] for key, value in pairs]


def standard(text: str) -> str:
    """Base64 with its padding."""
    return text + "=" * (-len(text) % 4)


def failure(said: Said, header: dict[str, str]) -> dict[str, Any]:
    delivery = header.get("trunk-delivery", "executed")  # it was the server that has ended the call
    if not header.get("content-type", "").startswith("application/json"):
        code = BY_STATUS.get(said.status, "UNKNOWN")
        return {"code": code, "message": said.body.decode(errors="replace").strip(), "delivery": delivery}
    error = json.loads(said.body)
    code = error["code"].upper()
    details = [{"typeUrl": type_url(one["type"]), "value": standard(one["value"])} for one in error.get("details", ())]
    return {
        "code": "CANCELLED" if code == "CANCELED" else code,
        "message": error.get("message", ""),
        "delivery": delivery,
        "details": details,
    }


def type_url(name: str) -> str:
    """Connect sends the name alone."""
    return f"type.googleapis.com/{name}" if name else ""


def answers(body: bytes, codec: str) -> dict[str, Any]:
    if codec == "proto":
        return {"answers": [answer_line(pb.Answer.FromString(body))]}
    answer = json.loads(body)
    if isinstance(answer, list):
        return {"results": answer}
    data = base64.b64decode(answer.pop("data", ""))
    return {"answers": [{"size": len(data), "sha256": hashlib.sha256(data).hexdigest()} | answer]}


if __name__ == "__main__":
    asyncio.run(Program(lambda case: Curl(case, sys.argv[1])).run())
