"""Cases of breakers, outliers and limits (policy.md 10 to 13), worked out by hand. Times in the tables are milliseconds."""

from __future__ import annotations

from typing import Any

from .policy_cores import HALF, MOST, Sequence, Step, ended, ns, step


def breaker(**said: Any) -> dict[str, Any]:
    return {"policy": 1, "defaults": {"breaker": said}}


def ask(at: float, number: int, state: str = "closed") -> Step:
    return step(at, "ask", {"number": number, "state": state})


def turned(at: float, after: float, state: str = "open") -> Step:
    return step(at, "ask", {"after": ns(after), "state": state})


def fails(at: float, of: int, state: str = "closed", random: list[int] | None = None) -> Step:
    return ended(at, "UNAVAILABLE", "unknown", {"state": state}, random, ask=of)


def times_out(at: float, of: int, time: float, left: float, state: str = "closed", random: list[int] | None = None) -> Step:
    """Of a call that had so much time, and so much left when the attempt was given to its connection."""
    return ended(at, "DEADLINE_EXCEEDED", "unknown", {"state": state}, random, ask=of, time=time, left=left)


def works(at: float, of: int, state: str = "closed") -> Step:
    return ended(at, "OK", "executed", {"state": state}, ask=of)


ROW = breaker(consecutive=2, open="10s")
OPENED = [ask(0, 1), fails(0, 0), fails(0, 0, "open", [0])]  # until 10 s

