"""Carries out conformance cases with grpcio, unmodified, and the code that its plugin generates.

conformance/cases/README.md describes the lines that it reads and prints.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import grpc.aio
from carrying import Carrying

# Bounds a case in which something hangs, in seconds.
LIMIT = 60.0
# The framework's own limit, in bytes: gRPC's is 4 MiB.
MAX_MESSAGE = 64 << 20
OPTIONS: dict[str, Any] = {
    "grpc.max_receive_message_length": MAX_MESSAGE,
    # gRPC's is 8 KiB; what lies between that and the other is dropped at random.
    "grpc.max_metadata_size": 1 << 20,
    "grpc.absolute_max_metadata_size": 1 << 20,
    "grpc.initial_reconnect_backoff_ms": 20,
    "grpc.min_reconnect_backoff_ms": 20,
    "grpc.max_reconnect_backoff_ms": 20,
}


class Program:
    def __init__(self) -> None:
        self._kept: dict[str, grpc.aio.Channel] = {}

    async def run(self) -> None:
        """Reads standard input to its end."""
        while line := await next_line():
            case = json.loads(line)
            told: dict[str, Any] = {"name": case["name"]}
            try:
                async with asyncio.timeout(LIMIT):
                    told["outcomes"] = await self._carry_out(case)
            except Exception as error:
                told["error"] = f"{type(error).__name__}: {error}"
            tell(told)
        for channel in self._kept.values():
            await channel.close()

    async def _carry_out(self, case: dict[str, Any]) -> list[dict[str, Any]]:
        channel = self._channel(case)
        try:
            return await Carrying(channel, lambda what: ask_for(case["name"], what)).carry_out(case["calls"])
        finally:
            if case.get("ownConnection"):
                await channel.close()

    def _channel(self, case: dict[str, Any]) -> grpc.aio.Channel:
        """One of the case's own, or the one for all cases that want the same."""
        if case.get("ownConnection"):
            return channel_of(case)
        key = json.dumps([case["target"], case.get("tls"), case.get("client")])
        if key not in self._kept:
            self._kept[key] = channel_of(case)
        return self._kept[key]


def channel_of(case: dict[str, Any]) -> grpc.aio.Channel:
    wanted = case.get("client", {})
    if "codec" in wanted or wanted.get("compression", "gzip") != "gzip":
        raise ValueError(f"grpcio cannot be set up so: {wanted}")
    options = dict(OPTIONS)
    if "maxMessage" in wanted:
        options["grpc.max_receive_message_length"] = wanted["maxMessage"]
        options["grpc.max_send_message_length"] = wanted["maxMessage"]
    if case.get("ownConnection"):  # channels share connections otherwise
        options["grpc.use_local_subchannel_pool"] = 1
    settings: dict[str, Any] = {"options": list(options.items())}
    if "compression" in wanted:
        settings["compression"] = grpc.Compression.Gzip
    if "tls" not in case:
        return grpc.aio.insecure_channel(case["target"], **settings)
    return grpc.aio.secure_channel(case["target"], credentials_of(case["tls"]), **settings)


def credentials_of(files: dict[str, str]) -> grpc.ChannelCredentials:
    ca, cert, key = (Path(files[name]).read_bytes() if files.get(name) else None for name in ("ca", "cert", "key"))
    return grpc.ssl_channel_credentials(ca, key, cert)


async def next_line() -> str:
    return await asyncio.to_thread(sys.stdin.readline)


def tell(line: dict[str, Any]) -> None:
    print(json.dumps(line), flush=True)


async def ask_for(name: str, what: str) -> None:
    """Has the runner do something, and waits until that is done."""
    tell({"name": name, "do": what})
    await next_line()


if __name__ == "__main__":
    asyncio.run(Program().run())
