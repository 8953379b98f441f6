"""Owns going through a folder in the order of a manifest."""

import os
import stat
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import NamedTuple


class Walked(NamedTuple):
    """One thing that lies below the folder: its path relative to it, and what lstat(2) says."""

    path: str
    status: os.stat_result


def walk_sorted(
    root: Path,
    left_out: Callable[[str], bool] = lambda _name: False,
    unread: list[str] | None = None,
    followed: Collection[str] = (),
) -> Iterator[Walked]:
    """Everything below ``root``, each folder before what is in it; without recursion, however deep.

    ``left_out`` is asked for the names in ``root`` itself, and those in ``followed`` are what they lead to if they are
    symbolic links. What vanishes meanwhile is passed over; what cannot be read is added to ``unread``.
    """
    failures = [] if unread is None else unread
    open_folders = [iter(_listed(root, "", failures, left_out, followed))]
    while open_folders:
        walked = next(open_folders[-1], None)
        if walked is None:
            open_folders.pop()
            continue
        yield walked
        if stat.S_ISDIR(walked.status.st_mode):
            open_folders.append(iter(_listed(root, f"{walked.path}/", failures)))


def _listed(
    root: Path,
    prefix: str,
    unread: list[str],
    left_out: Callable[[str], bool] = lambda _name: False,
    followed: Collection[str] = (),
) -> list[Walked]:
    try:
        with os.scandir(os.path.join(root, prefix)) as entries:  # noqa: PTH118 - a third of the time
            wanted = sorted((entry for entry in entries if not left_out(entry.name)), key=lambda entry: entry.name)
    except FileNotFoundError:
        return []
    except OSError:
        unread.append(prefix)
        return []
    found = (_status_of(entry, prefix, unread, is_followed=entry.name in followed) for entry in wanted)
    return [walked for walked in found if walked is not None]


def _status_of(entry: "os.DirEntry[str]", prefix: str, unread: list[str], *, is_followed: bool) -> Walked | None:
    try:
        return Walked(prefix + entry.name, entry.stat(follow_symlinks=is_followed))
    except FileNotFoundError:
        if is_followed and entry.is_symlink():  # its disk is not mounted
            unread.append(entry.name)
        return None
    except OSError:
        unread.append(prefix + entry.name)
        return None
