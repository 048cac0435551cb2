"""Plans a random session from a seed and plays it: two sides in lockstep, time by the round."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from . import laws
from .side import ACTING, CONSUMING, DRAINING, FINISHING, Entry, Side

ROUNDS = 40
ACTIONS = {"open": 12, "send": 14, "half_close": 4, "cancel": 2, "consume": 10, "header": 2, "answer": 8, "drain": 0}
NAMES = (b"avro", b"thrift", b"cbor", "übung".encode())
SERVED = {
    "/r.S/Unary": "unary",
    "/r.S/Client": "client_streaming",
    "/r.S/Server": "server_streaming",
    "/r.S/Bidi": "bidi",
    "/r.S/OneWay": "oneway",
}


ONE_REQUEST = ("unary", "server_streaming", "oneway")


@dataclass
class Plan:
    """All that decides a session beside its two sides."""

    seed: int
    configs: list[Entry]  # of the initiator, of the acceptor
    keepalive: bool
    jumps: bool  # time may leap
    lost_in: int  # the round in which the connection is lost, 0: never
    drains: tuple[bool, bool]  # who asks to drain at the end
    rounds: int = ROUNDS
    disabled: frozenset[str] = field(default_factory=frozenset)


def settings(chance: random.Random) -> Entry:
    """What a side accepts: often the defaults, else small or odd."""

    def one(*choices: int) -> int:
        return choices[0] if chance.random() < 0.6 else chance.choice(choices)

    codecs = {str(n): name.decode() for n, name in enumerate(NAMES, 8) if chance.random() < 0.4}
    return {
        "window": one(262_144, 262_145, 300_000, 1 << 20),
        "max_frame_body": one(65_536, 65_537, 70_000, 262_144, 1 << 20),
        "max_message": one(67_108_864, 1, 1_000, 65_536, 200_000),
        "max_calls": one(1_024, 0, 1, 3, 8),
        "max_metadata_bytes": one(16_384, 20_000, 65_536),
        "max_metadata_entries": one(128, 129, 1_000),
        "max_methods": one(4_096, 65_535),
        "min_ping_interval": one(5_000, 0, 300),
        "codecs": codecs,
        "compressions": chance.choice([[], [], [1], [2], [1, 2]]),
        "pool": one(1 << 20, 0, 1_000, 200_000),
        "max_pool": one(0, 1 << 20, 4 << 20),
        "keepalive": 0,
        "keepalive_answer": 0,
        "running": one(16_384, 1, 3),
        "served": SERVED,
        "reader": None,
        "rounds": None,
    }


def plan(seed: int) -> Plan:
    chance = random.Random(seed)
    keepalive = chance.random() < 0.2
    heavy = chance.random() < 0.12
    configs = []
    for initiator in (True, False):
        weights = {action: max(0, round(weight * chance.uniform(0.2, 1.8))) for action, weight in ACTIONS.items()}
        if chance.random() < 0.05:
            weights["drain"] = 1
        if chance.random() < 0.15:
            weights["cancel"] = 12
        config = settings(chance) | {
            "seed": chance.getrandbits(40),
            "initiator": initiator,
            "heavy": heavy,
            "weights": [{"action": action, "weight": weight} for action, weight in weights.items()],
        }
        if keepalive:
            config |= {"keepalive": 1_000, "keepalive_answer": 2_000}
        configs.append(config)
    return Plan(
        seed,
        configs,
        keepalive,
        jumps=not keepalive and chance.random() < 0.3,
        lost_in=chance.randrange(3, ROUNDS) if chance.random() < 0.1 else 0,
        drains=chance.choice([(False, False), (True, False), (False, True), (True, True)]),
    )


class Play:
    """One session: the sides, the bytes under way between them, and the time."""

    def __init__(self, made: Plan, sides: tuple[Side, Side]) -> None:
        self.plan = made
        self.sides = sides
        self.chance = random.Random(made.seed ^ 0x5E5510)
        self.now = 1_000_000
        self.way = [bytearray(), bytearray()]  # to the initiator, to the acceptor
        self.passed: list[list[tuple[int, bytes]]] = [[], []]  # when what was delivered
        self.turn = 0
        for side, config in zip(sides, made.configs, strict=True):
            weights = [one | {"weight": 0} if one["action"] in made.disabled else one for one in config["weights"]]
            side.begin(config | {"weights": weights})

    def run(self) -> list[str]:
        """What is wrong with the session."""
        if self.act():
            return self._lose()
        faults = self._settle(CONSUMING) or laws.balance(*self.ledgers())
        if not faults:
            faults = self._settle(FINISHING) or self._drain()
        return faults or laws.session(*self.ledgers(), ended=True)

    def act(self) -> bool:
        """The part in which the users act; whether the connection was lost in it."""
        for turn in range(1, self.plan.rounds + 1):
            if turn == self.plan.lost_in:
                return True
            self._round(ACTING)
        return False

    def ledgers(self) -> tuple[Entry, Entry]:
        return self.sides[0].ledger(), self.sides[1].ledger()

    def _advance(self, phase: int) -> None:
        if phase == ACTING and self.plan.jumps and self.turn > 10 and self.chance.random() < 0.08:
            self.now += self.chance.randrange(12_000_000)
        elif phase == ACTING:
            self.now += self.chance.choice((0, 50, 5_000, 200_000))
        else:
            self.now += 1_000

    def _round(self, phase: int) -> bool:
        """Whether anything was written or is under way."""
        self._advance(phase)
        self.turn += 1
        wrote = False
        for to in (0, 1):
            data = self._deliver(to, phase)
            self.passed[to].append((self.now, data))
            out = self.sides[to].round(self.now, phase, data)
            self.way[1 - to] += out
            wrote = wrote or bool(out)
        return wrote or any(self.way)

    def _deliver(self, to: int, phase: int) -> bytes:
        way = self.way[to]
        size = len(way)
        if phase == ACTING and self.turn % 3:
            size = self.chance.choice((size, size, self.chance.randint(0, size)))
        data = bytes(way[:size])
        del way[:size]
        return data

    def _settle(self, phase: int) -> list[str]:
        """Plays until both are silent."""
        quiet = 0
        for _ in range(400):
            quiet = 0 if self._round(phase) else quiet + 1
            if quiet == 3:
                return []
        return [f"not silent after 400 rounds of phase {phase}"]

    def _drain(self) -> list[str]:
        if not any(self.plan.drains):
            return []
        for side, drains in zip(self.sides, self.plan.drains, strict=True):
            if drains:
                self.way[1 - self.sides.index(side)] += side.round(self.now, DRAINING, b"")
        faults = self._settle(FINISHING)
        for ledger, side in zip(self.ledgers(), self.sides, strict=True):
            if not ledger["drained"]:
                faults.append(f"{side.language} does not close after both have drained")
        return faults

    def _lose(self) -> list[str]:
        for side in self.sides:
            side.end(self.now, True)
        self.way = [bytearray(), bytearray()]
        for _ in range(3):
            for side in self.sides:
                side.round(self.now, FINISHING, b"")
        return laws.session(*self.ledgers(), ended=True)
