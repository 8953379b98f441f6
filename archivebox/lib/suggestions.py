"""What somebody may have meant who typed a name that does not exist."""

from collections.abc import Callable, Iterable
from difflib import get_close_matches


def did_you_mean(
    name: str, known: Iterable[str], otherwise: str, *, most: int = 1, written: Callable[[str], str] = str
) -> str:
    """``Did you mean …?`` with the nearest names, ``most`` at most, each as ``written``; else ``otherwise``."""
    near = get_close_matches(name, list(known), most)
    return f"Did you mean {' or '.join(map(written, near))}?" if near else otherwise
