#!/usr/bin/env python3
"""Fails when a Markdown file links to a file or heading that is not there, or quotes code that does not stand so, or
when a source cites a section of a specification that is not there, as in "protocol.md 9.6", or a table says of languages
what their files do not, or the README is longer than a stranger reads.

A block of code behind the comment <!-- from FILE --> must be a run of lines of that file, whatever their indentation.
"""

from __future__ import annotations

import re
import sys
import textwrap
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
from harness.languages import languages  # noqa: E402
from scripts import language_tables  # noqa: E402

README_LINES = 150
SKIPPED = {".git", "build", "node_modules"}

BLOCK = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
QUOTE = re.compile(r"^<!-- from (\S+) -->\n+```\w*\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def anchors(text: str) -> set[str]:
    """The headings of a text as the names that links know them by."""
    headings = re.findall(r"^#+ +(.+?) *$", BLOCK.sub("", text), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def bad_links(path: Path, text: str) -> list[str]:
    found = []
    prose = re.sub(r"`[^`\n]*`", "code", BLOCK.sub("", text))
    for link in re.findall(r"\]\(([^)\s]+)\)", prose):
        if re.match(r"[a-z]+:", link):
            continue  # not a file
        name, _, anchor = link.partition("#")
        target = path.parent / name if name else path
        if not target.exists():
            found.append(f"links to {link}, which is not there")
        elif anchor and target.suffix == ".md" and anchor not in anchors(target.read_text(encoding="utf-8")):
            found.append(f"links to {link}, and there is no such heading")
    return found


def bad_quotes(path: Path, text: str) -> list[str]:
    found = []
    for name, quoted in QUOTE.findall(text):
        source = path.parent / name
        if not source.exists():
            found.append(f"quotes {name}, which is not there")
        elif not stands_in(quoted, source.read_text(encoding="utf-8")):
            found.append(f"quotes {name}, but not as it stands there:\n{quoted}")
    return found


def stands_in(quoted: str, source: str) -> bool:
    wanted = textwrap.dedent(quoted).splitlines()
    lines = source.splitlines()
    return any(
        textwrap.dedent("\n".join(lines[i : i + len(wanted)])).splitlines() == wanted
        for i in range(len(lines) - len(wanted) + 1)
    )


def bad_citations() -> list[str]:
    """Sources that cite a section which the text does not have."""
    found = []
    sources = [path for language in languages().values() for path in language.files(language.sources)]
    sources += sorted(path for folder in ("conformance", "harness", "spec") for path in (ROOT / folder).rglob("*.py"))
    for name in ("protocol", "limits", "status", "client", "code-first", "http", "registry", "policy"):
        text = (ROOT / "spec" / f"{name}.md").read_text(encoding="utf-8")
        sections = set(re.findall(r"^(?:#+ |\*\*)(\d+(?:\.\d+)?)[. *]", text, flags=re.MULTILINE))
        cited = re.compile(rf"\b{name}\.md,? (?:section )?(\d+(?:\.\d+)?)\b")
        for path in sources:
            missing = set(cited.findall(path.read_text(encoding="utf-8"))) - sections
            found += [f"{path.relative_to(ROOT)} cites {name}.md {n}, which is not there" for n in sorted(missing)]
    return found


def unsaid(path: Path) -> list[str]:
    """Texts of errors, in the first column of a table in this file, that no program says. Words in capitals stand for
    what differs, an ellipsis for what is left out."""
    sources = {path for language in languages().values() for path in language.files(language.sources)}
    tests = {path for language in languages().values() for path in language.files(language.test_sources)}
    said = "\n".join(source.read_text(encoding="utf-8") for source in sorted(sources - tests))
    told = re.sub(r'"\s*\+?\s*f?"', "", said)  # a text may be put together from several
    rows = re.findall(r"^\| (`.*?`(?:, `.*?`)*)[ |]", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    texts = [text for row in rows for text in re.findall(r"`(.*?)`", row)]
    fragments = [part.strip(" :()") for text in texts for part in re.split(r"…|\b[A-Z]+(?:[:/][A-Z]+)*\b", text)]
    return [f"{path.name}: {part!r} is said nowhere" for part in fragments if len(part) > 3 and part not in told]


def main() -> int:
    files = [p for p in sorted(ROOT.rglob("*.md")) if not SKIPPED.intersection(p.relative_to(ROOT).parts)]
    found = []
    for path in files:
        text = path.read_text(encoding="utf-8")
        found += [f"{path.relative_to(ROOT)} {fault}" for fault in bad_links(path, text) + bad_quotes(path, text)]
    if (lines := len((ROOT / "README.md").read_text(encoding="utf-8").splitlines())) > README_LINES:
        found.append(f"README.md has {lines} lines, more than {README_LINES}")
    found += language_tables.faults() + bad_citations() + unsaid(ROOT / "docs" / "troubleshooting.md")
    print("\n".join(found) or f"{len(files)} files")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
