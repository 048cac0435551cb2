"""The order of runs: random, seeded, and balanced against drift.

Rounds come in twos. The first of the two is a random order of all participants, the second is the same order reversed
(A B B A, for any number): whatever gets slower or warmer at a steady pace weighs on all of them alike.
"""

import random
from dataclasses import dataclass

from .config import Case

AGAIN = "#2"


@dataclass(frozen=True)
class Slot:
    """One run to be made. The label tells the subject's second run of a round from its first."""

    round: int
    position: int
    participant: str
    label: str


def entrants(case: Case) -> list[tuple[str, str]]:
    """(participant, label) of every run in a round; with A/A the subject runs twice."""
    pairs = [(name, name) for name in case.participants()]
    if case.aa:
        pairs.append((case.subject, case.subject + AGAIN))
    return pairs


def rounds(who: list[tuple[str, str]], count: int, seed: str) -> list[list[Slot]]:
    """`count` rounds of all of `who`; the same seed gives the same order."""
    generator = random.Random(seed)
    order: list[tuple[str, str]] = []
    result = []
    for number in range(count):
        if number % 2 == 0:
            order = list(who)
            generator.shuffle(order)
        else:
            order = order[::-1]
        result.append([Slot(number, at, name, label) for at, (name, label) in enumerate(order)])
    return result
