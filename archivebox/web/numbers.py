"""Owns how a count that went only so far is written."""

from archivebox.search.facets import COUNTED


def at_most(count: int) -> str:
    """``12``, ``1,000+``."""
    return f"{COUNTED:,}+" if count > COUNTED else f"{count:,}"
