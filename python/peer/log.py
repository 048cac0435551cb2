"""The log of the server: a line of key=value pairs on stderr for each event."""

from __future__ import annotations

import json
import logging
import re
from datetime import UTC, datetime

PLAIN = re.compile(r'[^\s"=]+')


class Lines(logging.Formatter):
    """`time=… level=WARN msg="…" key=value`; the pairs are those in the record's attribute `fields`, if it has any."""

    def format(self, record: logging.LogRecord) -> str:
        when = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        message = record.getMessage()
        if record.exc_info and record.exc_info[1] is not None:
            message += f": {self.formatException(record.exc_info)}"
        pairs: dict[str, object] = {"time": when, "level": record.levelname, "msg": message}
        pairs |= getattr(record, "fields", {})
        return " ".join(f"{key}={shown(str(value))}" for key, value in pairs.items())


def shown(value: str) -> str:
    """The value as it is, or quoted if it would not be one word."""
    return value if PLAIN.fullmatch(value) else json.dumps(value, ensure_ascii=False)


def make_logger() -> logging.Logger:
    """Logs the framework's warnings and what is worse, and everything of the program's own from INFO on."""
    handler = logging.StreamHandler()
    handler.setFormatter(Lines())
    logging.addLevelName(logging.WARNING, "WARN")
    logging.basicConfig(handlers=[handler], level=logging.WARNING)
    own = logging.getLogger("peer")
    own.setLevel(logging.INFO)
    return own
