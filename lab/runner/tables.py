"""Markdown tables and how numbers look in them."""

from .figures import ENOUGH_PAIRS, Estimate


def table(head: list[str], lines: list[list[str]]) -> str:
    """The first column reads from the left, figures from the right."""
    rules = ["---"] + ["---:"] * (len(head) - 1)
    return "\n".join("| " + " | ".join(cells) + " |" for cells in [head, rules, *lines])


def number(value: float | None) -> str:
    """Three figures that mean something, thousands apart; a dash for nothing."""
    if value is None:
        return "–"
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def mebibytes(value: float | None) -> str:
    return "–" if value is None else f"{value / 2**20:.1f}"


def times(estimate: Estimate | None, pairs: int = 0) -> str:
    """A ratio with its interval; how many pairs it rests on if they are not all."""
    if estimate is None:
        return "–"
    few = f" (n={estimate.count})" if estimate.count < pairs else ""
    places = 2 if estimate.value >= 0.2 else 3
    return f"{estimate.value:.{places}f} [{estimate.low:.{places}f}–{estimate.high:.{places}f}]{few}"


def plain(estimate: Estimate | None) -> str:
    """A figure with its interval."""
    if estimate is None:
        return "–"
    return f"{number(estimate.value)} [{number(estimate.low)}–{number(estimate.high)}]"


def orientation(pairs: int) -> str:
    """What stands beside figures that rest on too few pairs for a claim."""
    return "" if pairs >= ENOUGH_PAIRS else f"{pairs} pairs: orientation only, no claim"
