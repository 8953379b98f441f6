"""Owns an object store in a folder, and sealed pages to put into it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from archivebox.config.page_storage import forget_store
from archivebox.core.models import Snapshot
from archivebox.core.page_storage.uploading import store_page
from archivebox.storage.layout import DataFolder
from tests import factories
from tests.status_triggers import arrange

BODY = f"shared-{'ab' * 32}.warc.gz"


@pytest.fixture
def store(collection: DataFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder store, of which nothing unused stays longer than a moment."""
    assert collection.root.is_dir()
    folder = tmp_path / "store"
    folder.mkdir()
    monkeypatch.setenv("STORAGE_URL", folder.as_uri())
    monkeypatch.setenv("STORAGE_GRACE", "0")
    forget_store()
    yield folder
    monkeypatch.undo()
    forget_store()


def sealed(url: str = "https://example.com/", words: str = "one") -> Snapshot:
    """A page with a text, a link, an empty folder, and a body that pages of its owner share."""
    page = factories.snapshot(url)
    arrange(Snapshot.objects.filter(pk=page.pk), status="sealed")
    (page.path / "text").mkdir(parents=True)
    (page.path / "text" / "words.txt").write_text(words)
    (page.path / "text" / "words.txt").chmod(0o640)
    (page.path / "text" / "link").symlink_to("words.txt")
    (page.path / "empty").mkdir()
    (page.path / "warc").mkdir()
    body = page.path.parents[3] / ".shared" / "ab" / f"{'ab' * 32}.warc.gz"
    body.parent.mkdir(parents=True, exist_ok=True)
    if not body.exists():
        body.write_bytes(b"a body")
    os.link(body, page.path / "warc" / BODY)
    return page


def stored(url: str = "https://example.com/", words: str = "one") -> Snapshot:
    page = sealed(url, words)
    store_page(page.pk, page.path)
    return page