BREAKER: list[Sequence] = [
    ("opens", "failures in a row open it, for its time", ROW,
     [ask(0, 1), fails(1000, 0), ask(1000, 1), fails(2000, 2, "open", [0]), turned(3000, 9000), turned(11_999.999999, 0.000001), ask(12_000, 3, "half_open"), turned(12_000, 10_000, "half_open"),
      works(13_000, 6), ask(13_000, 4)]),
    ("random", "and a random part of a fifth more", ROW, [ask(0, 1), fails(0, 0), fails(0, 0, "open", [MOST]), turned(0, 11_999.999999), turned(0, 11_999.999999)]),
    ("success", "a success between begins anew", ROW, [ask(0, 1), fails(0, 0), works(0, 0), fails(0, 0), fails(0, 0, "open", [HALF]), turned(0, 11_000)]),
    ("probe-fails", "a probe that fails opens it again", ROW, [*OPENED, ask(10_000, 3, "half_open"), fails(11_000, 3, "open", [HALF]), turned(12_000, 10_000), ask(22_000, 5, "half_open")]),
    ("probes", "as many successes as probes close it", breaker(consecutive=2, open="10s", probes=2),
     [*OPENED, ask(10_000, 3, "half_open"), ask(10_000, 3, "half_open"), turned(10_000, 10_000, "half_open"), works(10_001, 3, "half_open"), works(10_002, 4), ask(10_003, 4)]),
    ("probe-neither", "a probe that says nothing makes room for another", ROW,
     [*OPENED, ask(10_000, 3, "half_open"), ended(10_001, "CANCELLED", "unknown", {"state": "half_open"}, ask=3), ask(10_002, 3, "half_open"), works(10_003, 5)]),
    ("probe-lost", "one whose end is never told does not hold it up; when it ends after all that counts for nothing", ROW,
     [*OPENED, ask(10_000, 3, "half_open"), turned(19_999, 1, "half_open"), ask(20_000, 4, "half_open"), fails(20_001, 3, "half_open"), works(20_002, 5)]),
    ("late", "nor do ends of attempts from before", ROW, [ask(0, 1), *OPENED[1:], fails(1, 0, "open"), works(2, 0, "open"), ask(10_000, 3, "half_open"), fails(10_001, 0, "half_open"), works(10_002, 5)]),
    ("closed-anew", "when it closes nothing is counted", ROW, [*OPENED, ask(10_000, 3, "half_open"), works(10_000, 3), ask(10_000, 4), fails(10_001, 5), fails(10_001, 5, "open", [0])]),
    ("share", "a share of the calls", breaker(percent=50, calls=4), [ask(0, 1), works(0, 0), fails(0, 0), works(0, 0), fails(0, 0, "open", [0])]),
    ("share-below", "of enough calls, and large enough", breaker(percent=50, calls=4), [ask(0, 1), works(0, 0), works(0, 0), works(0, 0), fails(0, 0), fails(0, 0), fails(0, 0, "open", [0])]),
    ("share-few", "not of fewer calls, all failures though they are", breaker(percent=50, calls=4), [ask(0, 1), fails(0, 0), fails(0, 0), fails(0, 0), works(0, 0), fails(0, 0, "open", [0])]),
    ("share-success", "a success does not open it", breaker(percent=50, calls=3), [ask(0, 1), fails(0, 0), fails(0, 0), works(0, 0), ask(0, 1)]),
    ("window", "in the slices of the window", breaker(percent=50, calls=2), [ask(0, 1), fails(999, 0), fails(10_000, 0), fails(19_999, 0, "open", [0])]),
    ("window-whole", "the first and the last of ten slices", breaker(percent=50, calls=2), [ask(0, 1), fails(0, 0), fails(9_999, 0, "open", [0])]),
    ("failures", "what a failure is, and what is neither", ROW,
     [ask(0, 1), ended(0, "INTERNAL", "executed", {"state": "closed"}, ask=0), ended(0, "UNAVAILABLE", "not_sent", {"state": "closed"}, ask=0), ended(0, "CANCELLED", "unknown", {"state": "closed"}, ask=0),
      ended(0, "PERMISSION_DENIED", "refused", {"state": "closed"}, ask=0), ended(0, "UNAVAILABLE", "refused", {"state": "open"}, [0], ask=0)]),
    ("deadline", "running out of time is a failure", ROW,
     [ask(0, 1), times_out(250, 0, 250, 250), ended(250, "DEADLINE_EXCEEDED", "executed", {"state": "open"}, [0], ask=0)]),
    ("deadline-late", "but not of an attempt that had less than half of the call's time", ROW,
     [ask(0, 1), times_out(250, 0, 250, 124.999999), times_out(250, 0, 250, 0), times_out(250, 0, 250, 125), times_out(250, 0, 250, 125, "open", [0])]),
    ("deadline-late-row", "which does not break a row off either", ROW, [ask(0, 1), fails(0, 0), times_out(250, 0, 250, 10), fails(300, 0, "open", [0])]),
    ("deadline-late-executed", "whoever says so", ROW,
     [ask(0, 1), *(ended(250, "DEADLINE_EXCEEDED", delivery, {"state": "closed"}, ask=0, time=250, left=124) for delivery in ("executed", "unknown", "refused"))]),
    ("deadline-late-share", "nor does it count among the calls", breaker(percent=50, calls=2), [ask(0, 1), times_out(250, 0, 250, 1), times_out(250, 0, 250, 1), fails(250, 0), fails(250, 0, "open", [0])]),
    ("deadline-codes", "failures of other kinds count whenever they were sent", ROW,
     [ask(0, 1), ended(249, "UNAVAILABLE", "unknown", {"state": "closed"}, ask=0, time=250, left=1), ended(249, "INTERNAL", "executed", {"state": "open"}, [0], ask=0, time=250, left=1)]),
    ("probe-late", "a probe that was late makes room for another", ROW,
     [*OPENED, ask(10_000, 3, "half_open"), times_out(10_250, 3, 250, 10, "half_open"), ask(10_250, 3, "half_open"), times_out(10_500, 5, 250, 250, "open", [0])]),
    ("other-codes", "other codes are successes", ROW,
     [ask(0, 1), fails(0, 0), ended(0, "NOT_FOUND", "executed", {"state": "closed"}, ask=0), fails(0, 0), ended(0, "ABORTED", "refused", {"state": "closed"}, ask=0, retry_after=1), fails(0, 0)]),
    ("own-codes", "the user's codes alone", breaker(consecutive=1, codes=["ABORTED"]), [ask(0, 1), fails(0, 0), ended(0, "ABORTED", "executed", {"state": "open"}, [0], ask=0)]),
    ("back", "a time before the last one counts as the last one", ROW, [*OPENED, turned(9000, 1000), turned(1000, 1000)]),
]  # fmt: skip


def outliers(**said: Any) -> dict[str, Any]:
    return {"policy": 1, "defaults": {"outliers": {"consecutive": 2, "eject": "10s", "max_eject": "25s", "cap": 50} | said}}


def endpoints(at: float, ids: str) -> Step:
    return step(at, "endpoints", {}, endpoints=list(ids))


def fault(at: float, endpoint: str, until: float | None = None, random: list[int] | None = None) -> Step:
    return ended(at, "UNAVAILABLE", "unknown", {} if until is None else {"until": ns(until)}, random, endpoint=endpoint)


