"""Owns what the URL of an object store means."""

from pathlib import Path
from urllib.parse import unquote, urlsplit

from archivebox.lib.object_store.folder import FolderStore
from archivebox.lib.object_store.interface import ObjectStore

FORMS = "file:///folder or s3://bucket/prefix?endpoint=https://…&region=…"


def open_store(url: str) -> ObjectStore:
    """The store that a URL names; nothing is asked of it yet. ValueError for a URL that names none."""
    split = urlsplit(url)
    if split.scheme == "file":
        return _open_folder(url)
    raise ValueError(f"not the URL of a store: {url!r}. It has to be {FORMS}")


def _open_folder(url: str) -> ObjectStore:
    split = urlsplit(url)
    if split.netloc not in {"", "localhost"} or split.query or split.fragment or not split.path.startswith("/"):
        raise ValueError(f"not the URL of a folder: {url!r}. It has to be file:///folder")
    return FolderStore(Path(unquote(split.path)))
