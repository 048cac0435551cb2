"""How often a client makes calls again by itself (spec/client.md)."""

from __future__ import annotations

from collections import deque

SPAN = 10_000_000  # µs that count as recent
LEAST = 100  # repetitions in that time that are always allowed
SHARE = 10  # beyond those, one for so many calls


class Repeating:
    """The budget of all repetitions of one client or server, so that overload is not doubled by asking twice.

    Calls are only counted. When they were made is known from the moments at which somebody asked; between two of those
    they are taken to be spread evenly."""

    __slots__ = ("_asked", "_repeated", "allowed", "calls")

    def __init__(self, allowed: bool = True) -> None:
        self.allowed = allowed
        self.calls = 0  # ever begun
        self._repeated: deque[int] = deque()  # when, µs; the last SPAN of them
        self._asked: deque[tuple[int, int]] = deque()  # when, and `calls` then: one for each second of the last SPAN

    def take(self, now: int, allowed: bool | None = None) -> bool:
        """Whether a call may be repeated now, in µs of a clock that does not jump; if so, it counts. `allowed` is what
        its policy says."""
        if not (self.allowed if allowed is None else allowed):
            return False
        repeated = self._repeated
        while repeated and repeated[0] <= now - SPAN:
            repeated.popleft()
        allowed = len(repeated) < max(LEAST, self._recent(now) // SHARE)
        if allowed:
            repeated.append(now)
        return allowed

    def _recent(self, now: int) -> int:
        """How many calls were begun within the last SPAN."""
        asked = self._asked
        if not asked or now - asked[-1][0] >= 1_000_000:
            asked.append((now, self.calls))
        while len(asked) > 1 and asked[1][0] <= now - SPAN:
            asked.popleft()
        when, calls = asked[0]
        since, made = now - when, self.calls - calls
        return made if since <= SPAN else made * SPAN // since
