"""Who brings about which fault in which store, where not all can meet under all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from harness.languages import Language


@dataclass
class Share:
    """The faults that two languages have in a store, which a third may keep."""

    store: str
    client: Language
    server: Language
    keeper: Language | None
    faults: list[str]


def share(
    languages: Mapping[str, Sequence[Language]], faults: Mapping[str, Sequence[str]], kept: Collection[str]
) -> Iterator[Share]:
    """Each fault of each store once. It goes to those that have been least in that store and under that fault, in
    their role, and have met least: so each language comes to be client, server and keeper of each store and under each
    fault, if there are as many faults and stores as languages."""
    seen: Counter[object] = Counter()
    found: dict[tuple[str, str, str, str], Share] = {}
    for store, names in faults.items():
        for fault in names:

            def cost(roles: tuple[Language, ...], store: str = store, fault: str = fault) -> tuple[int, int, int]:
                been = [seen[at] for at in places(store, fault, roles)]
                return sum(map(bool, been)), seen[met(roles)], sum(been)

            choices = product(languages[store], repeat=3 if store in kept else 2)
            roles = min(choices, key=cost, default=())
            if not roles:
                continue
            seen.update([*places(store, fault, roles), met(roles)])
            client, server, *keepers = roles
            keeper = keepers[0] if keepers else None
            key = store, client.key, server.key, keeper.key if keeper else ""
            found.setdefault(key, Share(store, client, server, keeper, [])).faults.append(fault)
    yield from found.values()


def places(store: str, fault: str, roles: tuple[Language, ...]) -> list[tuple[str, int, str]]:
    return [(where, role, one.key) for role, one in enumerate(roles) for where in (store, fault)]


def met(roles: tuple[Language, ...]) -> tuple[str, str]:
    return roles[0].key, roles[1].key
