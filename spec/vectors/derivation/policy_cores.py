"""Cases of the cores of policies but breakers and limits (policy.md 8, 9, 14 and 15), worked out by hand. Times in the
tables are milliseconds."""

from __future__ import annotations

from typing import Any

MS = 10**6
HALF, MOST = 2**31, 2**32 - 1
DURATIONS = ("deadline", "retry_after", "took", "time", "left")

Step = dict[str, Any]
Sequence = tuple[str, str, dict[str, Any], list[Step]]


def ns(milliseconds: float) -> int:
    return round(milliseconds * MS)


def step(at: float, event: str, decision: dict[str, Any], random: list[int] | None = None, **given: Any) -> Step:
    """An event at a time, the numbers that are drawn, and the decision. Durations are milliseconds, those of a decision
    nanoseconds."""
    told = {name: ns(value) if name in DURATIONS else value for name, value in given.items()}
    return {"at": ns(at), "event": event, **told, **({"random": random} if random else {}), "decision": decision}


def ended(at: float, code: str, delivery: str, decision: dict[str, Any], random: list[int] | None = None, **given: Any) -> Step:
    return step(at, "ended", decision, random, code=code, delivery=delivery, **given)


def begin(at: float = 0, decision: dict[str, Any] | None = None, **given: Any) -> Step:
    return step(at, "begin", decision or {}, **given)


def retry(milliseconds: float) -> dict[str, int]:
    return {"retry": ns(milliseconds)}


def retries(idempotent: bool = False, budget: dict[str, int] | None = None, **said: Any) -> dict[str, Any]:
    group = {"attempts": 3, "backoff": "100ms", "max_backoff": "1s", "jitter": 0} | said
    policy: dict[str, Any] = {"policy": 1, "defaults": {"idempotent": idempotent, "retries": group}}
    return policy | ({"budget": budget} if budget else {})


