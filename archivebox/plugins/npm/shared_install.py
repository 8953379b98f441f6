"""Packages that several npm hooks are about to install, a file each: the first one installs them all at once.

One `npm install` of five packages takes as long as that of the largest; one after the other each reads the whole tree,
and asks the registry, anew.
"""

from __future__ import annotations

import json
import os
import secrets
import time
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from archivebox.plugins.base import write_atomically

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

GATHERING = 0.3  # seconds in which hooks that start together have written their files
LASTS = 3600.0  # seconds; an older file is of a hook that was killed


@dataclass(frozen=True, slots=True)
class PendingInstall:
    """Packages to install, as npm takes them, and arguments for its command line."""

    packages: list[str]
    arguments: list[str]


@contextmanager
def announced(folder: Path, pending: PendingInstall) -> Iterator[None]:
    """Let the other hooks see what is to be installed, until this block ends."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{secrets.token_hex(8)}.json"
    write_atomically(os.fspath(path), json.dumps([pending.packages, pending.arguments]))
    try:
        yield
    finally:
        path.unlink(missing_ok=True)


def claim_all(folder: Path, mine: PendingInstall) -> PendingInstall:
    """Return all that can be installed together with `mine`, and remove the files of those hooks."""
    time.sleep(GATHERING)
    packages = list(mine.packages)
    for path in sorted(folder.glob("*.json")):
        pending = _claim(path, mine.arguments)
        if pending is not None:
            packages += pending.packages
    return PendingInstall(list(dict.fromkeys(packages)), mine.arguments)


def _claim(path: Path, arguments: list[str]) -> PendingInstall | None:
    try:
        pending = PendingInstall(*json.loads(path.read_bytes()))
        is_old = time.time() - path.stat().st_mtime > LASTS
    except (FileNotFoundError, ValueError, TypeError):
        return None
    if pending.arguments != arguments and not is_old:
        return None
    path.unlink(missing_ok=True)
    return None if is_old else pending
