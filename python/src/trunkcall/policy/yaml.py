"""Policy files in the part of YAML that policy.md 2.5 tells."""

from __future__ import annotations

import re

from .faults import fail
from .tree import MAX_NESTED, Kind, Node, quoted, scalar, unquote

_BLANKS = " \t"
_BLANK = re.compile(r"[ \t]*")
_ENDS = re.compile(r"[ \t]*$|[ \t]+#")
_COMMENT = re.compile(r"[ \t]#")
_COLON = re.compile(r":(?=[ \t]|$)|(?<=[ \t])#")
_ELEMENT = re.compile(r"[^,\[\]{}]*")
_EMPTY = re.compile(r"\{[ \t]*\}")
_DASH = re.compile(r"-([ \t]|$)")
_INDICATOR = re.compile(r"[,\]}%@`#]|[-?:]([ \t]|$)")
_NOT_READ = {
    "&": "anchors",
    "*": "aliases",
    "!": "tags",
    "|": "blocks of text",
    ">": "blocks of text",
    "{": "mappings in braces",
}


def read_yaml(text: str) -> Node:
    return _Reader(text.split("\n")).file()


class _Reader:
    """Stands at a line with something in it, or behind the last."""

    def __init__(self, lines: list[str]) -> None:
        self._lines = lines
        self._next = -1  # of the lines, the one that it stands at
        self._indent = 0
        self._text = ""  # of that line, without its indentation
        self._over = False  # it stands at "...", or behind the last line
        self._nested = 0

    @property
    def _line(self) -> int:
        return self._next + 1

    def file(self) -> Node:
        self._advance()
        if self._is_marker("---"):
            self._advance()
        root = Node(Kind.MAPPING, 1)
        if not self._over:
            root = self._block(self._indent, flat=False)
            if not self._over:
                fail(self._line, "wrong indentation")
        root.line = 1
        if self._next == len(self._lines):
            fail(len(self._lines), 'the file ends without "..." and may be half written')
        for n in range(self._next + 1, len(self._lines)):
            if self._lines[n].lstrip(_BLANKS)[:1] not in ("", "#"):
                fail(n + 1, 'something behind "..."')
        return root

    def _advance(self) -> None:
        """Goes to the next line with something in it."""
        for n in range(self._next + 1, len(self._lines)):
            line = self._lines[n]
            rest = line.lstrip(_BLANKS)
            if rest[:1] in ("", "#"):
                continue
            self._next, self._indent, self._text = n, len(line) - len(rest), rest
            if "\t" in line[: self._indent]:
                fail(self._line, "a tab in the indentation")
            self._over = self._is_marker("...")
            return
        self._next, self._over = len(self._lines), True

    def _is_marker(self, marker: str) -> bool:
        there = self._next < len(self._lines) and self._indent == 0 and self._text.startswith(marker)
        return there and self._ends(len(marker))

    def _ends(self, at: int) -> bool:
        """Whether the line has nothing more than a comment from there on."""
        return _ENDS.match(self._text, at) is not None

    def _skip(self, at: int) -> int:
        blank = _BLANK.match(self._text, at)
        return blank.end() if blank else at

    def _is_element(self) -> bool:
        return _DASH.match(self._text) is not None

    def _enter(self) -> None:
        self._nested += 1
        if self._nested > MAX_NESTED:
            fail(self._line, f"nested more than {MAX_NESTED} deep")

    def _block(self, indent: int, flat: bool) -> Node:
        """A mapping or list whose lines are indented so. A flat list is indented as the mapping that it stands in."""
        self._enter()
        node = self._list_block(indent, flat) if self._is_element() else self._mapping_block(indent)
        self._nested -= 1
        return node

    def _list_block(self, indent: int, flat: bool) -> Node:
        node = Node(Kind.LIST, self._line)
        while not self._over and self._indent >= indent:
            if self._indent > indent:
                fail(self._line, "wrong indentation")
            if not self._is_element():
                if flat:
                    break
                fail(self._line, "a list and a mapping in one place")
            if self._ends(1):
                node.elements.append(Node(Kind.NOTHING, self._line))
            else:
                at = self._skip(1)
                if self._text[at] == "[":
                    fail(self._line, "lists in lists are not read here")
                node.elements.append(self._inline(at))
            self._advance()
        return node

    def _mapping_block(self, indent: int) -> Node:
        node = Node(Kind.MAPPING, self._line)
        while not self._over and self._indent >= indent:
            if self._indent > indent:
                fail(self._line, "wrong indentation")
            if self._is_element():
                fail(self._line, "a list and a mapping in one place")
            line = self._line
            key, at = self._key()
            if key in node.entries:
                fail(line, f"the key {quoted(key)} comes twice")
            value = Node(Kind.NOTHING, line)
            if not self._ends(at):
                value = self._inline(self._skip(at))
                self._advance()
            else:
                self._advance()
                flat = self._indent == indent
                if not self._over and (self._indent > indent or flat and self._is_element()):
                    value = self._block(self._indent, flat)
            value.line = line
            node.entries[key] = value
        return node

    def _key(self) -> tuple[str, int]:
        """The key of a line, and where its value begins."""
        text = self._text
        if text[0] in "\"'":
            key, end = self._marks(0)
            end = self._skip(end)
        elif text[0] == "[":
            fail(self._line, "lists as keys are not read here")
        else:
            self._allow(text, 0)
            end = self._colon(text)
            if end < 0:
                fail(self._line, 'want "key: value"')
            key = text[:end].rstrip(_BLANKS)
        if text[end : end + 1] != ":" or text[end + 1 : end + 2] not in ("", " ", "\t"):
            fail(self._line, 'want "key: value"')
        return key, end + 1

    def _colon(self, text: str) -> int:
        """Where a plain text has a colon before a blank or at its end; -1 if it has none before a comment."""
        found = _COLON.search(text)
        return found.start() if found and found[0] == ":" else -1

    def _allow(self, text: str, at: int) -> None:
        """Fails where no plain text may begin so."""
        if text[at] in _NOT_READ:
            fail(self._line, f"{_NOT_READ[text[at]]} are not read here")
        if _INDICATOR.match(text, at):
            fail(self._line, f"want a value, found {quoted(text[at])}")

    def _inline(self, at: int) -> Node:
        """A value that stands behind its key, or in a list, to the end of the line."""
        c = self._text[at]
        if c in "\"'":
            read, at = self._marks(at)
            node = Node(Kind.TEXT, self._line, read)
        elif c == "[":
            node, at = self._brackets(at + 1)
        elif empty := _EMPTY.match(self._text, at):
            self._enter()
            self._nested -= 1
            node, at = Node(Kind.MAPPING, self._line), empty.end()
        else:
            return self._plain(_until_comment(self._text[at:]))
        if not self._ends(at):
            fail(self._line, "something behind a value")
        return node

    def _plain(self, text: str) -> Node:
        self._allow(text, 0)
        if self._colon(text) >= 0:
            fail(self._line, 'a ":" in a plain text wants quotation marks')
        return scalar("null" if text == "~" else text, self._line) or Node(Kind.TEXT, self._line, text)

    def _marks(self, at: int) -> tuple[str, int]:
        """A text in quotation marks of either kind, and where it ends."""
        if self._text[at] == '"':
            return unquote(self._text, at + 1, self._line)
        read = ""
        while True:
            end = self._text.find("'", at + 1)
            if end < 0:
                fail(self._line, "a text is not closed")
            read += self._text[at + 1 : end]
            if not self._text.startswith("'", end + 1):
                return read, end + 1
            read += "'"
            at = end + 1

    def _brackets(self, at: int) -> tuple[Node, int]:
        """A list, from behind its bracket."""
        self._enter()
        self._nested -= 1
        node = Node(Kind.LIST, self._line)
        while True:
            at = self._within(at)
            if self._text[at] == "]" and not node.elements:
                return node, at + 1
            element, at = self._element(at)
            node.elements.append(element)
            at = self._within(at)
            if self._text[at] == "]":
                return node, at + 1
            if self._text[at] != ",":
                fail(self._line, "something behind a value")
            at += 1

    def _within(self, at: int) -> int:
        if self._ends(at):
            fail(self._line, "a list is not closed")
        return self._skip(at)

    def _element(self, at: int) -> tuple[Node, int]:
        if self._text[at] in "\"'":
            read, end = self._marks(at)
            return Node(Kind.TEXT, self._line, read), end
        if self._text[at] == "[":
            fail(self._line, "lists in lists are not read here")
        self._allow(self._text, at)
        match = _ELEMENT.match(self._text, at)
        text = _until_comment(match[0] if match else "")
        return self._plain(text), at + len(text)


def _until_comment(text: str) -> str:
    """The part of a text before a comment and the blanks before that."""
    comment = _COMMENT.search(text)
    return (text[: comment.start()] if comment else text).rstrip(_BLANKS)
