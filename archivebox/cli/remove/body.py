"""Owns `archivebox remove`: retiring Snapshots, and bringing them back."""

from typing import Any

from archivebox.cli.deleting import confirm
from archivebox.cli.errors import BadInputError
from archivebox.cli.listing import show
from archivebox.cli.output import counted
from archivebox.cli.selection import select_snapshots
from archivebox.cli.session import Session
from archivebox.search.removal import bring_back, remove


def run(session: Session, *, every: bool, yes: bool, dry_run: bool, undo: bool, **choice: Any) -> int:
    """Show what would be done; do it when somebody says yes."""
    rows, by_records = select_snapshots(
        session.out, every=every, all_at_terminal=False, retired=undo, removes=True, **choice
    )
    count = rows.count()
    if count == 0 and by_records:
        session.out.say("None of these exist. Nothing was done.")
        return 0
    if count == 0:
        raise BadInputError("No snapshots match. Nothing was done. `archivebox list` shows all snapshots.")
    verb = "brought back" if undo else "removed"
    if not confirm(session, count, "snapshot", verb, lambda: show(session.out, rows), yes=yes, dry_run=dry_run):
        return 0
    done, problem = (bring_back if undo else remove)(rows)
    if problem:
        session.out.warn(problem)
    record = {"type": "Removal", "snapshots": done, "undo": undo}
    hint = "" if undo else " Their files stay; `archivebox remove --undo` with the same choice brings them back."
    session.out.event(record, f"{counted(done, 'snapshot')} {verb}.{hint}")
    return 0


def delete(session: Session, **choice: Any) -> int:
    """The same as a command of snapshots."""
    return run(session, undo=False, **choice)
