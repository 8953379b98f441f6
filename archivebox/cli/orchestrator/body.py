"""Owns the hidden commands that start the engine's own processes."""

from archivebox.cli.session import Session
from archivebox.workers.supervise import entry


def run(session: Session, *, args: tuple[str, ...]) -> int:
    """It records itself; `archivebox run` and `archivebox server` start it."""
    return entry.orchestrate([*args, f"--data-dir={session.folder.root}"])
