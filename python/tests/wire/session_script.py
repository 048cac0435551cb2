"""Drives a session through a script of spec/vectors/sessions, with time injected."""

from __future__ import annotations

import unittest
from typing import Any

from trunkcall.wire import (
    GAVE_UP,
    Call,
    Code,
    Config,
    Delivery,
    Events,
    IncomingCall,
    LimitError,
    Load,
    Metadata,
    Method,
    OutgoingCall,
    Session,
    Settings,
    Status,
)
from trunkcall.wire.settings import settings_bytes

from .session_writing import PSEUDO, Comparison, Parser, Written, brief, peer_settings, stream_name
from .test_metadata_vectors import metadata_meaning, metadata_of
from .vectors import Entry, filled, pieces

ONE_ANSWER = ("unary", "client_streaming", "oneway")
ONE_REQUEST = ("unary", "server_streaming", "oneway")
BEGIN = 1_000_000_000  # µs; where the clock starts means nothing


def entries(metadata: Metadata) -> list[dict[str, str]]:
    listed: list[dict[str, str]] = metadata_meaning(metadata)["entries"]
    return listed


def generations(label: str, number: int) -> str:
    """The label of the call that is so many generations later on its slot."""
    slot, dot, generation = label.partition(".")
    return f"{slot}.{(int(generation) + number - 1) % 2047 + 1}" if dot else label


class Recorder(Events):
    """Turns what a session says into the events of a script."""

    def __init__(self, methods: dict[str, str]) -> None:
        self.methods = methods
        self.events: list[Entry] = []
        self.calls: dict[str, Call] = {}
        self.labels: dict[int, str] = {}  # by id of the call object
        self.seen: dict[int, int] = {}  # messages told of
        self.taken: dict[int, int] = {}  # messages consumed

    def add(self, event: str, call: Call | None = None, **fields: Any) -> None:
        label = {} if call is None else {"call": self.label(call)}
        self.events.append({"event": event} | label | fields)

    def label(self, call: Call) -> str:
        return self.labels.get(id(call)) or stream_name(call.id)

    def know(self, label: str, call: Call) -> None:
        self.calls[label] = call
        self.labels[id(call)] = label

    def start(self, call: IncomingCall) -> None:
        if call.oneway:
            call.accept()
        self.know(stream_name(call.id), call)
        fields: Entry = {"method": call.method.name.decode(), "oneway": call.oneway}
        if call.metadata is not None:
            fields["metadata"] = entries(call.metadata)
        if call.message is not None:
            fields["payload"] = call.message
            fields["compression"] = call.compression
        self.add("start", call, **fields)

    def stopped(self, call: IncomingCall) -> None:
        self.add("stopped", call)

    def arrived(self, call: Call) -> None:
        assert call.receiving is not None
        at = self.seen.get(id(call), 0)
        self.seen[id(call)] = at + 1
        message, compression, _, _ = call.receiving.inbox[at - self.taken.get(id(call), 0)]
        self.add("message", call, payload=message, compression=compression)

    def half_closed(self, call: IncomingCall) -> None:
        self.add("half_closed", call)

    def header(self, call: OutgoingCall, metadata: Metadata) -> None:
        self.add("header", call, metadata=entries(metadata))

    def ended(self, call: OutgoingCall) -> None:
        status = call.status
        assert status is not None
        if call.message is not None:
            self.add("message", call, payload=call.message, compression=call.compression)
        fields: Entry = {"status": int(status.code), "delivery": status.delivery.value, "message": status.message}
        fields["details"] = [{"type_url": url, "value": value.hex()} for url, value in status.details]
        fields["retry_after"], fields["stripped"] = round(status.retry_after * 1_000), status.stripped
        if call.metadata is not None:
            fields["metadata"] = entries(call.metadata)
        self.add("end", call, **fields)

    def goes_away(self, reason: int, text: str) -> None:
        self.add("goes_away", reason=reason, message=text)

    def failed(self, kind: str, text: str) -> None:
        self.events.append({"event": "failed", "class": kind})


