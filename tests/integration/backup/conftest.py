"""Owns a small collection on disk that backups are made of, in this process."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import pytest

from archivebox.backup.destination import DATA, Destination
from archivebox.backup.make import make_backup
from archivebox.backup.manifest import BackupSummary
from archivebox.config.origin import APPLICATION_ID
from archivebox.storage.layout import DataFolder


@dataclass(frozen=True)
class Kept:
    """A data folder and where it is backed up to."""

    folder: DataFolder
    destination: Destination

    def write(self, path: str, content: bytes | str = "words") -> Path:
        target = self.folder.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content.encode() if isinstance(content, str) else content)
        return target

    def write_shared(self, content: bytes = b"body") -> list[Path]:
        """A body that two pages have in common: the file in the store, and a link to it in each of them."""
        digest = sha256(content).hexdigest()
        stored = self.write(f"users/x/.shared/{digest[:2]}/{digest}.warc.gz", content)
        pages = [self.folder.users / f"x/snapshots/20261126/{host}.test/page/warc" for host in ("one", "two")]
        for page in pages:
            page.mkdir(parents=True)
        links = [page / f"shared-{digest}.warc.gz" for page in pages]
        for link in links:
            os.link(stored, link)
        return [stored, *links]

    def back_up(self, **options: object) -> BackupSummary:
        return make_backup(self.folder, self.destination, **options)  # type: ignore[arg-type]

    @property
    def newest(self) -> Path:
        return self.destination.find(None)

    @property
    def data(self) -> Path:
        """The copy of the data folder in the newest backup."""
        return self.newest / DATA


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, db: None) -> Iterator[Kept]:  # noqa: ARG001 - pages are asked for
    """With a database of its own that has one table; rows of pages are this process's."""
    monkeypatch.delenv("DATABASE_URL", raising=False)
    before = os.umask(0o077)
    folder = DataFolder(tmp_path / "data")
    folder.create()
    with closing(sqlite3.connect(folder.database)) as database:
        database.execute(f"PRAGMA application_id={APPLICATION_ID}")
        database.execute("PRAGMA journal_mode=WAL")
        database.execute("CREATE TABLE words (word TEXT)")
    made = Kept(folder, Destination(tmp_path / "dest"))
    made.write("keys/signing.key", "secret").chmod(0o600)
    made.write("ArchiveBox.conf", "TIMEOUT = 5\n")
    made.write("users/x/snapshots/20261126/one.test/page/title/title.txt", "Title")
    yield made
    os.umask(before)