def ejected(at: float, ids: str = "") -> Step:
    return step(at, "ejected", {"ejected": list(ids)})


OUTLIERS: list[Sequence] = [
    ("ejects", "failures in a row eject it, for its time", outliers(),
     [endpoints(0, "abcd"), fault(1000, "a"), fault(2000, "a", 12_000, [0]), ejected(3000, "a"), fault(4000, "a"), ejected(11_999.999999, "a"), ejected(12_000), fault(12_000, "a"), ejected(12_000)]),
    ("random", "and a random part of a fifth more", outliers(), [endpoints(0, "ab"), fault(0, "a"), fault(0, "a", 11_000, [HALF])]),
    ("success", "a success between begins anew", outliers(),
     [endpoints(0, "ab"), fault(0, "a"), ended(0, "NOT_FOUND", "executed", {}, endpoint="a"), fault(0, "a"), ended(0, "UNAVAILABLE", "not_sent", {}, endpoint="a"), fault(0, "a", 10_000, [0])]),
    ("late", "calls that were sent late and run out of time do not eject it, those that had most of their time do", outliers(),
     [endpoints(0, "ab"), *(ended(250, "DEADLINE_EXCEEDED", "unknown", {}, endpoint="a", time=250, left=20) for _ in range(3)), ejected(250),
      ended(500, "DEADLINE_EXCEEDED", "unknown", {}, endpoint="a", time=250, left=249), ended(500, "DEADLINE_EXCEEDED", "unknown", {"until": ns(10_500)}, [0], endpoint="a", time=250, left=249)]),
    ("cap", "at most a share of them; the counts of others stay", outliers(),
     [endpoints(0, "dcba"), fault(0, "a"), fault(0, "a", 10_000, [0]), fault(0, "b"), fault(0, "b", 10_000, [0]), fault(0, "c"), fault(0, "c"), ejected(0, "ba"), fault(10_000, "c", 20_000, [0]), ejected(10_000, "c")]),
    ("cap-one", "one at least", outliers(cap=1), [endpoints(0, "abc"), fault(0, "a"), fault(0, "a", 10_000, [0]), fault(0, "b"), fault(0, "b")]),
    ("cap-last", "never all, and never the only one", outliers(cap=100),
     [endpoints(0, "a"), fault(0, "a"), fault(0, "a"), endpoints(0, "ab"), fault(0, "a", 10_000, [0]), fault(0, "b"), fault(0, "b"), ejected(0, "a")]),
    ("longer", "longer each time, up to the longest, and less after a quiet time", outliers(),
     [endpoints(0, "ab"), fault(1000, "a"), fault(2000, "a", 12_000, [0]), fault(13_000, "a"), fault(14_000, "a", 34_000, [0]), fault(35_000, "a"), fault(36_000, "a", 61_000, [0]), fault(62_000, "a"),
      fault(71_000, "a", 96_000, [0]), fault(137_000, "a"), fault(137_000, "a", 147_000, [0])]),
    ("share", "a share of the calls", outliers(percent=50, calls=2, consecutive=100), [endpoints(0, "ab"), ended(0, "OK", "executed", {}, endpoint="a"), fault(0, "a", 10_000, [0])]),
    ("counts-cleared", "counts begin anew with an ejection", outliers(percent=50, calls=2, consecutive=100), [endpoints(0, "ab"), fault(0, "a"), fault(0, "a", 10_000, [0]), fault(10_000, "a"), fault(10_000, "a", 30_000, [0])]),
    ("left", "who has left is forgotten, others are not", outliers(),
     [endpoints(0, "abc"), fault(0, "a"), fault(0, "b"), fault(0, "a", 10_000, [0]), endpoints(0, "bc"), ejected(0), endpoints(0, "abc"), ejected(0), fault(0, "a"), fault(0, "b", 10_000, [0]), ejected(0, "b")]),
    ("unheard-of", "nothing is known of others", outliers(), [fault(0, "a"), fault(0, "a"), endpoints(0, "bc"), fault(0, "a"), fault(0, "a"), ejected(0)]),
]  # fmt: skip


def rate(**said: Any) -> dict[str, Any]:
    return {"policy": 1, "defaults": {"rate": said}}


