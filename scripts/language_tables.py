"""What documents say of languages, as languages/NAME.toml has it.

    python3 -m scripts.language_tables --write      writes the table of languages/README.md
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from harness.languages import PROTOCOLS, TRANSPORTS, Language, languages

ROOT = Path(__file__).resolve().parent.parent
TABLE = re.compile(r"(?<=<!-- languages -->\n).*?(?=<!-- end of languages -->)", re.DOTALL)
NAMES = {
    "native": "native",
    "grpc": "gRPC",
    "grpc-web": "gRPC-Web",
    "connect": "Connect",
    "tcp": "TCP",
    "tls": "TLS",
    "unix": "Unix sockets",
    "websocket": "WebSockets",
}


def table() -> str:
    """What each language serves and lacks."""
    lines = ["| language | serves | over | lacks |", "|---|---|---|---|"]
    for language in languages().values():
        cells = (
            language.name,
            ", ".join(NAMES[one] for one in PROTOCOLS if one in language.peer.protocols),
            ", ".join(NAMES[one] for one in TRANSPORTS if one in language.peer.transports),
            "; ".join(lacking(language)) or "–",
        )
        lines.append(f"| {' | '.join(cells)} |")
    return "".join(f"{line}\n" for line in lines)


def lacking(language: Language) -> list[str]:
    """The reasons, each once."""
    lacks = language.lacks
    tables = (lacks.client, lacks.server, lacks.connect, lacks.suites)
    return list(dict.fromkeys(reason for table in tables for reason in table.values()))


def rows() -> dict[str, str]:
    """What stands in the first column of README.md's comparison, by the name of the row."""
    every = list(languages().values())

    def who(have: list[Language]) -> str:
        names = ", ".join(language.name for language in have)
        return "yes" if len(have) == len(every) else f"yes ({names})"

    return {
        "languages": ", ".join(language.name for language in every),
        "clients of gRPC as they are": who([one for one in every if "grpc" in one.peer.protocols]),
        "`curl` with JSON": who([one for one in every if "connect" in one.peer.protocols]),
        "without an IDL": who([one for one in every if "code-first" not in one.lacks.server]),
    }


def faults(root: Path = ROOT) -> list[str]:
    """What documents say otherwise."""
    found = []
    there = TABLE.search((root / "languages" / "README.md").read_text(encoding="utf-8"))
    if not there or there[0] != table():
        found.append("languages/README.md has another table: python3 -m scripts.language_tables --write")
    readme = (root / "README.md").read_text(encoding="utf-8")
    for name, cell in rows().items():
        if f"\n| {name} | {cell} |" not in readme:
            found.append(f"README.md: the row {name!r} has to begin with {cell!r}")
    return found


def main() -> int:
    if sys.argv[1:] == ["--write"]:
        path = ROOT / "languages" / "README.md"
        path.write_text(TABLE.sub(lambda _: table(), path.read_text(encoding="utf-8")), encoding="utf-8")
    found = faults()
    print("\n".join(found) or table(), end="")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