RETRIES: list[Sequence] = [
    ("ok", "a call that succeeds", retries(), [begin(), ended(1, "OK", "executed", {"end": "ok"})]),
    ("lost", "at once the first time, then with the pause of that repetition", retries(),
     [begin(), ended(1, "UNAVAILABLE", "not_sent", retry(0), lost=True), ended(2, "UNAVAILABLE", "not_sent", retry(200), [0], lost=True),
      ended(300, "UNAVAILABLE", "not_sent", {"end": "attempts"}, lost=True)]),
    ("not-sent", "what was not sent for another reason would end alike", retries(), [begin(), ended(1, "UNAVAILABLE", "not_sent", {"end": "not_sent"})]),
    ("refused", "the pause, or retry-after if that is longer", retries(),
     [begin(), ended(1, "UNAVAILABLE", "refused", retry(100), [0], retry_after=50), ended(200, "RESOURCE_EXHAUSTED", "refused", retry(700), [0], retry_after=700)]),
    ("refused-elsewhere", "at once, the first time", retries(),
     [begin(), ended(1, "UNAVAILABLE", "refused", retry(0), retry_after=50, elsewhere=True), ended(2, "UNAVAILABLE", "refused", retry(200), [0], retry_after=50, elsewhere=True)]),
    ("refused-exhausted", "only of UNAVAILABLE", retries(), [begin(), ended(1, "RESOURCE_EXHAUSTED", "refused", retry(100), [0], retry_after=50, elsewhere=True)]),
    ("refused-zero", "sending it again is pointless", retries(), [begin(), ended(1, "UNAVAILABLE", "refused", {"end": "refused"}, elsewhere=True)]),
    ("refused-code", "a code that is not named", retries(), [begin(), ended(1, "ABORTED", "refused", {"end": "code"}, retry_after=1)]),
    ("refused-long", "a time to come back that is longer than every pause", retries(),
     [begin(call=1), begin(call=2), ended(1, "UNAVAILABLE", "refused", retry(1000), [0], call=1, retry_after=1000),
      ended(1, "UNAVAILABLE", "refused", {"end": "retry_after"}, call=2, retry_after=1000.000001)]),
    ("ran", "what ran, or may have run, is not repeated", retries(),
     [begin(call=1), begin(call=2), ended(1, "UNAVAILABLE", "executed", {"end": "executed"}, call=1), ended(1, "UNAVAILABLE", "unknown", {"end": "unknown"}, call=2)]),
    ("idempotent", "but of an idempotent method", retries(True),
     [begin(), ended(1, "UNAVAILABLE", "executed", retry(100), [0]), ended(200, "UNAVAILABLE", "unknown", retry(200), [0]), ended(500, "UNAVAILABLE", "unknown", {"end": "attempts"})]),
    ("idempotent-code", "with a code that is named", retries(True, codes=["ABORTED"]),
     [begin(call=1), begin(call=2), ended(1, "ABORTED", "executed", retry(100), [0], call=1), ended(1, "UNAVAILABLE", "unknown", {"end": "code"}, call=2)]),
    ("lost-code", "what was lost has no code that counts", retries(codes=["ABORTED"]), [begin(), ended(1, "UNAVAILABLE", "not_sent", retry(0), lost=True)]),
    ("one", "one attempt", retries(True, attempts=1), [begin(), ended(1, "UNAVAILABLE", "not_sent", {"end": "attempts"}, lost=True)]),
    ("pauses", "they grow up to the longest", retries(True, attempts=6, multiplier=150, max_backoff="200ms"),
     [begin(), *(ended(1000 * n, "UNAVAILABLE", "unknown", retry(pause), [0]) for n, pause in enumerate((100, 150, 200, 200, 200), 1))]),
    ("pauses-round", "and are rounded down", retries(True, backoff="3ns", multiplier=150, attempts=4),
     [begin(), *(ended(n, "UNAVAILABLE", "unknown", {"retry": pause}, [0]) for n, pause in enumerate((3, 4, 6), 1))]),
    ("jitter-half", "less by up to half", retries(True, jitter=50, attempts=4),
     [begin(), ended(1, "UNAVAILABLE", "unknown", retry(75), [HALF]), ended(200, "UNAVAILABLE", "unknown", retry(200), [0]),
      ended(500, "UNAVAILABLE", "unknown", {"retry": 200_000_001}, [MOST])]),
    ("jitter-all", "less by up to all of it", retries(True, jitter=100), [begin(), ended(1, "UNAVAILABLE", "unknown", {"retry": 1}, [MOST]), ended(2, "UNAVAILABLE", "unknown", retry(100), [HALF])]),
    ("jitter-refused", "but never less than retry-after", retries(jitter=100), [begin(), ended(1, "UNAVAILABLE", "refused", retry(99), [MOST], retry_after=99)]),
    ("time", "a pause that the deadline does not leave", retries(True),
     [begin(call=1, deadline=101), begin(call=2, deadline=101.000001), ended(1, "UNAVAILABLE", "unknown", {"end": "time"}, [0], call=1), ended(1, "UNAVAILABLE", "unknown", retry(100), [0], call=2)]),
    ("time-over", "not at once either once it has passed", retries(), [begin(deadline=50), ended(50, "UNAVAILABLE", "not_sent", {"end": "time"}, lost=True)]),
    ("time-back", "a time before the last one counts as the last one", retries(True), [begin(1000, deadline=1100), ended(500, "UNAVAILABLE", "unknown", {"end": "time"}, [0])]),
    ("budget", "one for all calls, a share of them", retries(budget={"percent": 10, "least": 0}),
     [step(0, "made", {}, calls=18), begin(call=1), begin(call=2), begin(call=3), *(ended(1, "UNAVAILABLE", "not_sent", retry(0), call=call, lost=True) for call in (1, 2)),
      ended(1, "UNAVAILABLE", "not_sent", {"end": "budget"}, call=3, lost=True)]),
    ("budget-least", "or so many a second", retries(budget={"percent": 0, "least": 1}),
     [*(step(n, "take", {"allowed": True}) for n in range(10)), step(10, "take", {"allowed": False})]),
    ("budget-round", "the share of calls is rounded down", retries(budget={"percent": 10, "least": 0}),
     [step(0, "made", {}, calls=19), step(0, "take", {"allowed": True}), step(0, "take", {"allowed": False}), step(0, "made", {}, calls=1), step(0, "take", {"allowed": True})]),
    ("budget-window", "what is older than nine whole seconds counts no more", retries(budget={"percent": 0, "least": 1}),
     [*(step(999, "take", {"allowed": True}) for _ in range(10)), step(9_999, "take", {"allowed": False}), step(10_000, "take", {"allowed": True})]),
    ("budget-calls", "nor do the calls", retries(budget={"percent": 100, "least": 0}),
     [step(999, "made", {}, calls=1), step(9_999, "take", {"allowed": True}), step(10_000, "take", {"allowed": False})]),
    ("budget-default", "a hundred, or a tenth of the calls", retries(),
     [step(0, "made", {}, calls=1010), *(step(0, "take", {"allowed": True}) for _ in range(101)), step(0, "take", {"allowed": False})]),
]  # fmt: skip


