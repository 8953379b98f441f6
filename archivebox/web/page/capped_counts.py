"""Owns how a count that went only so far is written."""


def at_most(count: int, counted: int) -> str:
    """``12``, ``1,000+``."""
    return f"{counted:,}+" if count > counted else f"{count:,}"
