"""Owns looking after stored bodies: those that no page has are deleted, and pages that have copies get links."""

import filecmp
import os
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from archivebox.storage.shared_bodies import SNAPSHOTS, STORE, WARC, linked_digest, remove_unused, stored_path


@dataclass(slots=True)
class StorageReport:
    """How many files were deleted or linked, the bytes that this freed, and how many could not be linked."""

    files: int = 0
    bytes: int = 0
    failed: int = 0


def collect_garbage(users: Path) -> StorageReport:
    """Delete the stored bodies that no page has. Pages may be captured meanwhile: they lose sharing, never data."""
    report = StorageReport()
    for folder in store_folders(users):
        collect_folder(folder, report)
    return report


def store_folders(users: Path) -> Iterator[Path]:
    """The folders of all stores, 256 at most of each owner."""
    return users.glob(f"*/{STORE}/*/")


def collect_folder(folder: Path, report: StorageReport) -> None:
    """Do so in one folder of a store, and add what was deleted to the report."""
    for stored in folder.iterdir():
        if stored.name.startswith("."):  # left by a process that was killed
            stored.unlink(missing_ok=True)
        elif freed := remove_unused(stored):
            report.files += 1
            report.bytes += freed


def link_copies(users: Path) -> StorageReport:
    """Make each page's file of a shared body a link to the stored one, where both have the same bytes.

    Only these: other files of a page may be written to, and a link would carry that into other pages.
    """
    report = StorageReport()
    for owner in users.iterdir():
        for path, digest in _page_files(owner / SNAPSHOTS):
            try:
                freed = _link_copy(path, Path(stored_path(str(owner / STORE), digest)))
            except OSError:
                report.failed += 1
                continue
            report.files += freed > 0
            report.bytes += freed
    return report


def hard_link_problem(folder: Path) -> str:
    """Why no hard links can be made in a folder; empty where they can."""
    try:
        with tempfile.TemporaryDirectory(prefix=".links-", dir=folder) as name:
            file = Path(name, "file")
            file.touch()
            os.link(file, file.with_name("link"))
    except OSError as error:
        return str(error.strerror)
    return ""


def _page_files(snapshots: Path) -> Iterator[tuple[Path, str]]:
    for path in snapshots.glob(f"*/*/*/{WARC}/shared-*"):
        if (digest := linked_digest(path.name)) and path.is_file() and not path.is_symlink():
            yield path, digest


def _link_copy(path: Path, stored: Path) -> int:
    """The bytes that this frees. OSError where no link can be made."""
    stored.parent.mkdir(parents=True, exist_ok=True)
    with suppress(FileExistsError):
        os.link(path, stored, follow_symlinks=False)  # the first page that has it
        return 0
    size = path.lstat().st_size
    if path.samefile(stored) or not filecmp.cmp(path, stored, shallow=False):
        return 0
    # In the store, where a kill leaves nothing that a page would have besides what was signed.
    aside = stored.with_name(f".{stored.name}.{os.getpid()}.tmp")
    aside.unlink(missing_ok=True)
    os.link(stored, aside, follow_symlinks=False)
    aside.replace(path)
    return size
