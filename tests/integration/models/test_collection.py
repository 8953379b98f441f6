"""Opening collections, by processes of their own: first use by many at once, the stamp, no collection at all."""

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest

from archivebox.lib.files import locked
from tests.databases import own_database
from tests.marks import first_by_default

CHECKOUT = Path(__file__).parents[3]
OPEN = """
import json, os, sys
import django
from archivebox.config.collection import CollectionError, choose_data_dir, open_collection
choose_data_dir()
django.setup()
try:
    open_collection(create=sys.argv[1] == "create")
except CollectionError as error:
    print(error)
    raise SystemExit(2)
from archivebox.machine.models import Machine, Process
from archivebox.core.intake.add_urls import create_crawl
from archivebox.core.intake.request import Seed
from archivebox.base_models.users import system_user
mine = Process.current()
crawl = create_crawl([Seed(f"https://example.com/{number}") for number in range(20)], created_by=system_user())
print(json.dumps({"machine": str(Machine.current().pk), "process": str(mine.pk), "crawl": str(crawl.pk)}))
"""
STATEMENTS = """
import json, os, signal, sqlite3, sys
from contextlib import closing
import django
from archivebox.config.collection import choose_data_dir, open_collection
database = choose_data_dir() / "index.sqlite3"
django.setup()
from django.db import connection
left, seen = int(sys.argv[1]), []
def look(execute, *arguments):
    global left
    left -= 1
    if not left:
        os.kill(os.getpid(), signal.SIGKILL)
    with closing(sqlite3.connect(database)) as other:
        tables = other.execute("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name").fetchall()
        done = other.execute("SELECT count(*) FROM django_migrations").fetchone()[0] if tables else 0
        seen.append(f"{done} migrations, {tables}")
    return execute(*arguments)
with connection.execute_wrapper(look):
    open_collection(create=True)
    connection.cursor().execute("SELECT 1")
print(json.dumps(seen))
"""
"""Opens a collection, and says what another process saw in its database before each statement; one of them may kill."""
JOIN = """
from archivebox.config.collection import CollectionError, choose_data_dir
from archivebox.config.joining import join
from archivebox.storage.layout import DataFolder
try:
    join(DataFolder(choose_data_dir()))
except CollectionError as error:
    print(error)
    raise SystemExit(2)
"""


