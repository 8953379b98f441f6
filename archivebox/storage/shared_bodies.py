"""Owns where bodies that several pages of one owner have in common are stored, and under which names.

users/<owner>/.shared/ab/<sha256>.warc.gz                                    the first `response` record with a body
users/<owner>/snapshots/<day>/<host>/<id>/warc/shared-<sha256>.warc.gz       a hard link to it in each page
"""

import os
import re
from contextlib import suppress
from pathlib import Path

from archivebox.lib.files import remove_tree

STORE = ".shared"
SNAPSHOTS = "snapshots"
WARC = "warc"
"""The plugin whose folder in a page has the links."""
_LINKED = re.compile(r"shared-([0-9a-f]{64})\.warc\.gz")
_STORED = re.compile(rf"{re.escape(STORE)}/[0-9a-f]{{2}}/[0-9a-f]{{64}}\.warc\.gz")


def store_of(snapshot_dir: Path) -> Path | None:
    """The store of the owner of a page, whose folder is `users/<owner>/snapshots/<day>/<host>/<id>`; else None."""
    parents = snapshot_dir.parents
    is_page = len(parents) > 3 and parents[2].name == SNAPSHOTS
    return parents[3] / STORE if is_page else None


def stored_path(store: str, digest: str) -> str:
    return os.path.join(store, digest[:2], f"{digest}.warc.gz")  # noqa: PTH118 - hooks start without pathlib


def linked_name(digest: str) -> str:
    """The file's name among the WARC files of a page."""
    return f"shared-{digest}.warc.gz"


def is_linked_name(name: str) -> bool:
    return bool(linked_digest(name))


def linked_digest(name: str) -> str:
    """The digest in the name of a page's file; empty for other names."""
    found = _LINKED.fullmatch(name)
    return found[1] if found else ""


def may_be_linked(path: str) -> bool:
    """Whether a file of the collection may have other names: it is in a store, or a page's link to that."""
    return is_linked_name(path.rpartition("/")[2]) or _STORED.search(path) is not None


def stored_twin(path: str) -> str:
    """The path of the stored body that a page's file of this path is a link to; empty for other files."""
    digest, parts = linked_digest(path.rpartition("/")[2]), path.split("/")
    is_of_page = digest and len(parts) > 6 and (parts[-6], parts[-2]) == (SNAPSHOTS, WARC)
    return stored_path("/".join([*parts[:-6], STORE]), digest) if is_of_page else ""


def remove_page(snapshot_dir: Path) -> None:
    """Delete the folder of a page, and the bodies that no other page has; OSError where something cannot be."""
    store, digests = store_of(snapshot_dir), _linked_digests(snapshot_dir / WARC)
    remove_tree(snapshot_dir)
    if store is not None:
        for digest in digests:
            remove_unused(Path(stored_path(str(store), digest)))


def remove_unused(stored: Path) -> int:
    """Delete a stored body that no page links; the bytes that this frees.

    A page that links it at this very moment keeps its link: then the body is stored anew by the next page.
    """
    with suppress(FileNotFoundError):
        status = stored.lstat()
        if status.st_nlink == 1:
            stored.unlink()
            return status.st_size
    return 0


def _linked_digests(folder: Path) -> list[str]:
    with suppress(FileNotFoundError, NotADirectoryError), os.scandir(folder) as entries:
        return [digest for entry in entries if (digest := linked_digest(entry.name))]
    return []
