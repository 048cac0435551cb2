"""matrix.md: what came of all, as tables."""

from __future__ import annotations

from collections import defaultdict

from .cases import Case
from .matrix import Matrix, Way

HEAD = """# Matrix

What came of the cases of [cases/](cases/README.md): each client with each server over each transport. A cell has how many cases of a group passed, of those that
are applicable; large ones, and those that have to do with no transport, are carried out over the first of a pair only. Written by `make matrix`; `make test` fails if a run gives anything else.
"""


def written(matrix: Matrix, cases: list[Case], ways: list[Way]) -> str:
    """The text of matrix.md."""
    groups = list(dict.fromkeys(case.group for case in cases))
    rows = [["client", "server", "transport", *groups]]
    for way in ways:
        rows.append([way.client.name, way.server.name, way.transport, *(cell(matrix, way, group) for group in groups)])
    return f"{HEAD}\n{table(rows)}\n{lacking(matrix, groups, ways)}"


def cell(matrix: Matrix, way: Way, group: str) -> str:
    tally = matrix.tallies[way, group]
    of = tally.passed + tally.failed
    return f"{tally.passed}/{of}" if of else "-"


def lacking(matrix: Matrix, groups: list[str], ways: list[Way]) -> str:
    """What is not applicable, by its reason."""
    counts: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    for group in groups:
        for way in ways:
            for why, many in matrix.tallies[way, group].lacking.items():
                counts[why, group].append(f"{way.client.name} to {way.server.name} ({way.transport}) {many}")
    if not counts:
        return ""
    rows = [["why", "group", "cases that are not applicable"]]
    rows += [[why, group, ", ".join(found)] for (why, group), found in sorted(counts.items())]
    return f"\n## Not applicable\n\n{table(rows)}\n"


def table(rows: list[list[str]]) -> str:
    head, *others = rows
    lines = [head, ["---"] * len(head), *others]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
