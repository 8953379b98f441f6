"""A collection goes from SQLite to PostgreSQL and back: nothing is lost, however often that is interrupted."""

from __future__ import annotations

import fcntl
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

from tests.acceptance.cli.conftest import Type, Typed, environment
from tests.databases import own_database
from tests.site.serve import Site
from tests.suite.postgres import throw_away_cluster

PLUGINS = "--plugins=wget,htmltotext,title,search_backend_sqlite,search_backend_postgresql"
MANY = 20_000
MANY_TAGS = f"""
from archivebox.core.tag import Tag
from django.contrib.auth.models import User
User.objects.create(username="fred")
Tag.objects.bulk_create([Tag(name=f"t{{n}}", slug=f"t{{n}}") for n in range({MANY})])
"""

NAMES = "from django.contrib.auth.models import User; print(list(User.objects.values_list('first_name', flat=True)))"


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """The URL of a PostgreSQL."""
    with throw_away_cluster() as url:
        yield url


@pytest.fixture
def empty(server: str) -> str:
    """The URL of an empty database."""
    return own_database(server)


def move(cli: Type, to: str, **env: str) -> Typed:
    done = cli("manage", "move_database", f"--to={to}", **env)
    assert done.code == 0, done.err
    return done


def tables(done: Typed) -> dict[object, tuple[object, object]]:
    """Rows and digest of each table."""
    moved = [record for record in done.records if record["type"] == "MovedTable"]
    return {record["table"]: (record["rows"], record["digest"]) for record in moved}


def machines(cli: Type, **env: str) -> list[object]:
    return [record["id"] for record in cli("machine", "list", **env).records]


def add(cli: Type, url: str, tag: str, **env: str) -> None:
    done = cli("add", PLUGINS, f"--tag={tag}", url, PRIVATE_NETWORK_ALLOWLIST="127.0.0.1", **env)
    assert done.code == 0, done.err


def test_a_collection_moves_to_postgresql_and_back(cli: Type, collection: Path, empty: str, site: Site) -> None:
    add(cli, site.url_for("/article"), "fruit")
    before = cli("list").records
    there = move(cli, empty)
    assert tables(there)["core_snapshot"][0] == 1
    assert cli("list").records == before, "what was there stays"
    assert cli("list", DATABASE_URL=empty).records == before

    here = cli("machine", "list").record["id"]
    assert here not in machines(cli, DATABASE_URL=empty, MACHINE_ID="attic"), "it works there under another id, or not"
    assert here in machines(cli, DATABASE_URL=empty, MACHINE_ID=str(here))

    unindexed = cli("search", "newspaper", DATABASE_URL=empty)
    assert (unindexed.code, "archivebox manage reindex" in unindexed.err) == (1, True)
    assert cli("manage", "reindex", DATABASE_URL=empty).record["engine"] == "postgresql"
    add(cli, site.url_for("/unicode"), "script", DATABASE_URL=empty)
    assert len(cli("search", "newspaper", DATABASE_URL=empty).records) == 1
    assert len(cli("search", "猫", "#script", DATABASE_URL=empty).records) == 1

    refused = cli("manage", "move_database", "--to=sqlite", DATABASE_URL=empty)
    assert (refused.code, "index.sqlite3 is there already" in refused.err) == (2, True)
    for path in collection.glob("index.sqlite3*"):
        path.unlink()
    both = cli("list", DATABASE_URL=empty).records
    back = move(cli, "sqlite", DATABASE_URL=empty)
    assert tables(back)["core_snapshot"][0] == 2
    assert not (collection / "database-move").exists()
    assert cli("list").records == both
    assert machines(cli) == [here]
    with closing(sqlite3.connect(collection / "index.sqlite3")) as database:
        assert database.execute("PRAGMA foreign_key_check").fetchall() == []
        assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    add(cli, site.url_for("/colour"), "third")
    assert len(cli("list").records) == 3