def hedging(budget: dict[str, int] | None = None, **said: Any) -> dict[str, Any]:
    policy: dict[str, Any] = {"policy": 1, "defaults": {"idempotent": True, "hedging": {"delay": "10ms", "attempts": 3} | said}}
    return policy | ({"budget": budget} if budget else {})


def hedged(start: int | None = None, look: float | None = None) -> dict[str, int]:
    told = {"start": start, "look": None if look is None else ns(look)}
    return {name: value for name, value in told.items() if value is not None}


def finish(attempt: int, delivery: str) -> dict[str, Any]:
    return {"finish": attempt, "delivery": delivery}


def look(at: float, decision: dict[str, Any]) -> Step:
    return step(at, "look", decision)


FIRST = begin(0, hedged(1, 10))

HEDGING: list[Sequence] = [
    ("delays", "one more after each delay, until there are enough", hedging(),
     [FIRST, look(10, hedged(2, 20)), look(20, hedged(3)), look(30, hedged()), ended(35, "OK", "executed", finish(2, "executed"), attempt=2)]),
    ("early", "a look before its time", hedging(), [FIRST, look(9.999999, hedged(look=10)), look(10.5, hedged(2, 20.5))]),
    ("stop", "a code that is the same everywhere", hedging(), [FIRST, ended(5, "NOT_FOUND", "executed", finish(1, "executed"), attempt=1)]),
    ("stop-own", "the user's codes alone", hedging(stop=["INTERNAL"]),
     [FIRST, ended(5, "NOT_FOUND", "executed", hedged(2, 15), attempt=1), ended(6, "INTERNAL", "executed", finish(2, "executed"), attempt=2)]),
    ("at-once", "the next at once when one has failed; the last failure counts", hedging(),
     [FIRST, ended(5, "UNAVAILABLE", "unknown", hedged(2, 15), attempt=1), ended(6, "INTERNAL", "unknown", hedged(3), attempt=2), ended(7, "ABORTED", "executed", finish(3, "executed"), attempt=3)]),
    ("waits", "while others run a failure decides nothing", hedging(attempts=2),
     [FIRST, look(10, hedged(2)), ended(11, "UNAVAILABLE", "unknown", hedged(), attempt=2), ended(12, "OK", "executed", finish(1, "executed"), attempt=1)]),
    ("promise", "of failures the delivery that promises least", hedging(attempts=2),
     [FIRST, look(10, hedged(2)), ended(11, "UNAVAILABLE", "unknown", hedged(), attempt=1), ended(12, "UNAVAILABLE", "refused", finish(2, "unknown"), attempt=2, retry_after=1)]),
    ("promise-running", "one that runs counts as unknown", hedging(attempts=2), [FIRST, look(10, hedged(2)), ended(11, "NOT_FOUND", "refused", finish(1, "unknown"), attempt=1)]),
    ("promise-refused", "nobody ran it", hedging(attempts=2),
     [FIRST, ended(1, "UNAVAILABLE", "not_sent", hedged(2), attempt=1, lost=True), ended(2, "UNAVAILABLE", "refused", finish(2, "refused"), attempt=2, retry_after=1)]),
    ("promise-ok", "success keeps its own", hedging(attempts=2), [FIRST, look(10, hedged(2)), ended(11, "UNAVAILABLE", "unknown", hedged(), attempt=1), ended(12, "OK", "executed", finish(2, "executed"), attempt=2)]),
    ("pushed-back", "not before retry-after", hedging(),
     [FIRST, ended(5, "UNAVAILABLE", "refused", hedged(look=35), attempt=1, retry_after=30), look(15, hedged(look=35)), look(35, hedged(2, 45))]),
    ("refused-for-good", "after a refusal for good none starts", hedging(), [FIRST, ended(5, "UNAVAILABLE", "refused", finish(1, "refused"), attempt=1)]),
    ("refused-others", "but those that run go on", hedging(),
     [FIRST, look(10, hedged(2, 20)), ended(12, "UNAVAILABLE", "refused", hedged(), attempt=1), look(20, hedged()), ended(25, "OK", "executed", finish(2, "executed"), attempt=2)]),
    ("not-sent", "nor after what was not sent for a reason that stays", hedging(), [FIRST, ended(1, "RESOURCE_EXHAUSTED", "not_sent", finish(1, "not_sent"), attempt=1)]),
    ("deadline", "none starts at the deadline or later", hedging(),
     [begin(0, hedged(1), deadline=10), ended(5, "UNAVAILABLE", "unknown", hedged(2), attempt=1), ended(10, "UNAVAILABLE", "unknown", finish(2, "unknown"), attempt=2)]),
    ("deadline-look", "nor where a look comes late", hedging(), [begin(0, hedged(1, 10), deadline=11), look(11, hedged())]),
    ("look-deadline", "a look that comes too late ends a call of which no attempt runs", hedging(),
     [begin(0, hedged(1, 10), deadline=30), ended(5, "RESOURCE_EXHAUSTED", "refused", hedged(look=25), attempt=1, retry_after=20), look(30, finish(1, "refused")), look(31, hedged())]),
    ("look-budget", "so does one that the budget does not allow", hedging({"percent": 0, "least": 0}),
     [FIRST, ended(5, "RESOURCE_EXHAUSTED", "refused", hedged(look=6), attempt=1, retry_after=1), look(6, finish(1, "refused")), ended(7, "OK", "executed", hedged(), attempt=1)]),
    ("look-last", "with the attempt that ended last, and the delivery of all", hedging({"percent": 100, "least": 0}),
     [FIRST, look(10, hedged(2, 20)), ended(11, "INTERNAL", "unknown", hedged(), attempt=1), ended(12, "UNAVAILABLE", "refused", finish(2, "unknown"), attempt=2, retry_after=5)]),
    ("look-others", "while another runs the call goes on", hedging({"percent": 100, "least": 0}),
     [FIRST, look(10, hedged(2, 20)), ended(12, "RESOURCE_EXHAUSTED", "refused", hedged(look=15), attempt=2, retry_after=3), look(15, hedged()), ended(16, "UNAVAILABLE", "unknown", finish(1, "unknown"), attempt=1)]),
    ("budget", "hedges are repetitions", hedging({"percent": 0, "least": 0}), [FIRST, look(10, hedged()), look(20, hedged()), ended(25, "UNAVAILABLE", "unknown", finish(1, "unknown"), attempt=1)]),
    ("budget-shared", "of one budget", hedging({"percent": 100, "least": 0}),
     [begin(0, hedged(1, 10), call=1), step(0, "take", {"allowed": True}), step(10, "look", hedged(), call=1), begin(11, hedged(1, 21), call=2), step(21, "look", hedged(2, 31), call=2)]),
    ("late", "what comes after the end changes nothing", hedging(),
     [FIRST, look(10, hedged(2, 20)), ended(11, "OK", "executed", finish(1, "executed"), attempt=1), ended(12, "OK", "executed", hedged(), attempt=2), look(20, hedged())]),
    ("unheard-of", "nor what is told of an attempt that does not run", hedging(), [FIRST, ended(5, "OK", "executed", hedged(look=10), attempt=2), ended(6, "UNAVAILABLE", "unknown", hedged(2, 16), attempt=1),
     ended(7, "UNAVAILABLE", "unknown", hedged(look=16), attempt=1)]),
]  # fmt: skip


