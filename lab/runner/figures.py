"""Numbers out of rows: medians, ratios paired by round, bootstrap intervals. Pure functions."""

import functools
import math
import random
import statistics
from collections import Counter
from dataclasses import dataclass

RESAMPLES = 10_000
CONFIDENCE = 0.95
ENOUGH_PAIRS = 10


@dataclass(frozen=True)
class Estimate:
    """A median with the interval that resampling gives it, and how many values (pairs) it rests on."""

    value: float
    low: float
    high: float
    count: int


@functools.lru_cache(maxsize=64)
def _resampled_medians(count: int, resamples: int, seed: int) -> tuple[tuple[int, int, int], ...]:
    """Which two order statistics the median of each resample lies between, and how often that came up.

    Resampling depends on ranks only, so the draws are made once for each number of values and serve every figure.
    """
    generator = random.Random(f"{seed}/{count}")
    ranks = range(count)
    tally: Counter[tuple[int, int]] = Counter()
    for _ in range(resamples):
        drawn = sorted(generator.choices(ranks, k=count))
        tally[drawn[(count - 1) // 2], drawn[count // 2]] += 1
    return tuple((low, high, times) for (low, high), times in tally.items())


def bootstrap(values: list[float], seed: int = 1, resamples: int = RESAMPLES) -> Estimate | None:
    """Median of `values` with a percentile bootstrap interval; None without values."""
    if not values:
        return None
    ordered = sorted(values)
    medians = sorted(
        ((ordered[low] + ordered[high]) / 2, times)
        for low, high, times in _resampled_medians(len(values), resamples, seed)
    )
    tail = (1 - CONFIDENCE) / 2
    return Estimate(
        statistics.median(values),
        _quantile(medians, resamples * tail),
        _quantile(medians, resamples * (1 - tail)),
        len(values),
    )


def _quantile(weighted: list[tuple[float, int]], position: float) -> float:
    seen = 0
    for value, times in weighted:
        seen += times
        if seen >= position:
            return value
    return weighted[-1][0]


@dataclass
class Runs:
    """The measured runs of one case: figures by label and round, the ids they come from, and what failed."""

    by_label: dict[str, dict[int, dict[str, float]]]
    ids: dict[str, dict[int, int]]
    seen: dict[str, dict[int, dict[str, float]]]
    failed: list[dict]

    def values(self, label: str, metric: str) -> list[float]:
        return [f[metric] for _, f in sorted(self.by_label.get(label, {}).items()) if metric in f]

    def median(self, label: str, metric: str) -> float | None:
        values = self.values(label, metric)
        return statistics.median(values) if values else None

    def median_seen(self, label: str, what: str) -> float | None:
        values = [s[what] for s in self.seen.get(label, {}).values() if what in s]
        return statistics.median(values) if values else None


def gather(rows: list[dict], case: str, phase: str = "measure") -> Runs:
    """The runs of a case out of all rows."""
    runs = Runs({}, {}, {}, [])
    for row in rows:
        if row.get("type") != "run" or row["case"] != case or row["phase"] != phase:
            continue
        if not row["ok"]:
            runs.failed.append(row)
            continue
        label, number = row["label"], row["round"]
        runs.by_label.setdefault(label, {})[number] = row["figures"]
        runs.ids.setdefault(label, {})[number] = row["id"]
        runs.seen.setdefault(label, {})[number] = row.get("seen", {})
    return runs


def paired_ratios(runs: Runs, metric: str, top: str, bottom: str) -> list[float]:
    """top / bottom in every round in which both have the figure; a round with one of them missing is no pair."""
    above, below = runs.by_label.get(top, {}), runs.by_label.get(bottom, {})
    ratios = []
    for number in sorted(above.keys() & below.keys()):
        a, b = above[number].get(metric), below[number].get(metric)
        if a is not None and b is not None and b > 0 and math.isfinite(a / b):
            ratios.append(a / b)
    return ratios


def ratio(runs: Runs, metric: str, top: str, bottom: str, seed: int = 1) -> Estimate | None:
    return bootstrap(paired_ratios(runs, metric, top, bottom), seed)


def fastest(runs: Runs, peers: list[str]) -> str | None:
    """The peer with the highest median rate in this case."""
    medians = {p: m for p in peers if (m := runs.median(p, "rate")) is not None}
    return max(medians, key=medians.__getitem__) if medians else None
