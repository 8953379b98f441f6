"""Owns data folders of earlier versions: real ones, and one with what is hard to come by in those."""

from __future__ import annotations

import sqlite3
import tarfile
from contextlib import closing
from pathlib import Path

REAL = Path(__file__).parent / "old_collections"

SCHEMA = """
CREATE TABLE django_migrations (id integer PRIMARY KEY, app text, name text, applied datetime);
INSERT INTO django_migrations VALUES (1, 'core', '0001_initial', '2020-09-13 12:26:40.123456');
CREATE TABLE core_snapshot (id char(32) PRIMARY KEY, url text UNIQUE, timestamp varchar(32) UNIQUE, title text,
    added datetime, updated datetime);
CREATE TABLE core_tag (id integer PRIMARY KEY, name text, slug text);
CREATE TABLE core_snapshot_tags (id integer PRIMARY KEY, snapshot_id char(32), tag_id integer);
CREATE TABLE core_archiveresult (id integer PRIMARY KEY, extractor text, output text, start_ts datetime,
    end_ts datetime, status text, snapshot_id char(32));
"""
FIRST, SECOND = "1600000000.123456", "1600000001.0"


def make_old_collection(root: Path) -> Path:
    for timestamp in (FIRST, SECOND):
        folder = root / "archive" / timestamp
        (folder / "example.com").mkdir(parents=True)
        (folder / "singlefile.html").write_text("<title>Pear</title>quince")
        (folder / "htmltotext.txt").write_text("quince")
        (folder / "example.com" / "index.html").write_text("<p>medlar")
        (folder / "notes.txt").write_text("mine")
        (folder / "outside").symlink_to("/etc/hostname")
    with closing(sqlite3.connect(root / "index.sqlite3")) as database:
        database.executescript(SCHEMA)
        again = "https://example.com/#2021-01-01T00:00:00+00:00"
        rows = [
            ("a" * 32, "https://example.com/", FIRST, "Pear", "2020-09-14 10:00:00.654321"),
            ("b" * 32, again, SECOND, None, "2021-01-01 00:00:00"),
        ]
        database.executemany("INSERT INTO core_snapshot VALUES (?, ?, ?, ?, ?, NULL)", rows)
        database.execute("INSERT INTO core_tag VALUES (1, 'fruit', 'fruit')")
        database.execute("INSERT INTO core_snapshot_tags VALUES (1, ?, 1)", ["a" * 32])
        results = [("singlefile", "singlefile.html", "succeeded"), ("pdf", "No browser", "failed")]
        database.executemany(
            "INSERT INTO core_archiveresult (extractor, output, status, start_ts, end_ts, snapshot_id) VALUES"
            " (?, ?, ?, '2020-09-14 10:00:01.000002', '2020-09-14 10:00:03', ?)",
            [(*one, "a" * 32) for one in results],
        )
        database.commit()
    return root


def unpack(version: str, folder: Path) -> Path:
    """A real collection, made by a release of that version; `old_collections/README.md` says how."""
    with tarfile.open(REAL / f"{version}.tar.xz") as archive:
        archive.extractall(folder)
    return folder / version


def add_pages(collection: Path, count: int) -> Path:
    """Have so many more pages in a collection of 0.7, as that version keeps them: each with its HTML and its text."""
    with closing(sqlite3.connect(collection / "index.sqlite3")) as database:
        for number in range(count):
            timestamp, key = f"{1_500_000_000 + number}.{number:06}", f"{number:032x}"
            date = f"2017-07-14 02:{number // 60 % 60:02}:{number % 60:02}.{number:06}"
            url, title = f"https://orchard{number}.example/", f"Orchard {number}"
            database.execute(
                "INSERT INTO core_snapshot (id, timestamp, title, added, url) VALUES (?, ?, ?, ?, ?)",
                [key, timestamp, title, date, url],
            )
            database.execute(
                "INSERT INTO core_archiveresult"
                " (cmd, pwd, status, output, start_ts, end_ts, snapshot_id, uuid, extractor)"
                " VALUES ('[]', '', 'succeeded', 'singlefile.html', ?, ?, ?, ?, 'singlefile')",
                [date, date, key, key],
            )
            folder = collection / "archive" / timestamp
            folder.mkdir()
            text = f"Medlar number {number} grows here."
            (folder / "singlefile.html").write_text(f"<!doctype html><title>{title}</title><h1>{title}</h1><p>{text}")
            (folder / "htmltotext.txt").write_text(text)
        database.commit()
    return collection
