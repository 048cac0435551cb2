"""spec/vectors/policy, replayed as spec/vectors/README.md says, and the schema of policy files beside them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from policyplay.cases import play
from trunkcall.policy import BadFile, parse
from trunkcall.policy.json import read_json
from trunkcall.policy.tree import Kind, Node, look_over
from trunkcall.policy.yaml import read_yaml

SPEC = Path(__file__).parents[3] / "spec"
FOLDER = SPEC / "vectors" / "policy"
VECTORS: dict[str, Any] = {
    path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(FOLDER.glob("*.json"))
}
FILES = VECTORS.pop("files")
GOOD, BAD = FILES["good"], FILES["bad"]
SEQUENCES = [(content["core"], case) for content in VECTORS.values() for case in content["sequences"]]
SCHEMA = Draft202012Validator(json.loads((SPEC / "policy.schema.json").read_text(encoding="utf-8")))

# What the schema cannot say: bounds of durations, 1.0 and 1e3 not being whole numbers, what contradicts itself.
BEYOND_SCHEMA = {
    "fields-version-float",
    "fields-whole-float",
    "fields-whole-exponent",
    "fields-duration-zero",
    "fields-duration-above",
    "fields-duration-flood",
    "fields-duration-part",
    "together-backoff-above-max",
    "together-backoff-default",
    "together-eject-above-max",
    "together-bounds-crossed",
    "together-bounds-crossed-least",
    "together-shares-crossed",
    "together-shares-crossed-critical",
    "together-shares-crossed-high",
}


def name_of(case: Any) -> str:
    return case["id"] if isinstance(case, dict) else str(case)


def file_of(case: dict[str, Any]) -> bytes:
    data = bytes.fromhex(case["hex"]) if "hex" in case else case["text"].encode()
    fill = case.get("fill")
    return data + fill["text"].encode() * fill["count"] if fill else data


def value_of(node: Node) -> Any:
    """The value of a tree as a reader of JSON has it."""
    if node.kind is Kind.MAPPING:
        return {key: value_of(value) for key, value in node.entries.items()}
    if node.kind is Kind.LIST:
        return [value_of(element) for element in node.elements]
    if node.kind is Kind.NUMBER:
        return json.loads(node.text)
    return {Kind.TEXT: node.text, Kind.TRUTH: node.truth, Kind.NOTHING: None}[node.kind]


def tree_of(case: dict[str, Any]) -> Any:
    text = look_over(file_of(case))
    return value_of(read_json(text) if text.lstrip()[0] == "{" else read_yaml(text))


@pytest.mark.parametrize("case", GOOD, ids=name_of)
def test_good_files(case: dict[str, Any]) -> None:
    told = play({"file": file_of(case).hex(), "methods": list(case["methods"])})
    assert told == {"budget": case["budget"], "methods": case["methods"]}


@pytest.mark.parametrize("case", BAD, ids=name_of)
def test_bad_files(case: dict[str, Any]) -> None:
    with pytest.raises(BadFile) as refused:
        parse(file_of(case))
    assert [str(fault) for fault in refused.value.faults] == case["faults"]
    assert str(refused.value) == "\n".join(case["faults"])


@pytest.mark.parametrize("case", [case for case in GOOD if "fill" not in case], ids=name_of)
def test_half_written_files(case: dict[str, Any]) -> None:
    whole = file_of(case)
    least = len(whole) if whole.lstrip().startswith(b"{") else whole.rindex(b"\n...") + 4
    for end in range(len(whole[:least].rstrip())):
        with pytest.raises(BadFile):
            parse(whole[:end])


@pytest.mark.parametrize("core, case", SEQUENCES, ids=name_of)
def test_sequences(core: str, case: dict[str, Any]) -> None:
    told = play({"core": core, "policy": case["policy"], "steps": case["steps"]})
    for number, (step, decision) in enumerate(zip(case["steps"], told["decisions"], strict=True)):
        drawn = {"drawn": len(step["random"])} if "random" in step else {}
        assert decision == step["decision"] | drawn, f"step {number}: {step}"


@pytest.mark.parametrize("case", GOOD, ids=name_of)
def test_the_schema_takes_good_files(case: dict[str, Any]) -> None:
    assert SCHEMA.is_valid(tree_of(case))


@pytest.mark.parametrize("case", [one for one in BAD if one["step"] in ("fields", "together")], ids=name_of)
def test_the_schema_refuses_bad_fields(case: dict[str, Any]) -> None:
    assert SCHEMA.is_valid(tree_of(case)) == (case["id"] in BEYOND_SCHEMA)
