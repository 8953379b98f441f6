"""Owns what Retry-After says (RFC 9110, 10.2.3)."""

from __future__ import annotations

import time


def seconds_of(wish: str) -> int:
    """For how long a server wishes to be left alone: so many seconds, or until a date; 0 where it makes no sense."""
    from email.utils import parsedate_to_datetime  # 15 ms, for which hardly a server asks

    try:
        if wish.isdecimal():
            return int(wish)
        return max(0, int(parsedate_to_datetime(wish).timestamp() - time.time()))
    except (ValueError, OverflowError):
        return 0
