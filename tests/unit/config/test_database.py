"""Which database a collection has: by the environment, else by ArchiveBox.conf, else a file in the folder."""

from pathlib import Path

import pytest

from archivebox.config.conffile import ConfError
from archivebox.config.database import connection_settings, database_url
from archivebox.storage.layout import DataFolder

URL = "postgres://me:p%40ss@db.example:5433/pages?sslmode=require"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> DataFolder:
    monkeypatch.delenv("DATABASE_URL", raising=False)
    return DataFolder(tmp_path)


def test_without_an_address_it_is_a_file_in_the_folder(folder: DataFolder) -> None:
    found = connection_settings(folder)
    assert (found["ENGINE"], found["NAME"]) == ("django.db.backends.sqlite3", f"file:{folder.database}?mode=rw")


def test_an_address_in_the_file_counts(folder: DataFolder) -> None:
    folder.conf.write_text(f"DATABASE_URL = {URL}\n")
    found = connection_settings(folder)
    assert (found["HOST"], found["PORT"], found["NAME"]) == ("db.example", 5433, "pages")
    assert (found["USER"], found["PASSWORD"]) == ("me", "p@ss")
    assert found["OPTIONS"] == {"options": "-c jit=off", "sslmode": "require"}


@pytest.mark.parametrize("said", ["", "postgres://other/pages"])
def test_the_environment_counts_more_than_the_file(
    folder: DataFolder, monkeypatch: pytest.MonkeyPatch, said: str
) -> None:
    folder.conf.write_text(f"DATABASE_URL = {URL}\n")
    monkeypatch.setenv("DATABASE_URL", said)
    assert database_url(folder) == said


def test_an_address_of_another_kind_is_refused_in_a_sentence(folder: DataFolder) -> None:
    folder.conf.write_text("DATABASE_URL = mysql://db/pages\n")
    with pytest.raises(ConfError, match="must begin with postgres://"):
        connection_settings(folder)


@pytest.mark.parametrize("url", ["postgres://127.0.0.1/", "postgres://me@db.example:port/pages"])
def test_an_address_without_a_database_or_with_a_port_that_is_none_is_a_sentence(folder: DataFolder, url: str) -> None:
    folder.conf.write_text(f"DATABASE_URL = {url}\n")
    with pytest.raises(ConfError, match="must name a database"):
        connection_settings(folder)
