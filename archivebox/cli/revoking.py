"""Owns how a token or a share link is revoked from a terminal."""

from collections.abc import Callable
from typing import TypeVar

from archivebox.accounts import audit
from archivebox.base_models.revocable import Revocable
from archivebox.base_models.transactions import write_transaction
from archivebox.cli.output import Record
from archivebox.cli.session import Session

Revoked = TypeVar("Revoked", bound=Revocable)


def revoke_row(
    session: Session, row: Revoked, action: str, record: Callable[[Revoked], Record], sentence: str, **detail: str
) -> int:
    """Revoke it, write down that somebody did ``action``, and print its ``record`` or the sentence."""
    with write_transaction():
        row.revoke()
        audit.record(None, action, row, **detail)
    session.out.event(record(row), sentence)
    return 0
