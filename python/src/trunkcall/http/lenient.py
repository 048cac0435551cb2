"""h2, without what it does itself that is settled elsewhere: how many requests there are, how long their bodies are,
and what windows allow."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from h2.connection import H2Connection
from h2.exceptions import FlowControlError


class Lenient(H2Connection):
    """It would end the connection for a request too many, for a body that is not as long as was stated, and for one
    that exceeds the window of its stream."""

    _begun = 0

    def count_windows(self, arrived: Callable[[int], bool], stray: Callable[[], None]) -> None:
        """Has `arrived` asked, at each DATA, whether the window of the connection allows so many bytes, and `stray`
        told of what is for a stream that is closed."""
        self._inbound_flow_control_window_manager: Any = _OfAll(arrived, stray)

    @property
    def open_inbound_streams(self) -> int:
        self._begun += 1
        if self._begun % 64 == 0:
            super().open_inbound_streams  # noqa: B018 - it forgets those that are closed
        return 0

    def _begin_new_stream(self, stream_id: int, allowed_ids: Any) -> Any:
        stream: Any = super()._begin_new_stream(stream_id, allowed_ids)
        stream._track_content_length = _as_long_as_it_is
        stream._inbound_window_manager = _WINDOW
        return stream


def _as_long_as_it_is(length: int, end_stream: bool) -> None:
    """Http2Line looks at the length of bodies."""


class _Window:
    """What h2 asks of the window of a stream; windows.Windows keeps account of it."""

    max_window_size = current_window_size = 0

    def window_consumed(self, size: int) -> None:
        """DATA has come."""

    def window_opened(self, size: int) -> None:
        """Credit was given."""

    def process_bytes(self, size: int) -> None:
        """DATA has come for a stream that is closed: it gives no credit for it by itself."""


class _OfAll(_Window):
    def __init__(self, arrived: Callable[[int], bool], stray: Callable[[], None]) -> None:
        self._arrived = arrived
        self._stray = stray

    def window_consumed(self, size: int) -> None:
        if not self._arrived(size):
            raise FlowControlError("DATA exceeds the window of the connection")

    def process_bytes(self, size: int) -> None:
        self._stray()


_WINDOW = _Window()
