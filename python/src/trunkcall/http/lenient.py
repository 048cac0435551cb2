"""h2, without what it does itself that is settled elsewhere: how many requests there are, how long their bodies are,
in how many frames their heads come, and what windows allow."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.exceptions import FlowControlError
from h2.frame_buffer import CONTINUATION_BACKLOG, FrameBuffer


class Lenient(H2Connection):
    """It would end the connection for a request too many, for a body that is not as long as was stated, for one that
    exceeds the window of its stream, and for a head in 65 frames."""

    _begun = 0

    def __init__(self, config: H2Configuration) -> None:
        super().__init__(config)
        self.incoming_buffer: FrameBuffer = _Joining(server=True)

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


class _Joining(FrameBuffer):
    """It takes 64 frames for a header block, the first included. Follower counts the others (limits.md 5)."""

    _headers_buffer: list[Any]

    def _update_header_buffer(self, f: Any) -> Any:
        block = self._headers_buffer
        if len(block) == CONTINUATION_BACKLOG:
            last = block.pop()
            block[-1].data += last.data
        return super()._update_header_buffer(f)


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
