"""Owns `archivebox list`."""

from typing import Any

from archivebox.cli.listing import ListOptions, show
from archivebox.cli.select import snapshots
from archivebox.cli.selection import select_snapshots
from archivebox.cli.session import Session
from archivebox.cli.stdin import STDIN


def run(session: Session, **choice: Any) -> int:
    wanted = ListOptions.pop_from(choice)
    rows = (
        select_snapshots(session.out, every=False, all_at_terminal=True, **choice).rows
        if STDIN in choice["which"]
        else snapshots(**choice)
    )
    show(session.out, rows, wanted)
    return 0
