"""Owns text of other archives as a database can keep it."""


def clean(text: str) -> str:
    """``text`` without what a database cannot keep: NUL, and halves of surrogate pairs."""
    return text.encode("utf-8", "replace").decode().replace("\0", "")
