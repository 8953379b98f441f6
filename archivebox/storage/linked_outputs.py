"""Owns files that two versions of a page have in common: the later has hard links to those of the earlier.

Nothing may write into such a file in place. A plugin's files become its own again before one of its hooks runs. Shared
bodies (`shared_bodies.py`) are links, too, and remain so: nothing ever writes into them.
"""

import errno
import json
import os
import shutil
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple
from uuid import UUID

from archivebox.lib.files import atomic_write, remove_tree, walk_entries
from archivebox.storage.layout import HOOK_RUNS
from archivebox.storage.shared_bodies import is_linked_name

NOTE = "linked_outputs.json"
"""In a page's folder: which of its files are those of an earlier version."""
LINKED_MIN = 1_000
"""Bytes; a smaller file is not worth a link."""
NOTE_MAX = 1_000_000
"""Bytes."""
_ASIDE = "linked.tmp"
_STAGED = "linked"
"""Both in the folder of the runs, whose files are neither listed nor hashed; one worker at a time has a page."""


class LinkedOutputs(NamedTuple):
    """Of which version a page has files, and of which plugins."""

    version: UUID
    plugins: list[str]


def stage_links(former: Path, latest: Path, plugins: Collection[str]) -> list[str]:
    """Link files of the earlier version that the later has under the same path, beside its own; their paths.

    From here on a hook of the earlier version that starts gets copies. Where no link can be made (EXDEV, EMLINK,
    EPERM), a file is left out.
    """
    drop_links(latest)
    pairs = ((plugin, name) for plugin in sorted(plugins) for name in _names_in_both(former, latest, plugin))
    return [path for path in (f"{plugin}/{name}" for plugin, name in pairs) if _stage(former, latest, path)]


def place_links(former: Path, latest: Path, paths: Sequence[str]) -> set[str]:
    """Put the staged links in the place of the later version's own files; the plugins that have any."""
    for path in paths:
        (_runs(latest) / _STAGED / path).replace(latest / path)
    if paths:
        note = {"snapshot": former.name, "files": list(paths)}
        atomic_write(latest / NOTE, json.dumps(note, indent=1) + "\n")
    drop_links(latest)
    return {path.partition("/")[0] for path in paths}


def parse_note(data: bytes) -> LinkedOutputs | None:
    """What the page's note says; None for one that makes no sense: a hook may have written it."""
    try:
        said = json.loads(data)
        files = [str(name) for name in said["files"]]
        return LinkedOutputs(UUID(said["snapshot"]), sorted({name.partition("/")[0] for name in files}))
    except (ValueError, TypeError, KeyError, AttributeError):
        return None


def drop_links(latest: Path) -> None:
    """Remove what is staged: links that are not wanted, or were left by a kill."""
    if (staged := _runs(latest) / _STAGED).is_dir():
        remove_tree(staged)


def own_files(page: Path, plugin: str) -> None:
    """Replace a plugin's links to files of other versions by copies. OSError where that cannot be done."""
    for name, status in list(_files(page / plugin)):
        if status.st_nlink > 1 and not is_linked_name(name):
            aside = _name_aside(page)
            shutil.copy2(page / plugin / name, aside, follow_symlinks=False)
            aside.replace(page / plugin / name)


def _names_in_both(former: Path, latest: Path, plugin: str) -> list[str]:
    sources = {name for name, _ in _files(former / plugin)}
    own = _files(latest / plugin)
    return sorted(name for name, status in own if status.st_size >= LINKED_MIN and name in sources)


def _stage(former: Path, latest: Path, path: str) -> bool:
    staged = _runs(latest) / _STAGED / path
    try:
        staged.parent.mkdir(parents=True, exist_ok=True)
        os.link(former / path, staged, follow_symlinks=False)
    except OSError:
        return False
    return True


def _name_aside(page: Path) -> Path:
    aside = _runs(page) / _ASIDE
    aside.unlink(missing_ok=True)  # left by a kill
    return aside


def _runs(page: Path) -> Path:
    runs = page / HOOK_RUNS
    if runs.is_symlink():  # a hook put it there
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(runs))
    runs.mkdir(mode=0o700, exist_ok=True)
    return runs


def _files(folder: Path) -> Iterator[tuple[str, os.stat_result]]:
    """The regular files below a folder; nothing that a symbolic link leads to."""
    if folder.is_symlink():
        return
    for name, entry in walk_entries(folder):
        with suppress(OSError):
            if entry.is_file(follow_symlinks=False):
                yield name, entry.stat(follow_symlinks=False)
