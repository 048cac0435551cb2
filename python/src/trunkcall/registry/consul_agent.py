"""What is asked of an agent of Consul, whether servers are services of its catalog or keys (spec/registry.md 10.4,
10.5)."""

from __future__ import annotations

import ssl
from typing import Any

from .asking import Answer, Asking
from .store import RegistryError

RENEWS = 3  # in a lease
ANSWERS_WITHIN = 10.0  # seconds
WAITS = 60  # seconds that Consul holds a question back while nothing changes; a sixteenth more at most
WITHDRAWS_WITHIN = 5.0  # seconds
MOST_ANSWER = 512 << 20  # bytes: an instance of the catalog without its record has about 1 KiB
MOST_SHORT = 1 << 20  # of answers that do not have all instances


class Agent(Asking):
    """Asks an agent, on one event loop. To be used as `async with`. Everything raises OSError, RegistryError; that an
    answer says so it does not."""

    def __init__(self, host: str, tls: ssl.SSLContext | None, token: str) -> None:
        super().__init__((host,), tls)
        if token:
            self.headers["X-Consul-Token"] = token

    async def get(self, what: str, *, within: float | None = None, most: int = MOST_SHORT) -> Answer:
        seconds = ANSWERS_WITHIN if within is None else within
        return await self.ask("GET", f"/v1/{what}", within=seconds, most=most)

    async def put(self, what: str, body: Any = None, *, within: float | None = None) -> Answer:
        """With a body of JSON unless it is None."""
        seconds = ANSWERS_WITHIN if within is None else within
        return await self.ask("PUT", f"/v1/{what}", body, within=seconds, most=MOST_SHORT)

    async def newer(self, what: str, index: int) -> Answer:
        """What there is, once there is something newer than an index, which is 0 at first."""
        # At first consistent, or a server that has just been started may tell of its past.
        how = f"index={index}&wait={WAITS}s" if index else "consistent"
        within = ANSWERS_WITHIN + (WAITS * 17 / 16 if index else 0)
        return await self.get(f"{what}{'&' if '?' in what else '?'}{how}", within=within, most=MOST_ANSWER)


def index_of(answer: Answer, before: int) -> int:
    """What a good answer says is to be asked for next; 0 if it is not believed, because its index goes back. Raises
    RegistryError."""
    text = answer.headers.get("x-consul-index", "")
    if not text.isdecimal() or len(text) > 20:
        raise RegistryError(f"{answer.who} answered without an index")
    index = int(text)
    return max(index, 1) if index >= before else 0
