"""Owns what is left of `archivebox add` when the server ends whose process has accepted its URLs: waiting for them."""

from datetime import datetime
from uuid import UUID

from archivebox.cli.session import Session
from archivebox.cli.watching import Watched, watch


def run(session: Session, *, crawl_ids: list[str], began: str) -> int:
    """Wait for these crawls as who has accepted them did; ``began``: when that was."""
    return watch(session, Watched(map(UUID, crawl_ids), began=datetime.fromisoformat(began)))
