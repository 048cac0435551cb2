"""The raw rows: one JSON object a line, appended and flushed as they come, so that an interrupted run is kept too."""

import json
import time
from pathlib import Path

FILE = "rows.jsonl"


class Writer:
    """Appends rows; numbers the runs, so that a figure can name the runs it comes from."""

    def __init__(self, directory: Path):
        self._file = open(directory / FILE, "a", encoding="utf-8")  # noqa: SIM115 - closed by close()
        self._next = 1

    def write(self, type_: str, /, **content: object) -> None:
        row = {"type": type_, **content}
        self._file.write(json.dumps(row, ensure_ascii=False) + "\n")
        self._file.flush()

    def run(self, **content: object) -> None:
        self.write("run", id=self._next, at=time.strftime("%Y-%m-%dT%H:%M:%S%z"), **content)
        self._next += 1

    def close(self) -> None:
        self._file.close()


class RowsError(Exception):
    """One line saying why a directory cannot be reported on."""


def read(directory: Path) -> list[dict]:
    path = Path(directory) / FILE
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise RowsError(f"{path}: {error.strerror}") from None
    rows = []
    for number, line in enumerate(lines, 1):
        try:
            rows.append(json.loads(line))
        except json.JSONDecodeError:
            # Only the last line can be torn, by a runner that was killed while writing it.
            if number < len(lines):
                raise RowsError(f"{path}:{number}: not JSON") from None
    return rows
