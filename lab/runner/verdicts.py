"""Targets against figures.

Four answers for a plain bound, because an interval can straddle it: `met` and `not met` when the whole interval lies
on one side, `met?` and `not met?` when only the median tells. A lenient bound ("no worse, beyond the interval") is
missed only when the whole interval lies on the wrong side.
"""

from dataclasses import dataclass

from .config import HIGHER_IS_BETTER, Check
from .figures import Estimate, Runs, bootstrap, fastest, ratio

NO_DATA = "no data"
# From bad to good; the worst of several counts.
ORDER = (NO_DATA, "not met", "not met?", "met?", "met")


@dataclass(frozen=True)
class Verdict:
    """A check with what was found: `other` is the participant it was held against, if any."""

    check: Check
    other: str
    estimate: Estimate | None
    must: str | None
    goal: str | None


def judge(check: Check, runs: Runs, subject: str, peers: list[str], seed: int) -> Verdict:
    """Evaluate one check; against `each`, the peer that compares least favourably."""
    if check.against == "each":
        return _worst([_against(check, runs, subject, peer, seed) for peer in peers], check)
    if check.against == "fastest":
        return _against_fastest(check, runs, subject, peers, seed)
    if check.against:
        return _against(check, runs, subject, check.against, seed)
    return _verdict(check, "", bootstrap(runs.values(subject, check.metric), seed))


def _against_fastest(check: Check, runs: Runs, subject: str, peers: list[str], seed: int) -> Verdict:
    peer = fastest(runs, peers)
    if not peer:
        return _verdict(check, "fastest", None)
    # A peer without valid runs might have been the fastest: the claim names it.
    absent = [p for p in peers if not runs.values(p, "rate")]
    without = f" of those without {', '.join(absent)}" if absent else ""
    estimate = ratio(runs, check.metric, subject, peer, seed)
    return _verdict(check, f"{peer} (fastest{without})", estimate)


def _against(check: Check, runs: Runs, subject: str, other: str, seed: int) -> Verdict:
    return _verdict(check, other, ratio(runs, check.metric, subject, other, seed))


def _verdict(check: Check, other: str, estimate: Estimate | None) -> Verdict:
    higher = check.metric in HIGHER_IS_BETTER
    return Verdict(
        check,
        other,
        estimate,
        None if check.must is None else answer(estimate, check.must, higher, check.lenient),
        None if check.goal is None else answer(estimate, check.goal, higher, False),
    )


def answer(estimate: Estimate | None, bound: float, higher: bool, lenient: bool) -> str:
    if estimate is None:
        return NO_DATA
    # Mirrored for figures of which less is better, so that "above the bound" is good in both cases.
    sign = 1 if higher else -1
    value, limit = sign * estimate.value, sign * bound
    worst, best = sorted((sign * estimate.low, sign * estimate.high))
    if lenient:
        return "met" if best >= limit else "not met"
    if worst >= limit:
        return "met"
    if best < limit:
        return "not met"
    return "met?" if value >= limit else "not met?"


def _worst(verdicts: list[Verdict], check: Check) -> Verdict:
    # The line shows the ratio that compares worst; its answers are the worst of all peers'.
    sign = 1 if check.metric in HIGHER_IS_BETTER else -1
    shown = min(verdicts, key=lambda v: sign * v.estimate.value if v.estimate else float("-inf"))
    return Verdict(
        check,
        f"{shown.other} (least favourable of all)",
        shown.estimate,
        _least([v.must for v in verdicts]),
        _least([v.goal for v in verdicts]),
    )


def _least(answers: list[str | None]) -> str | None:
    given = [a for a in answers if a is not None]
    return min(given, key=ORDER.index) if given else None
