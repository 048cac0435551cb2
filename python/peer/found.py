"""Targets registry:SERVICE, which are found in the registry that --registry names, and which of them are called."""

from __future__ import annotations

import argparse
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import trunkcall
from load import UsageError
from trunkcall import blocking, registry


def add_registry(parser: argparse.ArgumentParser) -> None:
    help = "name of the registry in which a target registry:SERVICE is found, such as file:/run/trunkcall"
    parser.add_argument("--registry", metavar="NAME", type=_found, help=help)


def _found(name: str) -> registry.Source:
    try:
        return registry.open_registry(name)
    except ValueError as fault:
        raise UsageError(f"--registry: {fault}") from None


def finds(flags: argparse.Namespace, target: str) -> bool:
    """Whether a target is to be found in a registry."""
    return flags.registry is not None and target.startswith("registry:")


def resolvers(
    flags: argparse.Namespace, logger: logging.Logger | None = None
) -> dict[str, Callable[[trunkcall.Watch], Awaitable[None]]]:
    return {} if flags.registry is None else {"registry": registry.resolver(flags.registry, logger)}


def blocking_resolvers(
    flags: argparse.Namespace, logger: logging.Logger | None = None
) -> dict[str, Callable[[blocking.Watch], None]]:
    return {} if flags.registry is None else {"registry": registry.blocking_resolver(flags.registry, logger)}


def add_choosing(parser: argparse.ArgumentParser) -> None:
    help = "zone in which the client runs, for the rules of --policy-file"
    parser.add_argument("--zone", metavar="ZONE", default="", help=help)
    help = "call only endpoints that have this attribute, in turns"
    parser.add_argument("--only", metavar="KEY=VALUE", type=_attribute, help=help)


def _attribute(text: str) -> tuple[str, str]:
    key, given, value = text.partition("=")
    if not key or not given:
        raise UsageError(f"--only {text}: want KEY=VALUE")
    return key, value


def choosing(flags: argparse.Namespace) -> dict[str, Any]:
    """What a client is given by these flags."""
    return {"zone": flags.zone, "balancer": None if flags.only is None else Only(*flags.only)}


class Only:
    """A balancer as users write them: it leaves out endpoints without an attribute, and the choice among the others to
    another balancer."""

    def __init__(self, key: str, value: str) -> None:
        self._key, self._value = key, value
        self._turns = trunkcall.round_robin()

    def balance(self, endpoints: Sequence[trunkcall.EndpointState]) -> trunkcall.Picker:
        there = [one for one in endpoints if one.endpoint.attributes.get(self._key) == self._value]
        return self._turns.balance(there)