class Runner:
    """One run of one script."""

    def __init__(self, test: unittest.TestCase, script: Entry, bytewise: bool, reused: bool) -> None:
        self.test = test
        self.script = script
        self.bytewise = bytewise
        self.reused = reused  # the memory that input lies in is written over once it was received
        self.held = False
        self.transport = script.get("layer") == "transport"
        methods: dict[str, str] = script.get("methods", {})
        self.recorder = self.recording(methods)
        served = {name.encode(): Method(name.encode(), kind in ONE_REQUEST) for name, kind in methods.items()}
        self.session = self.opened(self._config(script.get("own", {})), served)
        preface = bytes.fromhex(script.get("peer_preface", ""))
        peer = peer_settings(preface)
        self.parser = Parser(test, self.session.initiator, peer)
        self.comparison = Comparison(test, peer)
        self.shut: set[str] = set()
        if preface:
            self.take_in([preface])
            self.flush()
            test.assertEqual([frame.type for frame in self.parser.take()], ["PREFACE"])

    def recording(self, methods: dict[str, str]) -> Recorder:
        return Recorder(methods)

    def opened(self, config: Config, served: dict[bytes, Method]) -> Session:
        initiator = self.script["role"] == "initiator"
        return Session(self.recorder, initiator=initiator, now=BEGIN, config=config, methods=served)

    def _config(self, own: Entry) -> Config:
        own = dict(own)
        codecs = {one["number"]: one["name"].encode() for one in own.pop("codecs", [])}
        compressions = frozenset(own.pop("compressions", []))
        window: int = own.pop("window", 262_144)
        keepalive: int = own.pop("keepalive_ms", 0) * 1_000
        answer: int = own.pop("keepalive_answer_ms", 20_000) * 1_000
        load = Load(own.pop("running_handlers", 16_384))
        settings = Settings(codecs=codecs, compressions=compressions, **own)
        settings_bytes(settings)
        return Config(settings, window, keepalive=keepalive, keepalive_answer=answer, exact=True, load=load)

    def run(self) -> None:
        self.flush()
        for number, step in enumerate(self.script["steps"]):
            with self.test.subTest(self.script["id"], step=number, bytewise=self.bytewise):
                if "do" in step:
                    self.do(step)
                    self.flush()
                else:
                    getattr(self, "expect_" + step["expect"])(step)
        self.test.assertEqual(self.recorder.events, [], self.script["id"] + ": events that no step expected")
        left = [frame for frame in self.parser.take() if frame.type not in PSEUDO or self.transport]
        self.test.assertEqual(left, [], self.script["id"] + ": written, and no step expected it")

    def do(self, step: Entry) -> None:
        getattr(self, "do_" + step["do"])(step)

    def flush(self) -> None:
        while not self.held:
            data = self.session.take()
            if not data:
                break
            self.session.wrote(len(data))
            self.parser.feed(bytes(data))
        if not self.held:
            for name, now in (("HALF_CLOSE", self.session.half_close), ("CLOSE", self.session.closed)):
                if now and name not in self.shut and not (name == "HALF_CLOSE" and self.session.closed):
                    self.shut.add(name)
                    self.parser.frames.append(Written(name))

    # Steps.

    def do_receive(self, step: Entry) -> None:
        data = b"".join(filled(one) for one in step["input"])
        if "apart" in step:
            size = step["apart"]
            for at in range(0, len(data), size):
                self.take_in([data[at : at + size]])
                self.flush()
        else:
            self.take_in(list(pieces(data)) if self.bytewise else [data], step.get("late_ms", 0) * 1_000)

    def take_in(self, parts: list[bytes], late: int = 0) -> None:
        for part in parts:
            if self.reused:
                memory = bytearray(part)
                self.session.receive(memoryview(memory), self.session.now)
                memory[:] = b"\xff" * len(memory)
            else:
                self.session.receive(part, self.session.now)
        self.session.dispatch(self.session.now + late)

    def do_end(self, step: Entry) -> None:
        if self.held:
            self.session.take()
            self.session.wrote(step.get("passed", 0))
        self.session.end_of_stream(self.session.now)

    def message(self, step: Entry) -> bytes | None:
        return filled(step, "payload", "payload_fill") if "payload" in step or "payload_fill" in step else None

    def metadata(self, step: Entry) -> Metadata | None:
        if "metadata" not in step:
            return None
        return metadata_of({"entries": step["metadata"], "own": {}})

    def do_call(self, step: Entry) -> None:
        times = step.get("times", 1)
        answers = filled(step["answers"]) if "answers" in step else b""
        size = len(answers) // times
        for number in range(times):
            self.open_call(step | {"as": generations(step["as"], number)})
            if answers:
                self.flush()
                answer = answers[number * size : (number + 1) * size]
                self.take_in(list(pieces(answer)) if self.bytewise else [answer])
                self.flush()

    def open_call(self, step: Entry) -> None:
        kind = self.recorder.methods[step["method"]]
        told = len(self.recorder.events)
        deadline = self.session.now + step["deadline_us"] if "deadline_us" in step else 0
        try:
            call = self.session.open(
                step["method"].encode(),
                self.message(step),
                codec=step.get("codec", 1),
                compression=step.get("compression", 0),
                metadata=self.metadata(step),
                deadline=deadline,
                end=step.get("end", kind in ONE_REQUEST),
                single=kind in ONE_ANSWER,
                oneway=kind == "oneway",
                inline=step.get("inline", False),
            )
        except LimitError as error:
            fields = {"status": int(Code.RESOURCE_EXHAUSTED), "delivery": "not_sent", "message": str(error)}
            self.recorder.events.append({"event": "end", "call": step["as"]} | fields)
            return
        except ValueError as error:
            fields = {"status": int(Code.INVALID_ARGUMENT), "delivery": "not_sent", "message": str(error)}
            self.recorder.events.append({"event": "end", "call": step["as"]} | fields)
            return
        if call is None:
            self.recorder.events.append({"event": "turned_away", "call": step["as"]})
            return
        self.recorder.know(step["as"], call)
        names = (stream_name(call.id), "i0.0")
        for event in self.recorder.events[told:]:
            if event.get("call") in names:
                event["call"] = step["as"]

    def of(self, step: Entry) -> Any:
        return self.recorder.calls[step["call"]]

    def do_send(self, step: Entry) -> None:
        message = self.message(step)
        if message is None:
            self.of(step).half_close()
        else:
            call, end = self.of(step), {"end": True} if step.get("end") else {}
            try:
                call.send(message, step.get("compression", 0), **end)
            except LimitError as error:  # as the layer above does
                status = Status(Code.RESOURCE_EXHAUSTED, str(error), (), Delivery.UNKNOWN)
                self.session.caller.abandon(call, GAVE_UP, status)

    def do_half_close(self, step: Entry) -> None:
        self.of(step).half_close()

    def do_cancel(self, step: Entry) -> None:
        self.of(step).cancel()

    def do_consume(self, step: Entry) -> None:
        call = self.of(step)
        for _ in range(step.get("count", 1)):
            self.test.assertIsNotNone(call.take_message(), "nothing to consume")
            self.recorder.taken[id(call)] = self.recorder.taken.get(id(call), 0) + 1

    def do_header(self, step: Entry) -> None:
        self.of(step).send_metadata(self.metadata(step))

    def do_answer(self, step: Entry) -> None:
        self.of(step).finish(self.message(step), compression=step.get("compression", 0), metadata=self.metadata(step))

    def do_finish(self, step: Entry) -> None:
        details = tuple((one["type_url"], filled(one, "value", "value_fill")) for one in step.get("details", []))
        status = Status(Code(step["status"]), step.get("text", ""), details)
        self.of(step).finish(None, status, metadata=self.metadata(step))

    def do_return(self, step: Entry) -> None:
        self.of(step).finish()

    def do_drain(self, step: Entry) -> None:
        self.session.drain(self.session.now)

    def do_grace_over(self, step: Entry) -> None:
        self.session.grace_over(self.session.now)

    def do_advance(self, step: Entry) -> None:
        left = step["ms"] * 1_000
        while left:
            part = min(left, 1_000_000)
            left -= part
            self.session.tick(self.session.now + part)
            self.flush()

    def do_hold(self, step: Entry) -> None:
        self.held = True

    def do_release(self, step: Entry) -> None:
        self.held = False

    # Expectations.

    def expect_sent(self, step: Entry) -> None:
        frames = self.parser.take()
        credits = self.parser.take_credits()
        if "pool" in step:
            least, most = step["pool"]
            self.test.assertTrue(least <= self.parser.pooled <= most, f"{self.parser.pooled} of the pool")
        defines, self.parser.defines = self.parser.defines, 0
        ignore = () if self.transport else PSEUDO
        frames = [frame for frame in frames if frame.type not in ignore]
        self.comparison.compare(frames, step.get("frames", []), ignore)
        self.test.assertEqual(defines, step.get("defines", defines), "DEFINE frames")
        for bound in step.get("credit", []):
            stream = bound["stream"]
            self.test.assertGreaterEqual(self.parser.granted[stream], bound.get("at_least", 0), f"credit of {stream}")
            if "at_most" in bound:
                self.test.assertLessEqual(self.parser.granted[stream], bound["at_most"], f"credit of {stream}")
            self.test.assertLessEqual(credits[stream], bound.get("frames", 1 << 30), f"CREDITs of {stream}")
        streams = [frame.stream for frame in frames]
        for first, second in step.get("ahead", []):
            last = len(streams) - 1 - streams[::-1].index(second)
            self.test.assertLess(streams.index(first), last, f"{first} ahead of {second}")

    def expect_events(self, step: Entry) -> None:
        events, self.recorder.events = self.recorder.events, []
        actual: dict[str, list[Entry]] = {}
        wanted: dict[str, list[Entry]] = {}
        for event in events:
            actual.setdefault(event.get("call", ""), []).append(event)
        for event in step["events"]:
            for number in range(event.get("times", 1)):
                label = event.get("call", "")
                wanted.setdefault(generations(label, number) if number else label, []).append(event)
        for call in actual.keys() | wanted.keys():
            self._events(call, actual.get(call, []), wanted.get(call, []))

    def _events(self, call: str, actual: list[Entry], wanted: list[Entry]) -> None:
        names = [event["event"] for event in actual]
        if names != [event["event"] for event in wanted]:
            self.test.fail(f"{call}: want {[brief(one) for one in wanted]}, got {[brief(one) for one in actual]}")
        for got, want in zip(actual, wanted, strict=True):
            self._event(got, want)

    def _event(self, got: Entry, want: Entry) -> None:
        same = self.test.assertEqual
        for name, value in want.items():
            if name == "text":
                for part in [value] if isinstance(value, str) else value:
                    self.test.assertIn(part.lower(), got["message"].lower())
            elif name == "payload_fill" or name == "payload":
                same(got.get("payload"), filled(want, "payload", "payload_fill"), brief(want))
            elif name == "times" or (name == "call" and "times" in want):
                continue
            elif name == "oneway":
                same(got.get("oneway", False), value)
            else:
                same(got.get(name), value, f"{name} of {brief(got)}, expected {brief(want)}")
        if want["event"] in ("start", "message") and not {"payload", "payload_fill"} & want.keys():
            self.test.assertIsNone(got.get("payload"), f"a message with {brief(want)}")

    def expect_gauges(self, step: Entry) -> None:
        callee = self.session.callee
        gauges = {
            "running": self.session.load.running,
            "own_calls": self.session.caller.open,
            "served_calls": callee.open + len(callee.finished),
        }
        for name, value in step.items():
            if name in gauges:
                self.test.assertEqual(gauges[name], value, name)