def zones(**said: Any) -> dict[str, Any]:
    return {"policy": 1, "defaults": {"zones": said}}


def pick(place: str, total: int, available: int, others: int, calls: int = 0, random: list[int] | None = None) -> Step:
    return step(0, "pick", {"place": place}, random, total=total, available=available, calls=calls, others=others)


ZONES: list[Sequence] = [
    ("own", "the own zone", zones(), [pick("own", 2, 2, 5)]),
    ("none-here", "nobody is available here", zones(), [pick("all", 0, 0, 5), pick("all", 2, 0, 5), pick("all", 2, 0, 0)]),
    ("none-there", "nobody is available elsewhere", zones(overflow_calls=1), [pick("own", 10, 1, 0, 100)]),
    ("healthy", "enough endpoints are available", zones(), [pick("own", 10, 7, 5), pick("own", 3, 3, 1)]),
    ("part", "too few: the part that they can take", zones(), [pick("own", 10, 6, 5, 0, [3681400539]), pick("others", 10, 6, 5, 0, [3681400540]), pick("own", 10, 1, 5, 0, [0]), pick("others", 10, 1, 5, 0, [MOST])]),
    ("part-all", "the share is the user's", zones(healthy=100), [pick("own", 2, 1, 5, 0, [HALF - 1]), pick("others", 2, 1, 5, 0, [HALF])]),
    ("overflow", "too many calls for each endpoint", zones(overflow_calls=10), [pick("own", 2, 2, 5, 19), pick("others", 2, 2, 5, 20), pick("others", 2, 1, 5, 10)]),
    ("overflow-none", "without a bound any number", zones(), [pick("own", 1, 1, 5, 1_000_000)]),
    ("many", "100,000 endpoints", zones(healthy=100), [pick("own", 100_000, 99_999, 1, 0, [MOST - 42949]), pick("others", 100_000, 99_999, 1, 0, [MOST - 42948])]),
]  # fmt: skip


