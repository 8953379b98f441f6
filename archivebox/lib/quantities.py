"""Owns amounts as people read them."""


def size(count: float | None) -> str:
    """Bytes as ``812 B``, ``4.2 kB``, ``1.3 MB``: powers of 1,000, as disks are sold."""
    amount = float(count or 0)
    for unit in ("B", "kB", "MB", "GB"):
        if amount < 1000:
            return f"{amount:.0f} {unit}" if unit == "B" or amount >= 100 else f"{amount:.1f} {unit}"
        amount /= 1000
    return f"{amount:.1f} TB"
