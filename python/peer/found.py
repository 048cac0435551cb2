"""Targets registry:SERVICE, which are found in the registry that --registry names."""

from __future__ import annotations

import argparse
import logging
from collections.abc import Awaitable, Callable

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
