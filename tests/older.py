"""Owns data folders as older ArchiveBoxes and other programs leave them: small, with their tables and journal."""

from __future__ import annotations

import hashlib
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

_DJANGO = """
CREATE TABLE django_migrations (id integer PRIMARY KEY AUTOINCREMENT, app varchar(255), name varchar(255),
    applied datetime);
CREATE TABLE django_content_type (id integer PRIMARY KEY, app_label varchar(100), model varchar(100));
CREATE TABLE auth_user (id integer PRIMARY KEY, username varchar(150), password varchar(128));
CREATE TABLE django_session (session_key varchar(40) PRIMARY KEY, session_data text, expire_date datetime);
"""
_BEFORE_0_8 = """
CREATE TABLE core_snapshot (id char(32) PRIMARY KEY, url varchar(200) UNIQUE, timestamp varchar(32) UNIQUE,
    title varchar(128), added datetime, updated datetime);
CREATE TABLE core_tag (id integer PRIMARY KEY, name varchar(100), slug varchar(100));
CREATE TABLE core_snapshot_tags (id integer PRIMARY KEY, snapshot_id char(32), tag_id integer);
CREATE TABLE core_archiveresult (id integer PRIMARY KEY, cmd text, pwd varchar(256), cmd_version varchar(32),
    output varchar(512), start_ts datetime, end_ts datetime, status varchar(16), extractor varchar(32),
    snapshot_id char(32), uuid char(32));
INSERT INTO core_snapshot VALUES ('6f7e', 'https://example.com/', '1600000000.0', 'Example', '2020-09-13', NULL);
INSERT INTO django_migrations (app, name) VALUES ('core', '0001_initial'), ('core', '0022_auto_20231023_2008');
"""
_RECENT = """
CREATE TABLE machine_machine (id char(32) PRIMARY KEY, guid varchar(64), hostname varchar(63), config text);
CREATE TABLE machine_binary (id char(32) PRIMARY KEY, machine_id char(32), name varchar(63), abspath varchar(255));
CREATE TABLE machine_process (id char(32) PRIMARY KEY, machine_id char(32), cmd text, pid integer, status varchar(16));
CREATE TABLE crawls_crawl (id char(32) PRIMARY KEY, urls text, max_depth integer, status varchar(15),
    retry_at datetime);
CREATE TABLE core_snapshot (id char(32) PRIMARY KEY, url text, timestamp varchar(32), crawl_id char(32),
    status varchar(15), retry_at datetime, current_step integer);
CREATE TABLE core_archiveresult (id char(32) PRIMARY KEY, snapshot_id char(32), plugin varchar(32),
    hook_name varchar(255), status varchar(15), output_str text);
INSERT INTO core_snapshot VALUES ('6f7e', 'https://example.com/', '1700000000.0', 'a1', 'sealed', NULL, 9);
INSERT INTO django_migrations (app, name) VALUES ('core', '0001_initial'), ('crawls', '0001_initial'),
    ('machine', '0001_initial'), ('core', '0032_alter_archiveresult_binary_and_more');
"""
_NOT_OURS = "CREATE TABLE moz_places (id integer PRIMARY KEY, url text); INSERT INTO moz_places VALUES (1, 'about:');"

KINDS = ("0.7", "0.9", "0.9 after a crash", "another program")


def make(folder: Path, kind: str) -> Path:
    """A data folder of one of ``KINDS``, with what else lies in it."""
    for name in ("archive/1600000000.0", "logs", "sources"):
        (folder / name).mkdir(parents=True)
    (folder / "archive/1600000000.0/index.json").write_text("{}")
    (folder / "logs/errors.log").write_text("")
    (folder / "ArchiveBox.conf").write_text("[SERVER_CONFIG]\nSECRET_KEY = abc\n")
    script = {"0.7": _DJANGO + _BEFORE_0_8, "another program": _NOT_OURS}.get(kind, _DJANGO + _RECENT)
    _write(folder / "index.sqlite3", script, wal=kind.startswith("0.9"), crash="crash" in kind)
    return folder


def _write(path: Path, script: str, *, wal: bool, crash: bool) -> None:
    """``crash``: all tables are in the write-ahead log alone, as its writer's death leaves them."""
    with closing(sqlite3.connect(path)) as database:
        if wal:
            database.execute("PRAGMA journal_mode=WAL")
        database.executescript(script)
        if crash:
            for name in (path.name, f"{path.name}-wal"):
                shutil.copyfile(path.with_name(name), path.with_name(f"{name}.kept"))
    if crash:
        for kept in path.parent.glob("*.kept"):
            kept.replace(kept.with_suffix(""))


def digest(folder: Path) -> dict[str, str]:
    """Every file and folder below: its content and mode, by path."""
    found: dict[str, str] = {}
    for path in folder.rglob("*"):
        content = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "folder"
        found[str(path.relative_to(folder))] = f"{path.stat().st_mode:o} {path.stat().st_mtime_ns} {content}"
    return found
