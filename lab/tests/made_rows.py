"""Rows as the runner writes them, for tests that need no runs."""

import itertools

_ids = itertools.count(1)


def run(case, number, label, ok=True, phase="measure", seen=None, **figures):
    row = {"type": "run", "id": next(_ids), "case": case, "phase": phase, "round": number, "position": 0}
    row |= {"participant": label.removesuffix("#2"), "label": label, "ok": ok}
    return row | ({"figures": figures, "seen": seen or {}} if ok else {"reason": "client reports 3 errors"})


def case(name="c", subject="a", peers=("b",), checks=(), **more):
    row = {"type": "case", "name": name, "row": name, "title": "A title", "note": "", "kind": "capacity", "aa": False}
    row |= {"subject": subject, "peers": list(peers), "baselines": [], "pairs": 10, "rate": None}
    full = {"against": "", "must": None, "goal": None, "goal_of": "", "lenient": False}
    return row | {"checks": [full | check for check in checks]} | more


def head(**more):
    machine = {"type": "machine", "date": "2025-01-01", "kernel": "Linux 6", "cpu": "a CPU", "cores": 2}
    machine |= {"load": [0.5, 0, 0], "commit": "", "versions": {"go": "go 1"}, "programs": {}}
    campaign = {"type": "campaign", "title": "A campaign", "command": ["lab/run.py"], "seed": 1, "among": None}
    return [machine, campaign | more]
