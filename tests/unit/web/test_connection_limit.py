"""Looking at open connections leaves every other file as it is."""

import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

from archivebox.web.server.connection_limit import ConnectionLimit

COMES_AND_GOES = """
import sqlite3, sys
from contextlib import closing
with closing(sqlite3.connect(sys.argv[1])) as database, database:
    database.execute("INSERT INTO page VALUES (1)")
"""


def test_a_database_of_this_process_keeps_its_locks(tmp_path: Path) -> None:
    """Without them, who comes and goes is the last, and removes the log that this process has open."""
    with closing(sqlite3.connect(tmp_path / "index.sqlite3")) as database:
        database.execute("PRAGMA journal_mode=WAL")
        database.execute("CREATE TABLE page (number)")
        database.commit()
        ConnectionLimit([1], most=1, is_exempt=lambda _address: False).close_excess()
        subprocess.run([sys.executable, "-c", COMES_AND_GOES, tmp_path / "index.sqlite3"], check=True)
        assert (tmp_path / "index.sqlite3-wal").exists()
        assert database.execute("SELECT count(*) FROM page").fetchone() == (1,)
