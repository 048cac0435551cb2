"""Random cases of policies (policy.md): files, and events for the cores."""

from __future__ import annotations
