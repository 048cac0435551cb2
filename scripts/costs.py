"""What a run of `make test` cost, by suite and language, and what it would cost with more languages.

    python3 -m scripts.costs            print the table of the last whole run, from build/test.json
    python3 -m scripts.costs --write    write it into conformance/README.md

Reckoned is with the sums of seconds: a further language costs as much as the mean of those that are there; suites in
which languages meet grow with the pairs of the matrix, the first language with every other, both ways, and each with
itself; everything else stays. That two suites run beside each other saves as much as in the run.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from pathlib import Path
from typing import Any

from scripts.commands import ROOT
from scripts.reporting import FIGURES, SHARED

README = ROOT / "conformance" / "README.md"
PLACE = re.compile(r"(?<=<!-- costs: written by make costs -->\n).*?(?=<!-- end of costs -->)", re.DOTALL)
MANY = 4
SMALL = 5.0  # suites below so many seconds share a row


def ways(languages: int) -> int:
    return 3 * languages - 2


def reckoned(rows: list[dict[str, Any]], languages: int, what: str = "seconds") -> float:
    """The sum of seconds of all suites with so many languages, or of their processor time."""
    there = {row["language"] for row in rows if row["language"] and row["executions"]}
    own: float = sum(row[what] for row in rows if row["language"])
    met: float = sum(row[what] for row in rows if row["meets"])
    rest: float = sum(row[what] for row in rows if not row["language"] and not row["meets"])
    return own * languages / len(there) + met * ways(languages) / ways(len(there)) + rest


def whole(rows: list[dict[str, Any]]) -> float:
    """From the first suite's beginning to the last one's end."""
    return float(max(row["began"] + row["seconds"] for row in rows))


def table(rows: list[dict[str, Any]]) -> str:
    lines = ["| | suite | seconds | of the processor | behaviours | executions |", "|---|---|---:|---:|---:|---:|"]
    names = sorted({row["language"] for row in rows}, key=lambda name: (not name, name))
    for name in names:
        mine = sorted((row for row in rows if row["language"] == name), key=lambda row: -row["seconds"])
        small = [row for row in mine if row["seconds"] < SMALL]
        shown = [row for row in mine if row["seconds"] >= SMALL]
        if small:
            keys = ("seconds", "cpu", "behaviours", "executions")
            shown.append({"name": f"{len(small)} below {SMALL:.0f} s", **{key: sum(row[key] for row in small) for key in keys}})
        lines += [
            f"| {name or SHARED} | {row['name']} | {row['seconds']:.0f} | {row['cpu']:.0f} | {row['behaviours']} | {row['executions']} |"
            for row in shown
        ]
    total, there = sum(row["seconds"] for row in rows), len([name for name in names if name])
    lines.append(f"| **all** | | {total:.0f} | {sum(row['cpu'] for row in rows):.0f} | | {sum(row['executions'] for row in rows)} |")
    many = reckoned(rows, MANY)
    lines += [
        "",
        f"Two beside each other, the whole run took {minutes(whole(rows))} with {there} languages. With {MANY} it is reckoned to take"
        f" {minutes(whole(rows) * many / total)}: {many:.0f} seconds of suites instead of {total:.0f}, and"
        f" {reckoned(rows, MANY, 'cpu'):.0f} seconds of the processor instead of {reckoned(rows, there, 'cpu'):.0f}.",
        "",
    ]
    return "\n".join(lines)


def minutes(seconds: float) -> str:
    return f"{seconds // 60:.0f} min {seconds % 60:.0f} s"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="write it into conformance/README.md")
    parser.add_argument("--figures", type=Path, default=FIGURES, help="of another run")
    options = parser.parse_args()
    try:
        text = table(json.loads(options.figures.read_text(encoding="utf-8")))
    except FileNotFoundError:
        print(f"{options.figures} is not there: a whole run of `make test` writes it", file=sys.stderr)
        return 1
    if options.write:
        readme = README.read_text(encoding="utf-8")
        README.write_text(PLACE.sub(lambda _: text, readme), encoding="utf-8")
    else:
        print(text, end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
