"""spec/vectors/client.json, replayed as spec/vectors/README.md says."""

from __future__ import annotations

import asyncio
import json
import selectors
import socket
import unittest
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

from trunkcall import (
    Balancer,
    Client,
    Code,
    Delivery,
    Endpoint,
    EndpointState,
    Pick,
    Policy,
    State,
    Status,
    first,
    hash_by,
    least_loaded,
    round_robin,
    unary,
)
from trunkcall.backoff import longest_pause
from trunkcall.latency import MovingLatency
from trunkcall.method import Kind
from trunkcall.policies import Policies
from trunkcall.rendezvous import Ranking, hashed, mixed
from trunkcall.resolver import InvalidSet, Target, Watch, check_endpoints
from trunkcall.transport import DialError, Dialing, dial, parse_place
from trunkcall.transport import dialer as dialing

VECTORS = json.loads((Path(__file__).parents[3] / "spec/vectors/client.json").read_text(encoding="utf-8"))
METHOD = unary("/p.S/M", bytes, bytes)


async def no_resolver(watch: Watch) -> None:
    raise AssertionError("nobody asks")


def endpoint(described: dict[str, Any]) -> Endpoint:
    options = {
        name: described[name] for name in ("id", "server_name", "weight", "zone", "attributes") if name in described
    }
    return Endpoint(*described["addresses"], **options)


class Case(unittest.TestCase):
    def each(self, group: str, check: Callable[[dict[str, Any]], None]) -> None:
        for case in VECTORS[group]:
            with self.subTest(group, case=case.get("id")):
                check(case)


class Targets(Case):
    def test_what_is_understood(self) -> None:
        self.each("targets", self._what_is_understood)

    def _what_is_understood(self, case: dict[str, Any]) -> None:
        resolvers = dict.fromkeys(case["schemes"], no_resolver)
        target = Target(case["target"], resolvers)
        self.assertEqual((target.scheme or "static", target.rest), (case["scheme"], case["rest"]))
        for described in case.get("endpoints", ()):
            place = parse_place(described["address"])
            self.assertEqual(place.host or "localhost", described["server_name"])
            if described["network"] in ("tcp", "unix", "mem"):
                self.assertEqual(str(place).removeprefix("unix:").removeprefix("mem:"), described["place"])
            else:
                self.assertTrue(place.url.endswith(described["place"][described["place"].index("/") :]))
                self.assertTrue(described["place"].split("/")[0].endswith(f":{place.port}"))
        wanted = dict.fromkeys(described["address"] for described in case.get("endpoints", ()))
        self.assertEqual([one.endpoint.addresses[0] for one in target.known], list(wanted))

    def test_what_is_not(self) -> None:
        self.each("bad_targets", self._what_is_not)

    def _what_is_not(self, case: dict[str, Any]) -> None:
        with self.assertRaises(ValueError) as raised:
            Target(case["target"], dict.fromkeys(case["schemes"], no_resolver))
        self.assertIn(case["names"], str(raised.exception))


