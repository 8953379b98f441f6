"""Owns how a page taken over from another machine gets folders that no process of that machine can write into.

Such a process may be held still, or out of reach, and go on later. It has its plugin's folder as working directory, and
files in it open: both are replaced by copies, so that nobody sees what it writes.
"""

import shutil
from contextlib import suppress
from pathlib import Path

from archivebox.lib.files import remove_tree
from archivebox.storage.layout import HOOK_RUNS
from archivebox.storage.shared_bodies import is_linked_name

_COPY, _FORMER = "renewed", "former"
"""In the folder of the runs, whose files are neither listed nor hashed."""


def renew_folder(page: Path, plugin: str) -> None:
    """Replace a plugin's folder by a copy. OSError where that cannot be done."""
    folder, runs = page / plugin, page / HOOK_RUNS
    if folder.is_symlink() or not folder.is_dir() or runs.is_symlink() or not runs.is_dir():
        return
    copy, former = runs / _COPY, runs / _FORMER
    for left in (copy, former):  # by a kill
        if left.is_dir():
            remove_tree(left)
    shutil.copytree(folder, copy, symlinks=True, copy_function=_copy)
    folder.rename(former)
    copy.rename(folder)
    remove_tree(former)


def _copy(source: str, target: str) -> None:
    """Copy one file, or link a body that pages share, which nobody writes into; it may have gone meanwhile."""
    with suppress(FileNotFoundError):
        if is_linked_name(Path(source).name):
            Path(target).hardlink_to(source)
        else:
            shutil.copy2(source, target, follow_symlinks=False)
