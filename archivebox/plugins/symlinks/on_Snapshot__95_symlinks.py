#!/usr/bin/env python3
"""Puts this Snapshot into a tree of links: `by_date/<day>/<site>_<page>` and `by_host/<site>/<day>_<page>`."""

import os
import re
from pathlib import Path
from urllib.parse import unquote, urlsplit

from archivebox.plugins.base import Hook, Settings, failed, set_deadline, succeeded

LONGEST_NAME = 100  # bytes; a name of a file system has 255 at most


def main() -> None:
    settings = Settings()
    set_deadline(settings.timeout("SYMLINKS"))
    snapshot = Path("..").resolve()
    tree = Path(os.environ.get("DATA_DIR", os.curdir)).resolve() / settings.str("SYMLINKS_DIR")
    names = _names(snapshot, Hook.from_argv().url)
    try:
        for name in names:
            _link(tree / name, snapshot)
    except OSError as error:
        failed(f"{error.filename}: {error.strerror}. SYMLINKS_DIR has to be on a file system with links")
    succeeded(names[0], {"links": names})


def _names(snapshot: Path, url: str) -> list[str]:
    """Day and site are the folders that the Snapshot is in; the end of its key tells pages of one name apart."""
    day, site, key = snapshot.parts[-3:]
    date = f"{day[:4]}-{day[4:6]}-{day[6:]}"
    page = f"{_slug(url)}_{key[-8:]}"
    return [f"by_date/{date}/{site}_{page}", f"by_host/{site}/{date}_{page}"]


def _slug(url: str) -> str:
    """Return the path of `url` as a part of a file's name, in its own script."""
    words = re.findall(r"\w+", unquote(urlsplit(url).path))
    return "-".join(words).encode()[:LONGEST_NAME].decode("utf-8", "ignore") or "index"


def _link(place: Path, target: Path) -> None:
    """Link relatively, so that the collection can be moved; what is there already is replaced in one step."""
    place.parent.mkdir(parents=True, exist_ok=True)
    temporary = place.with_name(f".{place.name}.{os.getpid()}.tmp")
    temporary.symlink_to(os.path.relpath(target, place.parent))
    temporary.replace(place)


if __name__ == "__main__":
    main()
