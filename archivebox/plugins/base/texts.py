"""Which files of a Snapshot are text for search, as their plugins declare it."""

from __future__ import annotations

import hashlib
import json
import os
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

MOST_TEXTS = 200  # files of one page
LONGEST = 16_000_000  # bytes of one file; what is beyond is not searched


class Text(NamedTuple):
    """One file of text: the plugin that wrote it, its name in that plugin's folder, and what it says."""

    plugin: str
    file: str
    content: str


def texts_of(snapshot_folder: Path) -> Iterator[Text]:
    """Yield the texts of a page, the best first; what two plugins have found alike comes once."""
    seen: set[bytes] = set()
    for plugin, file, path in declared_texts(snapshot_folder):
        content = _read(path)
        digest = hashlib.sha256(content).digest()
        if content.strip() and digest not in seen:
            seen.add(digest)
            yield Text(plugin, file, content.decode("utf-8", "replace"))
        if len(seen) >= MOST_TEXTS:
            return


def declared_texts(snapshot_folder: Path) -> Iterator[tuple[str, str, Path]]:
    """Yield plugin, name and place of each file that `SEARCH_TEXTS` (plugin and pattern, in order) speaks of."""
    for plugin, pattern in json.loads(os.environ.get("SEARCH_TEXTS") or "[]"):
        folder = snapshot_folder / plugin
        for path in sorted(folder.rglob("*")):
            file = path.relative_to(folder).as_posix()
            if fnmatchcase(file, pattern) and path.is_file() and not path.is_symlink():
                yield plugin, file, path


def _read(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(LONGEST)
    except FileNotFoundError:
        return b""  # its plugin is at work again
