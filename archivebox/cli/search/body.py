"""Owns `archivebox search`."""

from typing import Any

from django.db.models import Q

from archivebox.cli.listing import show
from archivebox.cli.select import snapshots
from archivebox.cli.session import Session


def run(session: Session, *, terms: tuple[str, ...], limit: int | None, **choice: Any) -> int:
    """Every word has to be in the title or in the URL, in whatever case."""
    rows = snapshots(**choice)
    for term in " ".join(terms).split():
        rows = rows.filter(Q(title__icontains=term) | Q(url__icontains=term))
    show(session.out, rows, limit)
    return 0
