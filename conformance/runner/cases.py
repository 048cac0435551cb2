"""The cases: read, checked against their schema, and made into the lines that clients take."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..schemas import faults

FOLDER = Path(__file__).resolve().parents[1] / "cases"


@dataclass(frozen=True)
class Case:
    """A case as it stands in its file."""

    group: str
    words: dict[str, Any]

    @property
    def name(self) -> str:
        return f"{self.group}/{self.words['name']}"

    @property
    def needs(self) -> list[str]:
        needs: list[str] = self.words.get("needs", [])
        return needs

    @property
    def smoke(self) -> bool:
        """Whether it goes over every transport; the others over the first of a pair."""
        return "smoke" in self.words

    @property
    def timed(self) -> bool:
        """Whether the time of a call runs out: on a machine that stands still, maybe before its handler has begun."""
        return any(0 < call.get("timeoutMs", 0) < 10_000 for call in self.words["calls"])

    def line(self, target: str, tls: dict[str, str] | None, texts: dict[str, str]) -> dict[str, Any]:
        """What the client is given. `texts` are put in the place of others."""
        calls = [call_line(call) for call in expand(self.words["calls"], texts)]
        line = {"name": self.name, "target": target, "calls": calls}
        line |= {name: self.words[name] for name in ("client", "ownConnection") if name in self.words}
        return line | ({"tls": tls} if tls else {})

    def wants(self, texts: dict[str, str]) -> list[dict[str, Any]]:
        """What is wanted of each call."""
        return [call["want"] for call in expand(self.words["calls"], texts)]


def read_cases() -> list[Case]:
    """All cases, in the order of their groups. Raises ValueError for a file that is not as the schema says."""
    cases: list[Case] = []
    for path in sorted(FOLDER.glob("*.json")):
        if path.name == "schema.json":
            continue
        text = path.read_text(encoding="utf-8")
        group = json.loads(text)
        wrong = faults(group, FOLDER / "schema.json")
        names = [case.get("name") for case in group.get("cases", [])]
        wrong += [f"$.cases: {name} is there twice" for name in sorted({n for n in names if names.count(n) > 1})]
        if group.get("group") != path.stem:
            wrong.append("$.group: is not the name of the file")
        if wrong:
            raise ValueError(f"{path}:\n" + "\n".join(wrong))
        cases += [Case(group["group"], case) for case in group["cases"]]
    return cases


def expand(value: Any, texts: dict[str, str]) -> Any:
    """Puts in what `repeat` stands for, and the texts."""
    match value:
        case str():
            for text, by in texts.items():
                value = value.replace(text, by)
            return value
        case {"repeat": count, "of": str(text)}:
            return text * count
        case dict():
            return {key: expand(inner, texts) for key, inner in value.items()}
        case list():
            found: list[Any] = []
            for inner in value:
                match inner:
                    case {"repeat": count, "of": what} if not isinstance(what, str):
                        found += [expand(what, texts)] * count
                    case _:
                        found.append(expand(inner, texts))
            return found
        case _:
            return value


def call_line(call: dict[str, Any]) -> dict[str, Any]:
    line = {key: value for key, value in call.items() if key not in ("want", "requests")}
    if "requests" in call:
        line["requests"] = [request_line(request) for request in call["requests"]]
    return line


def request_line(request: dict[str, Any]) -> dict[str, Any]:
    if "bytes" in request:
        return request
    message: dict[str, Any] = {}
    if "plan" in request:
        message["plan"] = plan_message(request["plan"])
    match request.get("data"):
        case str(data):
            message["data"] = data
        case {"size": _}:
            return {"message": message, **request["data"]}
    return {"message": message}


def plan_message(plan: dict[str, Any]) -> dict[str, Any]:
    """A plan as Protobuf has it: metadata are entries."""
    message = dict(plan)
    for name in ("header", "trailer"):
        if name in plan:
            message[name] = entries(plan[name])
    if "onward" in plan:
        onward = dict(plan["onward"])
        if "metadata" in onward:
            onward["metadata"] = entries(onward["metadata"])
        if "requests" in onward:
            onward["requests"] = [request_line(request)["message"] for request in onward["requests"]]
        message["onward"] = onward
    return message


def entries(pairs: list[list[str]]) -> list[dict[str, str]]:
    return [
        {"key": key, "value": value if key.endswith("-bin") else base64.b64encode(value.encode()).decode()}
        for key, value in pairs
    ]
