"""Large documents are kept in a collection of their own."""

from pathlib import Path

import pytest

from archivebox.replay import rewritten
from archivebox.storage.layout import DataFolder


@pytest.fixture(autouse=True)
def kept(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where rewritten documents are kept."""
    data = DataFolder(tmp_path_factory.mktemp("data"))
    data.create()
    monkeypatch.setattr(rewritten, "DATA_FOLDER", data)
    return data.rewritten
