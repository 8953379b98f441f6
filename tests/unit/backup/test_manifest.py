"""What is in a backup is written down so that a kill, a power cut or a changed byte is told."""

from pathlib import Path

import pytest

from archivebox.backup.copying import walk_order
from archivebox.backup.manifest import (
    MANIFEST,
    BackupEntry,
    BackupSummary,
    EntryKind,
    ManifestCursor,
    ManifestError,
    ManifestWriter,
    read_entries,
    read_summary,
)

NAMES = ["data/a.b", "data/\udcff\n", "data/ä", "data/a/x"]
"""What is in ``data``, then what is in ``a``; names need not be text."""


def write(folder: Path, *, whole: bool = True) -> None:
    writer = ManifestWriter(folder)
    writer.add(BackupEntry(EntryKind.DATABASE, "data/index.sqlite3", size=9))
    for path in sorted(NAMES, key=walk_order):
        writer.add(BackupEntry(EntryKind.FILE, path, mode=0o640, size=3, sha256="00", mtime_ns=5, inode=7))
    if whole:
        writer.finish(BackupSummary(backup="one", files=4))
    writer.close()


def test_entries_come_back_as_they_were_written(tmp_path: Path) -> None:
    write(tmp_path)
    entries = list(read_entries(tmp_path))
    assert {entry.path for entry in entries} == {"data/index.sqlite3", *NAMES}
    assert entries[1] == BackupEntry(EntryKind.FILE, "data/a.b", 0o640, 3, "00", 5, 0, 7)
    assert read_summary(tmp_path) == BackupSummary(backup="one", files=4)


def test_a_cursor_finds_entries_in_order_and_databases_beside(tmp_path: Path) -> None:
    write(tmp_path)
    cursor = ManifestCursor(tmp_path)
    asked = ["data/a", "data/a.b", "data/z", "data/ä", "data/a/x", "data/a/y"]
    assert [path for path in asked if cursor.find(path)] == ["data/a.b", "data/ä", "data/a/x"]
    assert set(cursor.databases) == {"data/index.sqlite3"}


def test_a_changed_byte_and_a_lost_end_are_told(tmp_path: Path) -> None:
    write(tmp_path)
    path = tmp_path / MANIFEST
    content = path.read_bytes()
    path.write_bytes(content.replace(b"data/a.b", b"data/a.c"))
    with pytest.raises(ManifestError, match="was changed"):
        read_summary(tmp_path)
    path.write_bytes(content[:-30])
    with pytest.raises(ManifestError, match="cannot be read"):
        read_summary(tmp_path)
    path.unlink()
    with pytest.raises(ManifestError, match="not there"):
        read_summary(tmp_path)


def test_one_of_a_newer_version_is_refused(tmp_path: Path) -> None:
    write(tmp_path)
    path = tmp_path / MANIFEST
    path.write_bytes(path.read_bytes().replace(b'"format":1', b'"format":2'))
    with pytest.raises(ManifestError, match="newer version"):
        read_summary(tmp_path)


def test_half_a_line_of_an_interrupted_backup_names_nothing(tmp_path: Path) -> None:
    write(tmp_path)
    path = tmp_path / MANIFEST
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:2]) + lines[2][:20])
    assert [entry.path for entry in read_entries(tmp_path)] == ["data/index.sqlite3", "data/a.b"]
    assert list(read_entries(tmp_path / "nowhere")) == []
