"""Owns what lies in a plugin's folder: listed for rows, and which of it is one hook's own."""

import math
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path
from typing import Any

from archivebox.lib.files import OutputFile, iter_outputs, walk_few

MOST_LISTED = 10_000
"""Files that a result names, those of its folder itself first; whoever shows a page reads all names."""
MAX_LISTED = 500
"""Files and folders of one hook that its worker looks through while everything else waits."""
NO_OUTPUT = (".pid", ".sock", ".lock", ".log")
"""Endings of files that a program keeps for itself: by these alone no hook has succeeded."""
NOT_LISTED = ".pid"
"""Ending of files that mean nothing once their program has ended."""
COARSE = 0.02
"""Seconds that the kernel's clock for files is behind at most."""


@dataclass(frozen=True, slots=True)
class Claim:
    """Which files of a plugin's folder are one hook's own.

    ``before``: what lay there when it started, and when that was changed; None: nobody looked, so that ``since``, the
    moment of its start (seconds of the wall clock), decides. ``until``: when another hook of the plugin started beside
    it, if it ran in the background; of what changed later only what bears its name is surely its own.
    """

    name: str = ""
    before: Mapping[str, float] | None = None
    since: float = 0.0
    until: float = math.inf

    def holds(self, file: OutputFile) -> bool:
        if file.path.endswith(NO_OUTPUT):
            return False
        if self.name and file.path.rpartition("/")[2].partition(".")[0] == self.name:
            return True
        if file.changed_at >= self.until - COARSE:
            return False
        if self.before is not None:
            return self.before.get(file.path) != file.changed_at
        return file.changed_at >= self.since - COARSE


ALL = Claim()
"""That of a hook which has its folder for itself."""


@dataclass(frozen=True, slots=True)
class Listing:
    """The columns that tell of a folder's files, and whether any of them, or any with content, is the hook's own."""

    columns: dict[str, Any] = field(default_factory=dict)
    wrote_files: bool = False
    wrote_bytes: bool = False


def files_before(folder: Path) -> dict[str, float] | None:
    """What lies in a folder before a hook starts, and when that was changed; None where that is too much to look at."""
    files = walk_few(folder, MAX_LISTED)
    return None if files is None else {file.path: file.changed_at for file in files}


def list_outputs(folder: Path, claim: Claim) -> Listing:
    """What lies in a folder, however many files: some 10 µs each, and no more than MOST_LISTED of them in memory."""
    return _listing(iter_outputs(folder), claim)


def list_few_outputs(folder: Path, claim: Claim) -> Listing | None:
    """The same where little lies there, in a few milliseconds; None where it would take longer."""
    files = walk_few(folder, MAX_LISTED)
    return None if files is None else _listing(iter(files), claim)


def output_columns(folder: Path) -> dict[str, Any]:
    """``output_files``, ``output_size`` and ``output_mimetypes`` of what lies in a plugin's folder."""
    return list_outputs(folder, ALL).columns


def columns_of(files: Iterable[OutputFile]) -> dict[str, Any]:
    """The same of files that are known already, those of the folder itself first."""
    return _listed(iter(files))[0]


def _listing(found: Iterator[OutputFile], claim: Claim) -> Listing:
    columns, listed = _listed(found)
    own = [file.size for file in listed if claim.holds(file)]
    return Listing(columns, bool(own), any(own))


def _listed(found: Iterator[OutputFile]) -> tuple[dict[str, Any], list[OutputFile]]:
    """The columns, and the files that they name."""
    files = (file for file in found if not file.path.endswith(NOT_LISTED))
    listed = sorted(islice(files, MOST_LISTED))
    size, mimetypes = 0, set[str]()
    for file in chain(listed, files):
        size += file.size
        mimetypes.add(file.mimetype)
    columns = {
        "output_files": {as_text(file.path): {"size": file.size, "mimetype": file.mimetype} for file in listed},
        "output_size": size,
        "output_mimetypes": ",".join(sorted(mimetypes))[:512],
    }
    return columns, listed


def as_text(path: str) -> str:
    r"""A file's name as a database can keep it: bytes that are not UTF-8 as ``\xff``."""
    return path if path.isascii() else os.fsencode(path).decode("utf-8", "backslashreplace")
