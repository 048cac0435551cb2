"""The data of the specification and of the conformance cases is as its schemas say, which lie beside it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from .schemas import faults

ROOT = Path(__file__).resolve().parent.parent
VECTORS = ROOT / "spec" / "vectors"
CASES = ROOT / "conformance" / "cases"


def schema_of(path: Path) -> Path:
    if path.parent in (VECTORS / "sessions", VECTORS / "policy"):
        return VECTORS / f"{path.parent.name}.schema.json"
    own = path.with_suffix(".schema.json")
    return own if own.exists() else path.parent / "schema.json"


DATA = [
    path
    for folder in (VECTORS, VECTORS / "sessions", VECTORS / "policy", CASES)
    for path in sorted(folder.glob("*.json"))
    if not path.name.endswith("schema.json")
]


def read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", DATA, ids=lambda path: str(path.relative_to(ROOT)))
def test_data_is_as_its_schema_says(path: Path) -> None:
    assert faults(read(path), schema_of(path)) == []


@pytest.mark.parametrize("path", DATA, ids=lambda path: str(path.relative_to(ROOT)))
def test_what_no_schema_knows_is_a_fault(path: Path) -> None:
    data = read(path)
    entries = next(value for value in data.values() if isinstance(value, list))
    entries[0]["unheard-of"] = 1
    assert faults(data, schema_of(path)) != []


def test_a_fault_says_where_and_what() -> None:
    told = faults({"group": "x", "cases": 3}, CASES / "schema.json")
    assert "$.cases: 3 is not of type 'array'" in told
