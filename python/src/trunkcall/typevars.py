"""Variables of types that stand for any type where none is given: `Call` is `Call[Any, Any]`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing_extensions import TypeVar  # known to type checkers wherever they run; typing has defaults since 3.13

    Req = TypeVar("Req", default=Any)
    Resp = TypeVar("Resp", default=Any)
    Sent_contra = TypeVar("Sent_contra", default=Any, contravariant=True)
    Received_co = TypeVar("Received_co", default=Any, covariant=True)
else:
    from typing import TypeVar

    Req = TypeVar("Req")
    Resp = TypeVar("Resp")
    Sent_contra = TypeVar("Sent_contra", contravariant=True)
    Received_co = TypeVar("Received_co", covariant=True)
