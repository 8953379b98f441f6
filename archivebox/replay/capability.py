"""Owns the right to see archived files: a signed text in an address, for one snapshot, one purpose, one viewer."""

import hashlib
import os
import time
from dataclasses import dataclass
from enum import StrEnum
from uuid import UUID

from django.core.signing import Signer
from django.utils.crypto import constant_time_compare

LIFETIME = 12 * 3600
"""Seconds that an address works at least; a page left open overnight still shows its pictures."""
STEP = 6 * 3600
"""Expiry is rounded up to this, so that the same file has the same address for hours and browsers can cache it."""
PUBLIC = "public"
"""The viewer who has no session: whoever a setting lets in."""
LINK = "share-"
"""How the viewer begins who has a share link."""


class Purpose(StrEnum):
    """What a capability opens."""

    FILE = "f"
    """One file, named in its signature: a thumbnail, or the copy that a share link shows in place of the replay."""
    FILES = "a"
    """All files of the snapshot; scripts do not run."""
    SCRIPTS = "s"
    """All files, and scripts run in the frame that the app draws around them."""
    SHARED = "r"
    """What was recorded, and the pictures of the article: what a share link shows. Links lead nowhere."""


@dataclass(frozen=True, slots=True)
class Capability:
    """What a valid text says; ``viewer`` is the stored name of a session, a share link, or :data:`PUBLIC`."""

    snapshot_id: UUID
    purpose: Purpose
    viewer: str

    @property
    def is_shared(self) -> bool:
        return self.viewer.startswith(LINK)


def grant(
    snapshot_id: UUID, viewer: str, purpose: Purpose = Purpose.FILES, path: str = "", now: float | None = None
) -> str:
    """``<id in hex>.<expiry in hex>.<purpose>.<viewer>.<signature>``, safe in a path; ``path`` is the file of FILE."""
    moment = time.time() if now is None else now
    expires = int(-(-(moment + LIFETIME) // STEP) * STEP)
    text = f"{snapshot_id.hex}.{expires:x}.{purpose}.{viewer}"
    return f"{text}.{_signature(text, purpose, path)}"


def read(token: str, path: str, now: float | None = None) -> Capability | None:
    """What ``token`` gives for ``path``; None if it was not signed by us, not for this file, or has expired."""
    text, _, signature = token.rpartition(".")
    parts = text.split(".")
    if len(parts) != 4 or parts[2] not in set(Purpose):
        return None
    purpose = Purpose(parts[2])
    if not constant_time_compare(signature, _signature(text, purpose, path)):
        return None
    moment = time.time() if now is None else now
    return Capability(UUID(parts[0]), purpose, parts[3]) if int(parts[1], 16) > moment else None


def _signature(text: str, purpose: Purpose, path: str) -> str:
    file = hashlib.sha256(os.fsencode(path)).hexdigest() if purpose is Purpose.FILE else ""
    return Signer(salt="archivebox.replay").signature(f"{text}.{file}")
