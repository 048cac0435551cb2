"""JSON's syntax, by the standard library."""

from __future__ import annotations

import json
import re
from typing import Any, NoReturn

from .faults import MAX_NESTING, Fault, too_deep

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{},]', re.DOTALL)


def _no_number(word: str) -> NoReturn:
    raise Fault(f"the JSON is not valid: {word} is no number in JSON")


_DECODER = json.JSONDecoder(parse_constant=_no_number)
_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def read(data: bytes) -> Any:
    """The value of a text as a tree. Raises Fault, Deep."""
    try:
        return _DECODER.decode(data.decode())
    except Fault:
        raise
    except RecursionError:
        raise Deep(data.decode()) from None
    except UnicodeDecodeError as error:
        raise Fault(f"the JSON is not UTF-8, at byte {error.start}") from None
    except json.JSONDecodeError as error:
        raise Fault(f"the JSON is not valid: {error.msg}, at character {error.pos}") from None
    except ValueError:  # int says so
        raise Fault("the JSON has a whole number of thousands of digits") from None


class Deep(Fault):
    """Nesting that is too deep to be read at all. `element` of the outermost array has it, counted from 0."""

    def __init__(self, text: str) -> None:
        found = too_deep()
        super().__init__(found.text, limit=True)
        self.element = 0
        depth = 0
        for token in _TOKEN.finditer(text):
            match token.group():
                case "[" | "{":
                    depth += 1
                    if depth > MAX_NESTING:
                        break
                case "]" | "}":
                    depth -= 1
                case "," if depth == 1:
                    self.element += 1
                case _:
                    pass


def write(value: Any) -> bytes:
    """A text of None, booleans, numbers, texts, lists and dicts with keys of text."""
    return _ENCODER.encode(value).encode()
