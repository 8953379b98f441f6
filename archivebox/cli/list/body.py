"""Owns `archivebox list`."""

from typing import Any

from archivebox.cli.listing import show
from archivebox.cli.select import snapshots
from archivebox.cli.session import Session


def run(session: Session, *, limit: int | None, **choice: Any) -> int:
    show(session.out, snapshots(**choice), limit)
    return 0
