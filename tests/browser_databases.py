"""Owns the databases that tests have of browsers.

The tables are those of Firefox (nsPlacesTables.h) and Chromium (url_database.cc, visit_database.cc), as far as they
matter here; Firefox keeps its database in WAL mode, Chromium its History with a rollback journal.
"""

import sqlite3
from contextlib import closing
from pathlib import Path

PLACES = """
CREATE TABLE moz_places (id INTEGER PRIMARY KEY, url LONGVARCHAR, title LONGVARCHAR, rev_host LONGVARCHAR,
    visit_count INTEGER DEFAULT 0, hidden INTEGER DEFAULT 0 NOT NULL, typed INTEGER DEFAULT 0 NOT NULL,
    frecency INTEGER DEFAULT -1 NOT NULL, last_visit_date INTEGER, guid TEXT, foreign_count INTEGER DEFAULT 0 NOT NULL,
    url_hash INTEGER DEFAULT 0 NOT NULL, description TEXT, preview_image_url TEXT, site_name TEXT, origin_id INTEGER);
CREATE TABLE moz_bookmarks (id INTEGER PRIMARY KEY, type INTEGER, fk INTEGER DEFAULT NULL, parent INTEGER,
    position INTEGER, title LONGVARCHAR, keyword_id INTEGER, folder_type TEXT, dateAdded INTEGER, lastModified INTEGER,
    guid TEXT, syncStatus INTEGER NOT NULL DEFAULT 0, syncChangeCounter INTEGER NOT NULL DEFAULT 1);
CREATE INDEX moz_bookmarks_itemindex ON moz_bookmarks (fk, type);
CREATE UNIQUE INDEX moz_bookmarks_guid_uniqueindex ON moz_bookmarks (guid);
INSERT INTO moz_bookmarks (id, type, parent, title, guid) VALUES
    (1, 2, 0, '', 'root________'), (2, 2, 1, 'menu', 'menu________'), (3, 2, 1, 'toolbar', 'toolbar_____'),
    (4, 2, 1, 'tags', 'tags________'), (5, 2, 1, 'unfiled', 'unfiled_____'), (6, 2, 1, 'mobile', 'mobile______'),
    (7, 2, 3, 'Work', 'f1'), (8, 2, 7, 'Research', 'f2'), (9, 2, 4, 'design', 't1'), (10, 2, 4, 'web tools', 't2');
INSERT INTO moz_places (id, url, title, hidden, last_visit_date, guid) VALUES
    (1, 'https://a.example/', 'As the page says', 0, 1700000100000001, 'p1'),
    (2, 'https://b.example/', 'Second', 0, NULL, 'p2'), (3, 'place:type=6&sort=14', NULL, 0, NULL, 'p3'),
    (4, 'https://visited.example/', NULL, 0, 1700000200000000, 'p4'),
    (5, 'https://hidden.example/', 'A frame', 1, 1700000300000000, 'p5'),
    (6, 'about:config', NULL, 0, 1700000300000000, 'p6'), (7, 'https://untagged.example/', NULL, 0, NULL, 'p7');
INSERT INTO moz_bookmarks (type, fk, parent, title, dateAdded, guid) VALUES
    (1, 1, 8, 'Hello, world', 1700000000123456, 'b1'), (1, 1, 9, NULL, 1700000050000000, 'b2'),
    (1, 1, 10, NULL, 1700000050000000, 'b3'), (1, 1, 5, 'Again', 1700000040000000, 'b4'),
    (1, 2, 5, NULL, 1700000001000000, 'b5'), (1, 3, 2, 'Recent Tags', 1, 'b6'), (3, NULL, 2, NULL, 1, 'b7'),
    (1, 7, 9, NULL, 1700000050000000, 'b8');
"""
HISTORY = """
CREATE TABLE urls(id INTEGER PRIMARY KEY AUTOINCREMENT,url LONGVARCHAR,title LONGVARCHAR,visit_count INTEGER DEFAULT 0
    NOT NULL,typed_count INTEGER DEFAULT 0 NOT NULL,last_visit_time INTEGER NOT NULL,hidden INTEGER DEFAULT 0 NOT NULL);
CREATE TABLE visits(id INTEGER PRIMARY KEY AUTOINCREMENT,url INTEGER NOT NULL,visit_time INTEGER NOT NULL);
INSERT INTO urls (url, title, last_visit_time, hidden) VALUES
    ('https://a.example/', 'Hello, world', 13344473600123456, 0), ('chrome://settings/', '', 13344473600123456, 0),
    ('https://hidden.example/', '', 13344473600123456, 1), ('https://b.example/', '', 13344473601000000, 0);
"""


def made(path: Path, script: str) -> Path:
    with closing(sqlite3.connect(path)) as database:
        database.executescript(script)
    return path
