"""What passes over a connection, turn by turn.

With one call in flight at a time, request and response take turns on the connection, and the bytes of two turns are
the bytes of one call: exact, whatever the protocol, and without knowing how many calls a warm-up made.
"""

import statistics
from dataclasses import dataclass, field

from harness.rules import DOWN, UP


@dataclass
class Conversation:
    """One forwarded connection: the turns as (direction, bytes)."""

    turns: list[list] = field(default_factory=list)

    def passed(self, direction: str, count: int) -> None:
        if self.turns and self.turns[-1][0] == direction:
            self.turns[-1][1] += count
        else:
            self.turns.append([direction, count])

    def bytes_per_call(self) -> tuple[float, float]:
        """(median, mean) bytes of a call, both ways; the first tenth, while the connection warms up, left out.

        The median is the plain warm call; the mean has its share of pings and credit too.
        """
        warm = self.turns[len(self.turns) // 10 :]
        sizes = {d: [size for direction, size in warm if direction == d] for d in (UP, DOWN)}
        if not sizes[UP] or not sizes[DOWN]:
            return 0.0, 0.0
        median = statistics.median(sizes[UP]) + statistics.median(sizes[DOWN])
        return median, sum(sum(s) for s in sizes.values()) / min(len(s) for s in sizes.values())
