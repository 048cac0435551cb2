"""A setting of the process, for those that send large messages."""

from __future__ import annotations

_LARGE_BLOCK = 4 << 20  # bytes; glibc then keeps at most twice as many at the end of its heap


def retain_heap() -> None:
    """Makes glibc keep up to 8 MiB of freed memory, for large messages, for the rest of the process.

    Without it glibc may give the memory of a message of about 1 MiB back to the system and take it again for the next,
    page by page, which costs unary calls with such messages a fifth of their CPU or more; streams of generated messages
    hardly need it. Clients and servers never call this. With another allocator, or if the environment sets glibc's
    thresholds, it does nothing."""
    # glibc learns from the largest block that it has freed from which size on to give memory back (mallopt(3),
    # M_MMAP_THRESHOLD). Nobody touches this one.
    bytes(_LARGE_BLOCK)
