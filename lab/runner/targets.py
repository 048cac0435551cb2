"""The lists of targets (lab/targets.toml): which rows answer which line, and what the measurements say to it."""

import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from . import tables
from .config import ConfigError
from .verdicts import ORDER

FILE = Path("lab") / "targets.toml"
NOT_MEASURED = "not measured"


@dataclass
class Line:
    """One line: `rows` are (configuration, row or case)."""

    title: str
    rows: list[tuple[str, str]]


@dataclass
class TargetList:
    name: str
    title: str
    lines: list[Line]

    def rows_of(self, config: str) -> list[str]:
        """Those of its rows that a configuration has."""
        return [row for line in self.lines for file, row in line.rows if file == Path(config).name]


def load(path: Path) -> list[TargetList]:
    """The lists of a file; none without one."""
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
        return [_list(each) for each in data["list"]]
    except FileNotFoundError:
        return []
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ConfigError(f"{path}: {error!r}") from None


def summary(path: Path) -> list[tuple[str, str]]:
    """The rows that README.md shows, as (configuration, row or case)."""
    try:
        return _rows("summary", tomllib.loads(path.read_text(encoding="utf-8")).get("summary", []))
    except FileNotFoundError:
        return []
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ConfigError(f"{path}: {error!r}") from None


def _list(data: dict) -> TargetList:
    return TargetList(data["name"], data["title"], [_line(line) for line in data["lines"]])


def _line(data: dict) -> Line:
    return Line(data["title"], _rows(data["title"], data["rows"]))


def _rows(where: str, named: list[str]) -> list[tuple[str, str]]:
    rows = [tuple(row.split(":", 1)) for row in named]
    if any(len(row) != 2 for row in rows):
        raise ValueError(f"{where}: a row is FILE:ROW")
    return rows


# What a line's rows say: the answers to must and to goal of all their checks; None if a row is not measured.
Answers = Callable[[str, str], list[tuple[str | None, str | None]] | None]


def table(of: TargetList, answers: Answers) -> str:
    return tables.table(["", "must", "goal", "rows"], [_cells(line, answers) for line in of.lines])


def _cells(line: Line, answers: Answers) -> list[str]:
    found = {name: answers(file, name) for file, name in line.rows}
    absent = [name for name, each in found.items() if each is None]
    measured = [answer for each in found.values() for answer in each or []]
    if absent or not measured:
        verdicts = [NOT_MEASURED, NOT_MEASURED]
    else:
        verdicts = [_least([must for must, _ in measured]), _least([goal for _, goal in measured])]
    lacking = f"{', '.join(found)}; not measured: {', '.join(absent)}" if absent and measured else ", ".join(found)
    return [line.title, *verdicts, lacking or "none"]


def _least(answers: list[str | None]) -> str:
    given = [answer for answer in answers if answer is not None]
    return min(given, key=ORDER.index) if given else "–"