def drill(**said: Any) -> dict[str, Any]:
    return {"policy": 1, "defaults": {"faults": said}}


SLOW, DEAD, LAST = {"per_million": 500_000, "delay": "100ms"}, {"per_million": 250_000, "delay": "50ms", "code": "UNAVAILABLE"}, {"per_million": 1_000_000, "delay": "1s"}
QUARTER = 2**30

FAULTS: list[Sequence] = [
    ("none", "a policy without faults", {"policy": 1}, [step(0, "draw", {"delay": 0})]),
    ("one", "a fault comes below its share", drill(a=SLOW), [step(0, "draw", {"delay": ns(100)}, [HALF - 1]), step(0, "draw", {"delay": 0}, [HALF])]),
    ("certain", "one that always comes", drill(a=LAST), [step(0, "draw", {"delay": ns(1000)}, [MOST])]),
    ("rarest", "the rarest", drill(a={"per_million": 1, "code": "INTERNAL"}), [step(0, "draw", {"delay": 0, "code": "INTERNAL", "name": "a"}, [4294]), step(0, "draw", {"delay": 0}, [4295])]),
    ("order", "in the order of their names; delays are added, a code ends it", drill(c=LAST, b=DEAD, a=SLOW),
     [step(0, "draw", {"delay": ns(150), "code": "UNAVAILABLE", "name": "b"}, [HALF - 1, QUARTER - 1]), step(0, "draw", {"delay": ns(1000)}, [HALF, QUARTER, 0]),
      step(0, "draw", {"delay": ns(1100)}, [0, MOST, 0])]),
    ("bytes", "names are ordered byte by byte", drill(**{"a-1": DEAD, "a": SLOW, "a_": LAST, "a1": LAST}), [step(0, "draw", {"delay": ns(150), "code": "UNAVAILABLE", "name": "a-1"}, [0, 0])]),
]  # fmt: skip