@pytest.mark.parametrize("to", ["postgresql", "sqlite"])
def test_a_move_that_was_killed_goes_on_where_it_was(cli: Type, empty: str, tmp_path: Path, to: str) -> None:
    source = {"DATABASE_URL": empty} if to == "sqlite" else {}
    assert cli("init", **source).code == 0
    assert cli("manage", "shell", "-c", MANY_TAGS, **source).code == 0
    target = "sqlite" if to == "sqlite" else empty
    words = [sys.executable, "-m", "archivebox", "manage", "move_database", f"--to={target}"]
    with subprocess.Popen(words, cwd=tmp_path, env={**environment(tmp_path), **source}) as process:
        while not 0 < moved_tags(target, tmp_path) < MANY:
            assert process.poll() is None
            time.sleep(0.03)
        process.send_signal(signal.SIGKILL)
    reached = moved_tags(target, tmp_path)
    assert 0 < reached < MANY
    if to == "postgresql":
        unfinished = cli("list", DATABASE_URL=empty)
        assert (unfinished.code, "is being moved" in unfinished.err) == (2, True)
    rename = "from django.contrib.auth.models import User; print(User.objects.update(first_name='Since'))"
    assert cli("manage", "shell", "-v0", "-c", rename, **source).out == "1\n"

    done = move(cli, target, **source)
    assert tables(done)["core_tag"][0] == MANY == moved_tags(target, tmp_path)
    written = done.records[-1]["written"]
    assert isinstance(written, int)
    assert written < MANY - reached + 1_000, "what was there was not written again"
    assert cli("manage", "move_database", f"--to={target}", **source).code == 2, "it is done"
    there = {} if source else {"DATABASE_URL": empty}
    assert "Since" in cli("manage", "shell", "-v0", "-c", NAMES, **there).out
    create = "from django.contrib.auth.models import User; print(User.objects.create(username='anna').pk)"
    assert int(cli("manage", "shell", "-v0", "-c", create, **there).out) > 1, "numbers go on"


def moved_tags(target: str, folder: Path) -> int:
    """How many are there by now."""
    if target == "sqlite":
        places = [folder / "data" / "database-move" / "index.sqlite3", folder / "data" / "index.sqlite3"]
        return next((_count(place) for place in places if place.exists()), 0)
    with psycopg.connect(target) as connection:
        if connection.execute("SELECT to_regclass('core_tag')").fetchone() == (None,):
            return 0
        (count,) = connection.execute("SELECT count(*) FROM core_tag").fetchone() or (0,)
        return int(count)


def _count(place: Path) -> int:
    try:
        with closing(sqlite3.connect(f"file:{place}?mode=ro", uri=True)) as database:
            (count,) = database.execute("SELECT count(*) FROM core_tag").fetchone()
    except sqlite3.OperationalError:  # it is being made
        return 0
    return int(count)


def test_references_are_checked_again_once_all_rows_are_there(cli: Type, collection: Path, empty: str) -> None:
    assert collection.is_dir()
    move(cli, empty)
    made = own_database(empty)
    assert cli("manage", "check", DATABASE_URL=made).code == 0
    assert references(empty) == references(made)
    other = own_database(empty)
    with psycopg.connect(other) as connection:
        connection.execute("CREATE TABLE mine (id integer)")
    assert "is not empty" in cli("manage", "move_database", f"--to={other}").err


def references(url: str) -> list[tuple[object, ...]]:
    with psycopg.connect(url) as connection:
        return connection.execute(
            "SELECT conrelid::regclass::text, conname, pg_get_constraintdef(oid), convalidated FROM pg_constraint "
            "WHERE contype = 'f' ORDER BY 1, 2"
        ).fetchall()


def test_a_move_that_cannot_begin_says_why(cli: Type, collection: Path, empty: str) -> None:
    assert "is SQLite already" in cli("manage", "move_database", "--to=sqlite").err
    assert "must begin with postgres://" in cli("manage", "move_database", "--to=mysql://h/x").err
    secret = cli("manage", "move_database", "--to=postgres://user:opensesame@host/name")
    assert (secret.code, "--to=-" in secret.err) == (2, True)
    assert b"opensesame" not in (collection / "index.sqlite3").read_bytes()
    away = cli("manage", "move_database", "--to=-", stdin="postgres://a@127.0.0.1:9/x\n")
    assert (away.code, "does not answer" in away.err) == (2, True)
    lock = os.open(collection / "run" / "orchestrator.lock", os.O_RDWR | os.O_CREAT)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert "end its `server`" in cli("manage", "move_database", f"--to={empty}").err
    finally:
        os.close(lock)
    assert moved_tags(empty, collection) == 0
