"""A session and its user, who acts at random or only reads."""

from __future__ import annotations

import random

from trunkcall.wire import (
    Call,
    Code,
    Config,
    Events,
    IncomingCall,
    Load,
    Metadata,
    Method,
    OutgoingCall,
    Session,
    Settings,
    Status,
)

from .actor import ACTING, Actor
from .record import ONE_REQUEST, Entry, Record, described, ending, message_event, noted

SETTINGS = (
    "max_frame_body",
    "max_message",
    "max_calls",
    "max_metadata_bytes",
    "max_metadata_entries",
    "max_methods",
    "min_ping_interval",
    "pool",
)


def configured(config: Entry) -> Config:
    settings = Settings(
        **{name: config[name] for name in SETTINGS},
        codecs={int(number): name.encode() for number, name in config["codecs"].items()},
        compressions=frozenset(config["compressions"]),
    )
    return Config(
        settings,
        config["window"],
        config["max_pool"],
        keepalive=config["keepalive"] * 1_000,
        keepalive_answer=config["keepalive_answer"] * 1_000,
        load=Load(config["running"]),
    )


class Side(Events):
    """One end. Times are µs."""

    def __init__(self, config: Entry) -> None:
        self.config = config
        self.reader: Entry | None = config["reader"]
        self.served: dict[str, str] = config["served"]
        self.records: list[Record] = []
        self.failure, self.text = "", ""
        self.away: list[str] = []
        self.events: dict[str, list[str]] = {}
        self.random = random.Random()
        self.turn = 0
        self.written = 0  # bytes taken that have not left yet
        made = configured(config)
        self.load = made.load
        self.session = Session(
            self,
            initiator=config["initiator"],
            now=0,
            config=made,
            methods={name.encode(): Method(name.encode(), kind in ONE_REQUEST) for name, kind in self.served.items()},
        )
        self.actor = Actor(self)

    # The lockstep.

    def round(self, now: int, phase: int, data: bytes) -> bytes:
        self.random.seed(self.config["seed"] * 100_003 + self.turn)
        self.session.tick(now)
        self.left()
        out = bytearray()
        if self.reader is None:
            self._receive_cut(data, now, out)
            self.actor.act(phase)
        else:
            if self.session.initiator:
                self.actor.open_all(self.reader)
            if data:
                self.session.receive(data, now)
            self.session.dispatch(self.session.now)
            self.actor.read(self.reader)
        self.turn += 1
        self._take(out, hold=self.reader is None and phase == ACTING)
        return bytes(out)

    def _receive_cut(self, data: bytes, now: int, out: bytearray) -> None:
        at = 0
        while at < len(data):
            size = self._cut(len(data) - at)
            self.session.receive(data[at : at + size], now)
            at += size
            if self.random.randrange(2):
                self.session.dispatch(self.session.now)
                self._take(out, hold=False)
        self.session.dispatch(self.session.now)

    def _cut(self, size: int) -> int:
        choice = self.random.randrange(8)
        if choice == 0:
            return 1
        if choice == 1:
            return min(size, 1 + self.random.randrange(40))
        return 1 + self.random.randrange(size) if choice == 2 else size

    def _take(self, out: bytearray, *, hold: bool) -> None:
        while not (hold and self.random.randrange(4) == 0):
            data = self.session.take()
            if not data:
                return
            self.written += len(data)
            out += data
            if not hold or self.random.randrange(2):
                self.left()

    def left(self) -> None:
        self.session.wrote(self.written)
        self.written = 0

    def end(self, now: int, lost: bool) -> None:
        if lost:
            self.session.lost(now, "lost")
        else:
            self.session.end_of_stream(now)

    def ledger(self) -> Entry:
        session = self.session
        return {
            "failed": self.failure,
            "text": self.text,
            "away": self.away,
            "calls": [record.entry() for record in self.records],
            "events": self.events,
            "script": self.actor.script,
            "own": session.caller.open,
            "served": session.callee.open,
            "running": self.load.running,
            "held": session.share.promised,
            "pool": {
                "send": session.sender.room,
                "receive": session.pool.left,
                "owed": session.pool.owed,
                "kept": session.pool.kept,
            },
            "unsent": session.output.unsent,
            "drained": session.closed or session.half_close,
        }

    # Records.

    def know(self, call: Call, *, own: bool, method: str, kind: str, codec: str) -> Record:
        record = Record(call, own=own, method=method, kind=kind, codec=codec)
        call.user = record
        self.records.append(record)
        return record

    def codec_name(self, number: int) -> str:
        name: str = self.config["codecs"].get(str(number), str(number))
        return name

    def tell(self, record: Record | None, event: str) -> None:
        if self.reader is not None:
            key = "" if record is None else f"{record.call.id:08x}"
            self.events.setdefault(key, []).append(event)

    # What the session says.

    def opened(self) -> None:
        self.away.append("ready")
        self.tell(None, "ready")

    def start(self, call: IncomingCall) -> None:
        if self.reader is None and not call.oneway and self.random.randrange(40) == 0:
            call.refuse(Status(Code.FAILED_PRECONDITION, "§ refused", retry_after=0.007))
            return
        if call.oneway:
            call.accept()
        method = call.method.name.decode()
        kind = self.served[method]
        record = self.know(call, own=False, method=method, kind=kind, codec=self.codec_name(call.codec))
        told = record.told
        told["started"] = True
        told["metadata"] = described(call.metadata)
        self.tell(record, f"start {method} {str(call.oneway).lower()} {told['metadata']}")
        if kind in ONE_REQUEST or call.oneway:
            assert call.message is not None
            told["ended"] = True
            told["got"].append(noted(call.message, call.compression))
            self.tell(record, message_event(call.message, call.compression))

    def stopped(self, call: IncomingCall) -> None:
        record: Record = call.user
        record.told["stopped"] = True
        self.tell(record, "stopped")

    def arrived(self, call: Call) -> None:
        record: Record = call.user
        flow = call.receiving
        assert flow is not None
        payload, compression, _, _ = flow.inbox[record.seen - record.taken]
        record.seen += 1
        self.tell(record, message_event(bytes(payload), compression))

    def half_closed(self, call: IncomingCall) -> None:
        record: Record = call.user
        record.told["ended"] = True
        self.tell(record, "half_closed")

    def header(self, call: OutgoingCall, metadata: Metadata) -> None:
        record: Record = call.user
        metadata = Metadata(metadata.entries)
        record.told["early"] = described(metadata)
        self.tell(record, f"header {record.told['early']}")

    def ended(self, call: OutgoingCall) -> None:
        record: Record | None = call.user
        if record is None:
            return  # its deadline had passed before it was sent
        status = call.status
        assert status is not None
        if call.message is not None:
            self.tell(record, message_event(call.message, call.compression))
        end = ending(status, described(call.metadata))
        record.told["ends"] += 1
        record.told["ending"] = end
        details = ",".join(end["details"])
        text = f"end {end['status']} {end['delivery']} {end['retry']} [{end['text']}] {details} {end['trailers']}"
        self.tell(record, f"{text} {str(end['stripped']).lower()}")

    def goes_away(self, reason: int, text: str) -> None:
        self.away.append(str(reason))
        self.tell(None, f"goes away {reason} {text}")

    def failed(self, kind: str, text: str) -> None:
        self.failure, self.text = kind, text
