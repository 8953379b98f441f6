"""Owns where the files of a page are read: in a folder of this machine."""

from pathlib import Path

from archivebox.core.snapshot import Snapshot


def local_folder(snapshot: Snapshot) -> Path:
    """The folder with the files of a page; it may be empty or absent, as before its capture. Blocks."""
    return snapshot.path
