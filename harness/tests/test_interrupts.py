from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest

from harness import interrupts


@pytest.fixture(autouse=True)
def installed() -> Iterator[None]:
    before = {signum: signal.getsignal(signum) for signum in interrupts.SIGNALS}
    interrupts.install()
    yield
    for signum, handler in before.items():
        signal.signal(signum, handler)


def test_a_signal_is_an_exception_and_a_second_does_not_disturb_the_clearing_up() -> None:
    with pytest.raises(interrupts.Interrupted, match="SIGTERM") as caught:
        signal.raise_signal(signal.SIGTERM)
    assert caught.value.signum == signal.SIGTERM
    signal.raise_signal(signal.SIGINT)


def test_while_held_it_waits() -> None:
    done = []
    with pytest.raises(interrupts.Interrupted), interrupts.held():
        with interrupts.held():
            signal.raise_signal(signal.SIGINT)
        done.append("all of it")
    assert done == ["all of it"]


def test_an_exception_from_inside_comes_before_the_signal() -> None:
    # Otherwise a start that failed would be lost; the signal is raised at the next held block at the latest.
    with pytest.raises(KeyError), interrupts.held():
        signal.raise_signal(signal.SIGINT)
        raise KeyError
    with pytest.raises(interrupts.Interrupted), interrupts.held():
        pass
