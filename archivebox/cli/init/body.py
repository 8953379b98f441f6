"""Owns `archivebox init`."""

from archivebox.cli.session import Session
from archivebox.core.models import Snapshot


def run(session: Session, *, force: bool) -> int:
    """Make the collection, or bring it up to date; say so, and what comes next."""
    session.open(create=True, begin_anew=force)
    folder = session.folder
    count = Snapshot.objects.kept().count()
    record = {"type": "Collection", "path": str(folder.root), "snapshots": count}
    sentence = f"The collection in {folder.root} is ready; it has {count:,} snapshots."
    hint = "" if count else " `archivebox add URL` archives a page, `archivebox install` gets the programs for it."
    session.out.event(record, sentence + hint)
    return 0
