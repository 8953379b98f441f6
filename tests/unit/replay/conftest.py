"""Large documents are kept beside what a test records."""

from pathlib import Path

import pytest

from archivebox.replay import rewritten
from archivebox.storage.layout import DataFolder


@pytest.fixture(autouse=True)
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where rewritten documents are kept."""
    data = DataFolder(tmp_path / "data")
    monkeypatch.setattr(rewritten, "DATA_FOLDER", data)
    return data.rewritten
