"""What is wrong with data by its schema (JSON Schema 2020-12)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match

TOLD = 300  # characters of a fault: some quote all of the data


def faults(value: Any, schema: Path) -> list[str]:
    """Where the value is not as the schema says, and how. A schema that is none raises SchemaError."""
    rules = json.loads(schema.read_text(encoding="utf-8"))
    Draft202012Validator.check_schema(rules)
    found = Draft202012Validator(rules).iter_errors(value)
    return [f"{error.json_path}: {(best_match(error.context) or error).message[:TOLD]}" for error in found]
