"""What the npm hooks of one moment want, a file each: who installs first does it for all of them, at once.

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

GATHERING = 0.3  # seconds in which those that start together have said what they want
LASTS = 3600.0  # seconds; an older wish is of a hook that was killed


@dataclass(frozen=True, slots=True)
class Wish:
    """Packages as npm is asked for them, and words for its command line."""

    packages: list[str]
    arguments: list[str]


@contextmanager
def wished(folder: Path, wish: Wish) -> Iterator[None]:
    """Let the others know of a wish for as long as it is not fulfilled."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{secrets.token_hex(8)}.json"
    write_atomically(os.fspath(path), json.dumps([wish.packages, wish.arguments]))
    try:
        yield
    finally:
        path.unlink(missing_ok=True)


def claim_all(folder: Path, mine: Wish) -> Wish:
    """Return one wish for all that can be had together with `mine`; whose wish was taken makes no other."""
    time.sleep(GATHERING)
    packages = list(mine.packages)
    for path in sorted(folder.glob("*.json")):
        wish = _claim(path, mine.arguments)
        if wish is not None:
            packages += wish.packages
    return Wish(list(dict.fromkeys(packages)), mine.arguments)


def _claim(path: Path, arguments: list[str]) -> Wish | None:
    try:
        wish = Wish(*json.loads(path.read_bytes()))
        is_old = time.time() - path.stat().st_mtime > LASTS
    except (FileNotFoundError, ValueError, TypeError):
        return None
    if wish.arguments != arguments and not is_old:
        return None
    path.unlink(missing_ok=True)
    return None if is_old else wish
