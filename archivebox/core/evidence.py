"""Owns looking whether the files of a snapshot are still those that were hashed when they were kept."""

import hashlib
import os
import stat
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from archivebox.lib.jsonl import JSON

TIME = 20.0
"""Seconds that one look may take: somebody waits for it."""
_BLOCK = 1024 * 1024


@dataclass(slots=True)
class Finding:
    """What a look found; ``unseen`` files were left when the time was over."""

    same: int = 0
    changed: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    unseen: int = 0

    @property
    def is_whole(self) -> bool:
        return not (self.changed or self.missing or self.unseen)


def verify(folder: Path, manifest: JSON, seconds: float = TIME) -> Finding:
    """Compare every file that ``manifest`` names (role ``evidence``) with what lies in ``folder`` now."""
    found, until = Finding(), time.monotonic() + seconds
    for name, entry in files_of(manifest).items():
        digest = _digest(folder, name, until)
        if digest is None:
            found.unseen += 1
        elif not digest:
            found.missing.append(name)
        elif digest == entry.get("sha256"):
            found.same += 1
        else:
            found.changed.append(name)
    return found


def files_of(manifest: JSON) -> dict[str, Mapping[str, JSON]]:
    """Path → facts of each file that a manifest names; nothing of what is no manifest."""
    files = manifest.get("files") if isinstance(manifest, dict) else None
    entries = files.items() if isinstance(files, dict) else ()
    return {name: entry for name, entry in entries if isinstance(entry, dict)}


def _digest(folder: Path, name: str, until: float) -> str | None:
    """SHA-256 of a file, or of a link's target; empty where nothing is, None when the time is over."""
    path = folder / name
    if ".." in path.parts or not path.is_relative_to(folder):
        return ""
    try:
        mode = path.lstat().st_mode
        if stat.S_ISLNK(mode):
            return hashlib.sha256(os.fsencode(path.readlink())).hexdigest()
        return _digest_of(path, until) if stat.S_ISREG(mode) else ""
    except OSError:
        return ""


def _digest_of(path: Path, until: float) -> str | None:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            if time.monotonic() > until:
                return None
            digest.update(block)
    return digest.hexdigest()
