from pathlib import Path

from archivebox.config.keys import secret_key
from archivebox.storage.layout import DataFolder


def folder(tmp_path: Path) -> DataFolder:
    made = DataFolder(tmp_path)
    made.create()
    return made


def test_the_key_is_made_once_and_is_ours_alone(tmp_path: Path) -> None:
    data = folder(tmp_path)
    key = secret_key(data)
    assert len(key) == 64
    assert secret_key(data) == key
    assert data.secret_key.stat().st_mode & 0o777 == 0o600