def start(folder: Path, body: str = OPEN, *words: str, **more: str) -> subprocess.Popen[str]:
    env = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    env |= {
        "DATA_DIR": str(folder),
        "DJANGO_SETTINGS_MODULE": "archivebox.config.settings",
        "PYTHONPATH": str(CHECKOUT),
    }
    command = [sys.executable, "-c", body, *(words or ("create",))]
    return subprocess.Popen(command, env=env | more, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def end(process: subprocess.Popen[str]) -> str:
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    return out


@pytest.fixture(scope="module")
def first_used(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("first")
    end(start(folder))
    return folder


@pytest.fixture
def used(first_used: Path, tmp_path: Path) -> Path:
    """A collection that was used once."""
    return Path(shutil.copytree(first_used, tmp_path / "data"))


@pytest.mark.slow
def test_eight_first_uses_at_once(tmp_path: Path) -> None:
    """Nobody finds the database locked; one machine, one system user, everything that was accepted is there."""
    answers = [json.loads(end(process)) for process in [start(tmp_path / "data") for _ in range(8)]]
    assert len({answer["machine"] for answer in answers}) == 1
    assert len({answer["process"] for answer in answers}) == 8
    with sqlite3.connect(tmp_path / "data" / "index.sqlite3") as database:

        def count(table: str) -> int:
            return int(database.execute(f"SELECT count(*) FROM {table}").fetchone()[0])

        assert (count("machine_machine"), count("auth_user"), count("machine_process")) == (1, 1, 8)
        assert (count("crawls_crawl"), count("core_snapshot")) == (8, 160)
        assert database.execute("PRAGMA journal_mode").fetchone()[0] == "wal"
        assert database.execute("PRAGMA integrity_check").fetchone()[0] == "ok"


WEB = "archivebox.web.settings"
"""A server's settings have tables of their own, which are made later, in a collection that commands have begun."""


def test_between_any_two_statements_of_first_uses_others_see_all_tables_or_none(tmp_path: Path) -> None:
    by_command = json.loads(end(start(tmp_path / "data", STATEMENTS, "0")))
    by_server = json.loads(end(start(tmp_path / "data", STATEMENTS, "0", DJANGO_SETTINGS_MODULE=WEB)))
    assert len(by_command) > 100
    assert list(dict.fromkeys(by_command)) == ["0 migrations, []", by_command[-1]]
    assert list(dict.fromkeys(by_server)) == [by_command[-1], by_server[-1]]


@first_by_default(1, "statement", [300, 1])
def test_a_first_use_that_was_killed_is_repeated_from_nothing(tmp_path: Path, statement: int) -> None:
    killed = start(tmp_path / "data", STATEMENTS, str(statement))
    killed.communicate(timeout=60)
    assert killed.returncode == -signal.SIGKILL
    assert json.loads(end(start(tmp_path / "data", STATEMENTS, "0")))[0] == "0 migrations, []"


@pytest.mark.slow
def test_a_ready_collection_is_not_looked_at_again(used: Path) -> None:
    stamps = list((used / "run").glob("schema*"))
    assert stamps
    before = [stamp.stat().st_mtime_ns for stamp in stamps]
    end(start(used))
    assert [stamp.stat().st_mtime_ns for stamp in stamps] == before
    for stamp in stamps:
        stamp.write_text("of an older version\n")
    end(start(used))
    assert all(stamp.read_text() != "of an older version\n" for stamp in stamps)


@pytest.mark.slow
def test_no_schema_is_changed_under_an_orchestrator_of_another_version(used: Path) -> None:
    (stamp,) = (used / "run").glob("schema*")
    ours = stamp.read_text()
    stamp.write_text("of an older version\n")
    lock = used / "run" / "orchestrator.lock"
    lock.write_text("of an older version\n")
    with locked(lock):
        refused = start(used)
        out, _ = refused.communicate(timeout=60)
        assert refused.returncode == 2
        assert "Another version of ArchiveBox is at work" in out
        assert stamp.read_text() == "of an older version\n"
        lock.write_text(ours)
        end(start(used))
        assert stamp.read_text() == ours
    stamp.unlink()
    lock.write_text("of an older version\n")
    end(start(used))
    assert stamp.read_text() == ours


def test_an_orchestrator_says_which_schema_it_works_with(used: Path) -> None:
    body = OPEN + (
        "from archivebox.workers.supervise.orchestrator import acquire_lock\n"
        "assert acquire_lock(wait=False) is not None\n"
    )
    end(start(used, body))
    (stamp,) = (used / "run").glob("schema*")
    assert (used / "run" / "orchestrator.lock").read_text() == stamp.read_text()


AWAY = """
from contextlib import suppress
from django.db import OperationalError, connection
from archivebox.base_models.wakeups import wake_local_workers
from archivebox.config.settings import DATA_FOLDER
connection.close()
DATA_FOLDER.root.rename(DATA_FOLDER.root.with_name("away"))
DATA_FOLDER.root.mkdir()
wake_local_workers()
for folder in (DATA_FOLDER.watchers, DATA_FOLDER.users / "system" / "snapshots"):
    with suppress(FileNotFoundError):
        DATA_FOLDER.make_folder(folder)
with suppress(OperationalError):
    Machine.objects.count()
print([path.name for path in DATA_FOLDER.root.rglob("*")])
"""
"""The disk of a collection is away: what a process of it does by itself meanwhile."""


@pytest.mark.once  # what may come anew is a SQLite file
def test_nothing_is_made_in_place_of_a_data_folder_that_is_away(used: Path) -> None:
    assert end(start(used, OPEN + AWAY)).splitlines()[-1] == "[]"


def test_no_collection_gets_a_sentence(tmp_path: Path) -> None:
    folder = tmp_path / "nothing"
    process = start(folder, OPEN, "open")
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 2
    assert out.startswith(f"There is no collection in {folder}")
    assert "archivebox init" in out
    assert not folder.exists()


def test_the_parent_is_named_or_found_among_the_ancestors(used: Path) -> None:
    """A child that is told who started it, and one that has to walk up to the first process with a row."""
    parent_body = OPEN + (
        "import subprocess\n"
        "child = 'import django, os; django.setup(); from archivebox.machine.models import Process;'\n"
        "child += 'mine = Process.current(); print(mine.parent_id, mine.cmd[1], mine.process_type)'\n"
        "for env in (dict(os.environ), dict(os.environ, ARCHIVEBOX_PROCESS_ID=str(crawl.pk))):\n"
        "    command = ['/bin/sh', '-c', '\"$0\" -c \"$1\"; true', sys.executable, child]\n"
        "    print(subprocess.run(command, env=env, check=True, capture_output=True, text=True).stdout.strip())\n"
        "mine.finish(3, 'said at the end')\n"
    )
    first, walked, named = end(start(used, parent_body)).splitlines()
    answer = json.loads(first)
    assert walked.split() == [answer["process"], "-c", "binary"]
    assert named.split()[0] == answer["crawl"]
    with sqlite3.connect(used / "index.sqlite3") as database:
        query = "SELECT status, exit_code, end_reason, stderr FROM machine_process WHERE stderr != ''"
        assert database.execute(query).fetchall() == [("exited", 3, "exited", "said at the end")]


def test_a_power_cut_while_urls_are_accepted_leaves_all_or_what_is_removed(used: Path) -> None:
    """Killed in the middle of accepting ten thousand URLs: the crawl is whole, or marked as being added."""
    body = OPEN.replace("range(20)", "range(10_000)").replace("crawl = ", "print('now', flush=True)\ncrawl = ")
    process = start(used, body)
    assert process.stdout is not None
    assert process.stdout.readline() == "now\n"
    journal = used / "index.sqlite3-wal"
    while not journal.exists() or journal.stat().st_size < 1_000_000:
        if process.poll() is not None:
            break
    process.kill()
    process.communicate()
    with sqlite3.connect(used / "index.sqlite3") as database:
        counts = dict(database.execute("SELECT crawl_id, count(*) FROM core_snapshot GROUP BY crawl_id"))
        being_added = database.execute("SELECT id FROM crawls_crawl WHERE reason = 'being_added' AND status = 'paused'")
        for (crawl_id,) in being_added.fetchall():
            counts.pop(crawl_id, None)
        crawls = database.execute("SELECT count(*) FROM crawls_crawl WHERE reason != 'being_added'").fetchone()[0]
        assert database.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
    assert sorted(counts.values()) in ([20], [20, 10_000])
    assert crawls == len(counts)


@pytest.mark.database
@pytest.mark.skipif("DATABASE_URL" not in os.environ, reason="it is asked of PostgreSQL")
@pytest.mark.parametrize("encoding", ["SQL_ASCII", "LATIN1"])
def test_a_database_that_cannot_store_all_text_is_refused_and_stays_empty(tmp_path: Path, encoding: str) -> None:
    url = own_database(os.environ["DATABASE_URL"], encoding=encoding)
    process = start(tmp_path / "data", DATABASE_URL=url)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 2, err
    assert out.startswith(
        f"The database of DATABASE_URL is encoded in {encoding}, which cannot store the text of all pages."
    )
    with psycopg.connect(url) as connection:
        assert connection.execute("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'").fetchall() == [(0,)]


@pytest.mark.database
@pytest.mark.skipif("DATABASE_URL" not in os.environ, reason="it is asked of PostgreSQL")
def test_a_machine_does_not_join_a_collection_in_such_a_database(tmp_path: Path) -> None:
    url = own_database(os.environ["DATABASE_URL"], encoding="SQL_ASCII")
    with psycopg.connect(url) as connection:
        connection.execute("CREATE TABLE django_migrations ()")
        connection.execute("CREATE TABLE core_snapshot ()")
    process = start(tmp_path / "data", JOIN, DATABASE_URL=url)
    out, err = process.communicate(timeout=120)
    assert (process.returncode, out.split(",")[0]) == (2, "The database of DATABASE_URL is encoded in SQL_ASCII"), err
    assert not (tmp_path / "data").exists()
