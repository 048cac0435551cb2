"""What came of all: matrix.md, as tables, and case by case in JUnit's format."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections import Counter, defaultdict
from pathlib import Path

from .cases import Case
from .matrix import Matrix, Result, Way

HEAD = """# Matrix

What came of the cases of [cases/](cases/README.md): each client with each server over each transport. A cell has how
many cases of a group passed, of those that are applicable. All are carried out over the first transport of a pair, and
those of the smoke group over the others. Further clients of a language, `python, blocking`, have that group alone.
Written by `make matrix`; `make test` fails if its own run, of part of the pairs, gives anything else.
"""


def written(matrix: Matrix, cases: list[Case], ways: list[Way]) -> str:
    """The text of matrix.md."""
    groups = list(dict.fromkeys(case.group for case in cases))
    rows = [["client", "server", "transport", *groups]]
    for way in ways:
        rows.append([way.client.name, way.server.name, way.transport, *(cell(matrix, way, group) for group in groups)])
    return f"{HEAD}\n{table(rows)}\n{lacking(matrix, ways)}"


def cell(matrix: Matrix, way: Way, group: str) -> str:
    tally = matrix.tallies[way, group]
    of = tally.passed + tally.failed
    return f"{tally.passed}/{of}" if of else "-"


def lacking(matrix: Matrix, ways: list[Way]) -> str:
    """How many cases are not applicable, by the reason."""
    counts: defaultdict[tuple[str, str, str], list[str]] = defaultdict(list)
    for way in ways:
        whole: Counter[str] = Counter()
        for (other, _), tally in matrix.tallies.items():
            if other is way:
                whole += tally.lacking
        for why, many in whole.items():
            counts[way.client.name, way.server.name, why].append(f"{many} over {way.transport}")
    rows = [["client", "server", "why", "cases"]]
    rows += [[*key, ", ".join(found)] for key, found in counts.items()]
    return f"\n## Not applicable\n\n{table(rows)}\n" if counts else ""


def table(rows: list[list[str]]) -> str:
    head, *others = rows
    lines = [head, ["---"] * len(head), *others]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


Pairs = set[tuple[str, str]]


def pair_of(line: str) -> tuple[str, str] | None:
    """Client and server of a row; None of a line that is none."""
    cells = line.split(" | ")
    row = line.startswith("| ") and not line.startswith(("| client |", "| --- |"))
    return (cells[0].removeprefix("| "), cells[1]) if row else None


def rows_of(text: str) -> Pairs:
    """The clients and servers of all rows."""
    return {pair for line in text.splitlines() if (pair := pair_of(line))}


def part(text: str, pairs: Pairs) -> str:
    """The text with the rows of these pairs only."""
    lines = text.splitlines(keepends=True)
    return "".join(line for line in lines if (pair := pair_of(line)) is None or pair in pairs)


def printable(text: str) -> str:
    """XML has no place for most control characters."""
    return "".join(char if char.isprintable() or char == "\n" else repr(char)[1:-1] for char in text)


def write_junit(results: list[Result], path: Path) -> None:
    """Each case over each way: its class is the case, its name the way."""
    suite = ElementTree.Element("testsuite", name="matrix")
    for result in results:
        case = ElementTree.SubElement(suite, "testcase", classname=result.case, name=result.way)
        if result.retried:
            properties = ElementTree.SubElement(case, "properties")
            for wrong in result.retried:
                ElementTree.SubElement(properties, "property", name="retry", value=printable(wrong))
        if result.lacks:
            ElementTree.SubElement(case, "skipped", message=result.lacks)
        if result.wrong:
            ElementTree.SubElement(case, "failure", message=printable(result.wrong))
    path.parent.mkdir(parents=True, exist_ok=True)
    ElementTree.ElementTree(suite).write(path, encoding="utf-8", xml_declaration=True)