def take(at: float, after: float | None = None, priority: str | None = None) -> Step:
    decision = {"allowed": True} if after is None else {"allowed": False, "after": ns(after)}
    return step(at, "take", decision, **({"priority": priority} if priority else {}))


RATE: list[Sequence] = [
    ("burst", "a burst, and then one for each part of a second", rate(per_second=10, burst=3),
     [take(0), take(0), take(0), take(0, 100), take(99.999999, 0.000001), take(100), take(100, 100), take(300), take(300), take(300, 100)]),
    ("burst-default", "without a burst as many as in a second", rate(per_second=2), [take(0), take(0), take(0, 500)]),
    ("thirds", "what is left of a nanosecond is kept", rate(per_second=3, burst=2), [take(0), take(0), take(0, 333.333334), take(333.333333, 0.000001), take(333.333334), take(666.666667), take(1000), take(1000, 333.333334)]),
    ("idle", "a bucket that is full stays so", rate(per_second=1_000_000, burst=2), [take(0), take(10**9), take(10**9), take(10**9, 0.001)]),
    ("later", "it need not begin at 0", rate(per_second=1, burst=1), [take(5_000), take(5_000, 1000)]),
    ("back", "a time before the last one counts as the last one", rate(per_second=1, burst=1), [take(1000), take(500, 1000), take(1999, 1), take(2000)]),
    ("priorities", "low ones leave something to others", rate(per_second=1, burst=10, shares={"normal": 50, "low": 10}),
     [take(0, None, "low"), take(0, 1000, "low"), *(take(0, None, "normal") for _ in range(4)), take(0, 1000), take(0, 1000, "urgent"), take(0, 5000, "low"), *(take(0, None, "high") for _ in range(4)),
      take(0, None, "critical"), take(0, 1000, "critical"), take(1000, None, "critical")]),
    ("share-one", "a share is one at least", rate(per_second=1, burst=1, shares={"low": 1}), [take(0, None, "low"), take(0, 1000, "low")]),
]  # fmt: skip


def concurrency(**said: Any) -> dict[str, Any]:
    return {"policy": 1, "defaults": {"concurrency": said}}


def adaptive(**said: Any) -> dict[str, Any]:
    return concurrency(adaptive={"start": 10, "samples": 2, "window": "1ms", "remeasure": "1s"} | said)


def enter(at: float, allowed: bool = True, priority: str | None = None) -> Step:
    return step(at, "enter", {"allowed": allowed}, **({"priority": priority} if priority else {}))


def leave(at: float, took: float, limit: int, code: str = "OK", delivery: str = "executed", random: list[int] | None = None) -> Step:
    """The limit is in thousandths."""
    return step(at, "leave", {"limit": limit}, random, took=took, code=code, delivery=delivery)


def entered(at: float, count: int) -> list[Step]:
    return [enter(at) for _ in range(count)]


# Two calls of 10 ms without a queue; it measures again from 1.011 s on.
MEASURED = [*entered(0, 2), leave(10, 10, 10_000), leave(11, 10, 10_000, random=[0])]

