"""What is wrong with a value, and where in it."""

from __future__ import annotations

MAX_NESTING = 100  # arrays and maps in each other, the outermost counted (spec/limits.md)


class Fault(ValueError):
    """A value that cannot be read or written: what is wrong, and the way to it from the
    value that is read, ".items[3]". The text never has the value itself."""

    def __init__(self, text: str, *, limit: bool = False) -> None:
        super().__init__(text)
        self.text = text
        self.limit = limit  # crossed, so that the call ends RESOURCE_EXHAUSTED
        self.path = ""

    def within(self, step: str) -> Fault:
        """The same, told from the value around."""
        if not self.limit:  # a path of a hundred steps helps nobody
            self.path = step + self.path
        return self

    def told(self) -> str:
        """What follows the words that name the value: ": want …", or ", at .x: want …"."""
        return f", at {self.path}: {self.text}" if self.path else f": {self.text}"

    def __str__(self) -> str:
        return f"at {self.path}: {self.text}" if self.path else self.text


UNTAKEN = "the values of this record are not ones that it takes"


class Refused(ValueError):
    """Values that a class refuses to be made of: the member with the one at fault, None if it is none alone; the way to
    it from there; what is wrong."""

    def __init__(self, member: str | None, inside: str, text: str) -> None:
        super().__init__(text)
        self.member, self.inside, self.text = member, inside, text


def unwanted(wanted: str, got: str) -> Fault:
    return Fault(f"want {wanted}, got {got}")


def too_deep() -> Fault:
    return Fault(f"arrays and maps nest deeper than max_nesting {MAX_NESTING}", limit=True)
