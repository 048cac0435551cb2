"""FaultService in a tier between others: calls of Behave are answered by another server."""

from __future__ import annotations

import argparse

import trunkcall
from fault.v1.fault_pb2 import Answer, Behaviour
from load import UsageError

from .faults import BEHAVE
from .ledger import KEY, Ledger


class Onward:
    """One client for all calls that are passed on."""

    def __init__(self, flags: argparse.Namespace) -> None:
        """Raises UsageError, Failed."""
        observer = Attempts(Ledger(flags.ledger)) if flags.ledger else None
        try:
            self._client = trunkcall.Client(flags.onward, policy_file=flags.policy_file, attempt_observer=observer)
        except ValueError as fault:
            raise UsageError(f"--onward {flags.onward}: {fault}") from None

    async def on_behave(self, request: Behaviour, call: trunkcall.ServerCall) -> Answer:
        ids = [(key, value) for key, value in call.metadata if key == KEY]
        return (await self._client.unary(BEHAVE, request, trunkcall.CallOptions(metadata=ids))).message

    async def close(self) -> None:
        await self._client.close()


class Attempts:
    """Writes down each attempt of a call that a handler makes."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    def attempt_began(self, attempt: trunkcall.CallAttempt) -> None:
        self._ledger.write("attempt", None, number=attempt.number)

    def attempt_ended(self, attempt: trunkcall.CallAttempt) -> None:
        pass


def check(flags: argparse.Namespace) -> None:
    """Turns down what cannot be done."""
    if flags.onward and not flags.faults:
        raise UsageError("--onward needs --faults")
    if flags.onward and flags.processes > 1:
        raise UsageError("--onward does not go with --processes")