class Sets(Case):
    def test_identities(self) -> None:
        self.each("identities", self._identities)

    def _identities(self, case: dict[str, Any]) -> None:
        self.assertEqual(endpoint(case["endpoint"]).identity, case["identity"])

    def test_sets_are_applied(self) -> None:
        self.each("sets", self._sets_are_applied)

    def _sets_are_applied(self, case: dict[str, Any]) -> None:
        client = Client("test:", resolvers={"test": no_resolver}, most_endpoints=0)
        if case["before"]:
            client._endpoints.apply(check_endpoints([endpoint(one) for one in case["before"]]))
        before = {one.endpoint.identity: (one, one.endpoint) for one in client._endpoints.order}
        found = check_endpoints([endpoint(one) for one in case["set"]])
        client._endpoints.apply(found)
        after = {one.endpoint.identity: one for one in client._endpoints.order}
        stay = [name for name, one in after.items() if name in before and before[name][0] is one]
        self.assertEqual(list(after), case["order"])
        self.assertEqual(stay, case["stay"])
        self.assertEqual([name for name in after if name not in stay], case["new"])
        self.assertEqual([one for one in stay if before[one][1] != after[one].endpoint], case["exchanged"])
        drained = [name for name, (one, _) in before.items() if one.left]
        self.assertEqual(sorted(drained), sorted(case["drained"]))
        self.assertEqual(len(case["set"]) - len(found), case["ignored"])

    def test_bad_ones_are_refused(self) -> None:
        self.each("bad_sets", self._bad_ones_are_refused)

    def _bad_ones_are_refused(self, case: dict[str, Any]) -> None:
        with self.assertRaises(InvalidSet):
            check_endpoints([endpoint(one) for one in case["set"]])

    def test_a_part_of_them_is_used(self) -> None:
        self.each("parts", self._a_part_of_them_is_used)

    def _a_part_of_them_is_used(self, case: dict[str, Any]) -> None:
        client = Client("test:", resolvers={"test": no_resolver}, most_endpoints=case["most"])
        client._endpoints.ranking = Ranking(int(case["client"], 16))
        client._endpoints.apply(check_endpoints([Endpoint(name) for name in case["of"]]))
        self.assertEqual([str(one.endpoint) for one in client._endpoints.order], case["chosen"])


class Hashes(Case):
    def test_hashes_and_scores(self) -> None:
        self.each("hashes", self._hashes)
        self.each("scores", self._scores)

    def _hashes(self, case: dict[str, Any]) -> None:
        self.assertEqual(f"{hashed(case['text'].encode()):016x}", case["hash"])

    def _scores(self, case: dict[str, Any]) -> None:
        self.assertEqual(f"{mixed(int(case['a'], 16) ^ hashed(case['text'].encode())):016x}", case["score"])


class VirtualTime(selectors.DefaultSelector):
    """A selector that waits in no time."""

    now = 0.0

    def select(self, timeout: float | None = None) -> Any:
        self.now += timeout or 0.0
        return super().select(0)


class Connecting(Case):
    def test_pauses(self) -> None:
        self.each("pauses", self._pauses)

    def _pauses(self, case: dict[str, Any]) -> None:
        self.assertAlmostEqual(longest_pause(case["failures"]) * 1_000, case["longest"])

    def test_addresses_are_raced_in_their_order(self) -> None:
        self.each("races", self._addresses_are_raced_in_their_order)

    def _addresses_are_raced_in_their_order(self, case: dict[str, Any]) -> None:
        with asyncio.Runner() as runner:
            race = dialing._Race(runner.get_loop(), self.dialing(case["addresses"]))
            with mock.patch.object(runner.get_loop(), "getaddrinfo", self.answering(case["answers"])):
                runner.run(race.look_up())
        self.assertEqual([str(one.address) for one in race.places], case["order"])

    def test_who_wins(self) -> None:
        self.each("runs", self._who_wins)

    def _who_wins(self, case: dict[str, Any]) -> None:
        selector = VirtualTime()
        with asyncio.Runner(loop_factory=lambda: asyncio.SelectorEventLoop(selector)) as runner:
            loop = runner.get_loop()
            began: list[dict[str, Any]] = []
            attempts = {one["address"]: iter(one["attempts"]) for one in case["tries"]}

            async def connected(race: Any, place: Any, secure: bool) -> Any:
                address = str(place.address)
                began.append({"address": address, "at": round(selector.now * 1_000)})
                what = next(attempts[address])
                if what["how"] == "hangs":
                    await asyncio.Event().wait()
                await asyncio.sleep(what["after"] / 1_000)
                if what["how"] == "greets":
                    return address
                raise ConnectionRefusedError if what["how"] == "refuses" else OSError("failed")

            with (
                mock.patch.object(loop, "time", lambda: selector.now),
                mock.patch.object(loop, "getaddrinfo", self.answering({})),
                mock.patch.object(dialing._Race, "_connected", connected),
            ):
                try:
                    wins: Any = runner.run(dial(loop, self.dialing([one["address"] for one in case["tries"]])))
                except DialError:
                    wins = None
        self.assertEqual((began, wins, round(selector.now * 1_000)), (case["began"], case["wins"], case["at"]))

    def dialing(self, addresses: list[str]) -> Dialing:
        return Dialing([parse_place(one) for one in addresses], make=lambda: self.fail("nobody connects"), alone=False)

    def answering(self, answers: dict[str, list[str]]) -> Any:
        async def getaddrinfo(host: str, port: int, **options: Any) -> Any:
            return [
                (socket.AF_INET, socket.SOCK_STREAM, 6, "", (found, port))
                for found in answers.get(host, [] if host in answers else [host])
            ]

        return getaddrinfo


