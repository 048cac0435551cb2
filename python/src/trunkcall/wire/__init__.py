"""The wire: the protocol as a machine without sockets, threads, clock or codec (spec/protocol.md).

Read first `Session` (session.py), `Config` (config.py), `Events` (events.py), `OutgoingCall`, `IncomingCall` and
`Method` (stream.py), then `Metadata` and `Status`. Times are whole microseconds, messages are bytes.
"""

from __future__ import annotations

from .assembly import give_back, kept
from .budget import Load
from .caller import LATE
from .config import Config
from .events import Events
from .fault import CallFault, ConnectionFault, Fault, LimitError, MessageTooLarge
from .frame import CANNOT_TAKE, DEADLINE_PASSED, GAVE_UP
from .lifecycle import NEVER
from .metadata import Metadata
from .preface import INITIAL_WINDOW, MAGIC, PREFACE_SIZE, not_served
from .session import Session
from .settings import Settings
from .status import OK, Code, Delivery, Status, local_status
from .stream import Call, IncomingCall, Method, OutgoingCall
from .unserved import unserved

__all__ = [
    "CANNOT_TAKE",
    "DEADLINE_PASSED",
    "GAVE_UP",
    "INITIAL_WINDOW",
    "LATE",
    "MAGIC",
    "NEVER",
    "OK",
    "PREFACE_SIZE",
    "Call",
    "CallFault",
    "Code",
    "Config",
    "ConnectionFault",
    "Delivery",
    "Events",
    "Fault",
    "IncomingCall",
    "LimitError",
    "Load",
    "MessageTooLarge",
    "Metadata",
    "Method",
    "OutgoingCall",
    "Session",
    "Settings",
    "Status",
    "give_back",
    "kept",
    "local_status",
    "not_served",
    "unserved",
]
