"""Policy files in JSON (policy.md 2.4)."""

from __future__ import annotations

import re

from .faults import fail
from .tree import MAX_NESTED, Kind, Node, quoted, scalar, unquote

_WORD = re.compile(r"[A-Za-z0-9+.-]*")


def read_json(text: str) -> Node:
    reader = _Reader(text)
    root = reader.value()
    root.line = 1
    if reader.peek():
        fail(reader.line, f"want the end, found {reader.found()}")
    return root


class _Reader:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self.line = 1
        self._nested = 0

    def peek(self) -> str:
        """What follows behind blanks; empty at the end."""
        while (c := self._text[self._at : self._at + 1]) and c in " \t\n":
            self.line += c == "\n"
            self._at += 1
        return c

    def found(self) -> str:
        c = self._text[self._at : self._at + 1]
        return quoted(c) if c else "the end"

    def value(self) -> Node:
        c = self.peek()
        if c == "{":
            return self._object()
        if c == "[":
            return self._array()
        if c == '"':
            read, self._at = unquote(self._text, self._at + 1, self.line)
            return Node(Kind.TEXT, self.line, read)
        match = _WORD.match(self._text, self._at)
        word = match[0] if match else ""
        node = scalar(word, self.line)
        if node is None:
            fail(self.line, f"want a value, found {quoted(word) if word else self.found()}")
        self._at += len(word)
        return node

    def _enter(self) -> None:
        self._nested += 1
        if self._nested > MAX_NESTED:
            fail(self.line, f"nested more than {MAX_NESTED} deep")
        self._at += 1

    def _leave(self) -> None:
        self._at += 1
        self._nested -= 1

    def _object(self) -> Node:
        node = Node(Kind.MAPPING, self.line)
        self._enter()
        more = self.peek() != "}"
        while more:
            if self.peek() != '"':
                fail(self.line, f"want a key, found {self.found()}")
            line = self.line
            key, self._at = unquote(self._text, self._at + 1, line)
            if key in node.entries:
                fail(line, f"the key {quoted(key)} comes twice")
            if self.peek() != ":":
                fail(self.line, f'want ":", found {self.found()}')
            self._at += 1
            node.entries[key] = self.value()
            node.entries[key].line = line
            more = self._more("}")
        self._leave()
        return node

    def _array(self) -> Node:
        node = Node(Kind.LIST, self.line)
        self._enter()
        more = self.peek() != "]"
        while more:
            node.elements.append(self.value())
            more = self._more("]")
        self._leave()
        return node

    def _more(self, end: str) -> bool:
        c = self.peek()
        if c == ",":
            self._at += 1
        elif c != end:
            fail(self.line, f'want "," or "{end}", found {self.found()}')
        return c == ","