class Picks(Case):
    def test_picks(self) -> None:
        self.each("picks", self.replay)

    def replay(self, case: dict[str, Any]) -> None:
        draws: list[int] = [int(case["counter"], 16)] * 2 if "counter" in case else []
        key = ""

        def draw() -> int:
            return draws.pop(0)

        balancers: dict[str, Balancer] = {
            "first": first(),
            "round_robin": round_robin(draw=draw),
            "least_loaded": least_loaded(draw=draw),
            "hash": hash_by(lambda call: key, draw=draw),
        }
        balancer = balancers[case["balancer"]]
        known = {
            one["identity"]: EndpointState(
                Endpoint(one["identity"], weight=one["weight"]),
                State(one["state"]),
                calls=one["calls"],
                latency=None if one["latency"] is None else one["latency"] / 1e9,
            )
            for one in case["endpoints"]
        }
        picker = balancer.balance(tuple(known.values()))
        for step in case["steps"]:
            for identity, change in step.get("change", {}).items():
                one = known[identity]
                one._calls = change.get("calls", one._calls)
                one._latency = change["latency"] / 1e9 if "latency" in change else one._latency
                if "state" in change:
                    one._state = State(change["state"])
                    picker = balancer.balance(tuple(known.values()))
            draws += [int(number, 16) for number in step.get("random", ())]
            key = step.get("key", "")
            found = picker.pick(Pick(METHOD, (), known[step["avoid"]] if "avoid" in step else None))
            self.assertEqual(None if found is None else found.endpoint.identity, step["pick"])
            self.assertEqual(draws, [])

    def test_latencies(self) -> None:
        self.each("latencies", self._latencies)

    def _latencies(self, case: dict[str, Any]) -> None:
        kinds = {"unary": Kind.UNARY}
        latency = MovingLatency()
        for event, wanted in zip(case["events"], case["moving"], strict=True):
            if "code" in event:
                code, delivery = Code[event["code"]], Delivery(event["delivery"])
                status = Status(code, "", (), delivery, local=event["local"])
                kind = kinds.get(event["kind"], Kind.SERVER_STREAM)
                latency.ended(kind, status, event.get("duration", 0), event["at"])
            moving = latency.at(event["at"])
            if wanted is None or moving is None:
                self.assertEqual((moving, wanted), (None, None))
            else:
                self.assertLessEqual(abs(int(moving) - wanted), 1)


class PoliciesOf(Case):
    def given(self, case: dict[str, Any]) -> Policies:
        return Policies([Policy(**one) for one in case["policies"]])

    def test_what_holds(self) -> None:
        self.each("policies", self._what_holds)

    def _what_holds(self, case: dict[str, Any]) -> None:
        policies = self.given(case)
        for call in case["calls"]:
            policy = policies.of(call["method"])
            timeout = policies.of_stream(call["method"]) if call["streaming"] else policy.timeout
            said = {"timeout": timeout, "wait_for_ready": policy.wait_for_ready, "repeat": policy.repeat}
            self.assertEqual({name: value for name, value in said.items() if value is not None}, call["holds"])

    def test_bad_ones_are_refused(self) -> None:
        self.each("bad_policies", self._bad_ones_are_refused)

    def _bad_ones_are_refused(self, case: dict[str, Any]) -> None:
        with self.assertRaises(ValueError):
            self.given(case)
