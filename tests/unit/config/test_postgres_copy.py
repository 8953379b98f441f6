"""Copying a PostgreSQL database takes programs of PostgreSQL."""

from pathlib import Path

import pytest

from archivebox.config.database_copy import DatabaseCopyError
from archivebox.config.postgres_copy import dump_postgres, restore_postgres


def test_what_to_install_is_said_where_the_programs_are_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    url, dump = "postgres://nobody@127.0.0.1:9/none", tmp_path / "dump"
    with pytest.raises(DatabaseCopyError, match=r"pg_dump is not there.*apt-get install postgresql-client"):
        dump_postgres(url, dump)
    assert not dump.exists()
    with pytest.raises(DatabaseCopyError, match=r"pg_restore is not there.*apt-get install postgresql-client"):
        restore_postgres(url, dump)
