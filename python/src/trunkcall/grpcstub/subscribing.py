"""Who is told of the state of a blocking client."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial

from grpc import ChannelConnectivity

from trunkcall.blocking import Caller
from trunkcall.blocking.calls import Calls
from trunkcall.blocking.driver import Driver
from trunkcall.calling import Calls as Awaited
from trunkcall.client import Client

from .callbacks import Callbacks
from .states import connectivity

Callback = Callable[[ChannelConnectivity], None]


class Subscription:
    """One function that is told. Its state is read and written on the loop of the client."""

    def __init__(self, callback: Callback) -> None:
        self.callback = callback
        self.over = False
        self._told: ChannelConnectivity | None = None

    def tell(self, state: ChannelConnectivity, callbacks: Callbacks) -> None:
        if state is not self._told and not self.over:
            self._told = state
            callbacks.call(partial(self._call, state))

    def _call(self, state: ChannelConnectivity) -> None:
        if not self.over:
            self.callback(state)


class Subscriptions:
    """Of one channel, for any thread. The client tells of each change, on whichever thread is at work for it then; the
    functions are called by `callbacks`."""

    def __init__(self, caller: Caller, callbacks: Callbacks) -> None:
        self._caller = caller
        self._callbacks = callbacks
        self._all: list[tuple[Subscription, Callable[[], object]]] = []  # and what ends each

    def add(self, callback: Callback, try_to_connect: bool) -> None:
        one = Subscription(callback)
        caller = self._caller
        if not isinstance(caller, Calls):
            one.tell(ChannelConnectivity.READY, self._callbacks)
            self._all.append((one, _nothing))
            return
        driver, policy = caller._now()
        with driver.inside():
            if driver.closed:
                one.tell(ChannelConnectivity.SHUTDOWN, self._callbacks)
                return
            seeking = policy if try_to_connect and isinstance(policy, Client) else None
            look = partial(self._look, one, policy, seeking)
            end = policy._watch(look)
            if seeking is not None:
                seeking._endpoints.wake()
            look()
            driver._look()  # nobody waits for what is to come now: the helper does
        self._all.append((one, partial(_end, driver, end)))

    def _look(self, one: Subscription, policy: Awaited, seeking: Client | None) -> None:
        """Something may have changed. `seeking` is to have a connection, unless it is None."""
        state = connectivity(policy)
        one.tell(state, self._callbacks)
        if seeking is not None and state not in (ChannelConnectivity.READY, ChannelConnectivity.SHUTDOWN):
            seeking._seek()

    def remove(self, callback: Callback) -> None:
        """Does not wait for a function that is being called: that one may have asked for it."""
        for entry in list(self._all):
            if entry[0].callback == callback:
                self._remove(entry)
                return

    def clear(self) -> None:
        for entry in list(self._all):
            self._remove(entry)

    def _remove(self, entry: tuple[Subscription, Callable[[], object]]) -> None:
        with suppress(ValueError):  # another thread was first
            self._all.remove(entry)
        one, end = entry
        one.over = True
        end()


def _end(driver: Driver, end: Callable[[], None]) -> None:
    def once() -> None:
        with suppress(ValueError):  # another thread was first
            end()

    if not driver.abandoned:
        with suppress(RuntimeError):  # the client is closed
            driver.loop.call_soon_threadsafe(once)


def _nothing() -> None:
    pass
