"""Owns the right to read the files of one snapshot: a signed text in an address, which expires."""

import time
from uuid import UUID

from django.core.signing import BadSignature, Signer

LIFETIME = 12 * 3600
"""Seconds that an address works at least; a page left open overnight still shows its pictures."""
STEP = 6 * 3600
"""Expiry is rounded up to this, so that the same file has the same address for hours and browsers can cache it."""


def _signer() -> Signer:
    return Signer(sep=".", salt="archivebox.replay")


def grant(snapshot_id: UUID, now: float | None = None) -> str:
    """A capability for the files of this snapshot: ``<id in hex>.<expiry in hex>.<signature>``, safe in a path."""
    moment = time.time() if now is None else now
    expires = int(-(-(moment + LIFETIME) // STEP) * STEP)
    return _signer().sign(f"{snapshot_id.hex}.{expires:x}")


def read(token: str, now: float | None = None) -> UUID | None:
    """The snapshot that ``token`` is for; None if it was not signed by us or has expired."""
    try:
        snapshot, _, expires = _signer().unsign(token).partition(".")
    except BadSignature:
        return None
    moment = time.time() if now is None else now
    return UUID(snapshot) if int(expires, 16) > moment else None
