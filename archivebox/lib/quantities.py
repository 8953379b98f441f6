"""Owns amounts as people read and write them."""

import re

_SIZE = re.compile(r"(\d{1,18}(?:\.\d+)?)\s*([kmgt]?)b?", re.IGNORECASE)
_POWERS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}


def size(count: float | None) -> str:
    """Bytes as ``812 B``, ``4.2 kB``, ``1.3 MB``: powers of 1,000, as disks are sold."""
    amount = float(count or 0)
    for unit in ("B", "kB", "MB", "GB"):
        if amount < 1000:
            return f"{amount:.0f} {unit}" if unit == "B" or amount >= 100 else f"{amount:.1f} {unit}"
        amount /= 1000
    return f"{amount:.1f} TB"


def parse_size(text: str) -> int:
    """Bytes of ``1500000``, ``750m``, ``1.5 GB``; ValueError for anything else."""
    found = _SIZE.fullmatch(text.strip())
    if found is None:
        raise ValueError(f"{text!r} is not a size such as 750m or 2g")
    return int(float(found[1]) * 1000 ** _POWERS[found[2].lower()])
