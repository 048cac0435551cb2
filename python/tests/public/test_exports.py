"""What users give and get has a name that they can import."""

from __future__ import annotations

import ast
import re
import unittest
from pathlib import Path

PYTHON = Path(__file__).resolve().parents[2]
MADE_BY_US = (
    "class trunkcall.Calls(",
    "class trunkcall.Calls ",
    "class trunkcall.Connection(",
    "class trunkcall.blocking.Connection(",
    "class trunkcall.blocking.StartedCall(",
    "class trunkcall.blocking.Watch ",
    "class trunkcall.ServerCall ",
)


def own_names() -> set[str]:
    """Classes, and other names for types, that the package defines."""
    found: set[str] = set()
    for file in (PYTHON / "src" / "trunkcall").rglob("*.py"):
        for node in ast.parse(file.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef):
                found.add(node.name)
            elif isinstance(node, ast.Assign) and "TypeVar(" not in ast.unparse(node.value):
                found |= {name.id for name in node.targets if isinstance(name, ast.Name)}
    return {name for name in found if name[0].isupper()}


class Exports(unittest.TestCase):
    def test_every_type_in_a_public_signature_can_be_imported(self) -> None:
        lines = (PYTHON / "api.txt").read_text(encoding="utf-8").splitlines()
        exported = [re.match(r"(?:class |def )?trunkcall[.\w]*\.(\w+)", line) for line in lines]
        hidden = own_names() - {one[1] for one in exported if one}
        self.assertIn("Opening", hidden)
        for line in lines:
            if line.startswith(MADE_BY_US):
                continue
            for annotation in [*re.findall("'([^']*)'", line), *re.findall(r"^  \S+: (.*)", line)]:
                self.assertEqual(hidden & set(re.findall(r"(?<![\w.])[A-Z]\w*", annotation)), set(), line)