CONCURRENCY: list[Sequence] = [
    ("fixed", "no more at once than the limit", concurrency(limit=2), [enter(0), enter(0), enter(0, False), leave(1, 1, 2000), enter(1), enter(1, False), leave(2, 9, 2000, "UNAVAILABLE", "unknown"), enter(2)]),
    ("priorities", "low ones leave something to others", concurrency(limit=10, shares={"low": 15}), [enter(0, True, "low"), enter(0, False, "low"), *entered(0, 9), enter(0, False, "critical"), enter(0, False)]),
    ("share-one", "a share is one at least", concurrency(limit=1), [enter(0, True, "low"), enter(0, False, "low")]),
    ("measures", "first it measures how long calls take", adaptive(), [*entered(0, 10), enter(0, False), leave(10, 10, 10_000), leave(11, 10, 10_000, random=[0])]),
    ("grows", "calls that take no longer have it grow", adaptive(), [*MEASURED, *entered(20, 6), leave(30, 10, 10_000), leave(31, 10, 10_600)]),
    ("tolerance", "up to one and a half times as long", adaptive(), [*MEASURED, *entered(20, 6), leave(35, 15, 10_000), leave(36, 15.000001, 10_600)]),
    ("gradient", "a little longer, and it shrinks a little", adaptive(), [*MEASURED, *entered(20, 6), leave(45, 25, 10_000), leave(46, 25, 9_800)]),
    ("shrinks", "much longer, and it shrinks by no more than a tenth at once", adaptive(), [*MEASURED, *entered(20, 6), leave(320, 300, 10_000), leave(321, 300, 9_600)]),
    ("unused", "nor does it grow where it is not used", adaptive(), [*MEASURED, *entered(20, 4), leave(30, 10, 10_000), leave(31, 10, 10_000)]),
    ("quicker", "quicker calls lower what is expected", adaptive(), [*MEASURED, *entered(20, 6), leave(25, 5, 10_000), leave(26, 5, 10_600), enter(27), leave(35, 10, 10_600), leave(36, 10, 10_670)]),
    ("overload", "one overload of ten, and it shrinks by a tenth", adaptive(), [*MEASURED, *entered(20, 2), leave(30, 10, 10_000, "UNAVAILABLE", "refused"), leave(31, 10, 9_000)]),
    ("overload-rare", "one of eleven does nothing", adaptive(samples=11), [*entered(0, 10), *(leave(10, 10, 10_000) for _ in range(10)), enter(10), leave(20, 10, 10_000, random=[0]), *entered(20, 6),
     leave(30, 10, 10_000, "DEADLINE_EXCEEDED", "unknown"), *(leave(31, 10, 10_000) for _ in range(5)), *entered(31, 5), *(leave(41, 10, 10_000) for _ in range(4)), leave(41, 10, 10_600)]),
    ("overload-first", "also before anything was measured", adaptive(), [*entered(0, 4), leave(1, 1, 10_000, "RESOURCE_EXHAUSTED", "executed"), leave(2, 2, 9_000, "RESOURCE_EXHAUSTED", "executed"), leave(10, 10, 9_000), leave(11, 11, 9_000, random=[0])]),
    ("bounds", "within its bounds", adaptive(least=9, most=10), [*entered(0, 2), leave(1, 1, 10_000, "UNAVAILABLE", "unknown"), leave(2, 1, 9_000, "UNAVAILABLE", "unknown"), *entered(2, 2),
     leave(3, 1, 9_000, "UNAVAILABLE", "unknown"), leave(4, 1, 9_000, "UNAVAILABLE", "unknown")]),
    ("most", "the most", adaptive(most=10), [*MEASURED, *entered(20, 10), leave(30, 10, 10_000), leave(31, 10, 10_000)]),
    ("neither", "calls that were cancelled or not sent say nothing", adaptive(samples=1), [*entered(0, 3), leave(10, 10, 10_000, "CANCELLED", "unknown"), leave(11, 1, 10_000, "UNAVAILABLE", "not_sent"), leave(12, 10, 10_000),
     enter(13), leave(14, 10, 10_000, random=[0])]),
    ("neither-refused", "nor do those that were refused for another reason than overload: no handler ran", adaptive(samples=1), [*entered(0, 3), leave(10, 1, 10_000, "INVALID_ARGUMENT", "refused"),
     leave(12, 1, 10_000, "PERMISSION_DENIED", "refused"), leave(13, 10, 10_000), enter(13), leave(14, 10, 10_000, random=[0])]),
    ("window", "a window lasts its time, however many samples there are", adaptive(window="10ms"), [*entered(0, 5), *(leave(10, 10, 10_000) for _ in range(4)), leave(20, 10, 10_000, random=[HALF])]),
    ("odd", "how long a call takes is from none to a day", adaptive(samples=1, window="1ms"), [*entered(0, 2), leave(0, -5, 10_000), leave(1, 0, 10_000, random=[0]), *entered(1, 6), leave(2, 0, 10_000), leave(10**9, 10**9, 9_600)]),
    ("again", "it measures again, under half of the limit, by calls that began since", adaptive(),
     [*MEASURED, *entered(1100, 3), leave(1200, 100, 10_000), leave(1201, 101, 9_600), *entered(1210, 3), enter(1210, False), leave(1300, 200, 9_600), leave(1310, 100, 9_600),
      leave(1320, 110, 9_600, random=[HALF]), *entered(1320, 8), enter(1320, False), leave(1430, 110, 9_600), leave(1431, 110, 10_200)]),
    ("again-least", "but not under the least", adaptive(least=8), [*MEASURED, *entered(1100, 2), leave(1200, 100, 10_000), leave(1201, 101, 9_600), *entered(1210, 8), enter(1210, False)]),
]  # fmt: skip
