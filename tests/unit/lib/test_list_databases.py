"""Bookmarks and visits are read from a browser's databases, whatever the browser or somebody hostile does to them."""

import hashlib
import io
import os
import sqlite3
import tracemalloc
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from archivebox.lib.links.formats import ListFormat, detect, read_links
from archivebox.lib.links.link import Link, LinkFileError
from tests.browser_databases import HISTORY, PLACES, made

FIRST = Link(
    0, "https://a.example/", "Hello, world", ("design", "web tools", "Work", "Research"),
    date="2023-11-14T22:13:20.123456+00:00",
)  # fmt: skip
SECOND = Link(0, "https://b.example/", "Second", date="2023-11-14T22:13:21+00:00")
VISITED = [
    Link(0, "https://a.example/", "As the page says", date="2023-11-14T22:15:00.000001+00:00"),
    Link(0, "https://visited.example/", date="2023-11-14T22:16:40+00:00"),
]


def read(path: Path, kind: ListFormat = ListFormat.AUTO) -> list[Link]:
    with path.open("rb") as file:
        return list(read_links(file, kind))


@pytest.fixture
def places(tmp_path: Path) -> Path:
    return made(tmp_path / "places.sqlite", PLACES)


def test_bookmarks_of_firefox_have_their_tags_folders_and_first_date(places: Path) -> None:
    assert detect(places.read_bytes()[:65_536]) is ListFormat.SQLITE
    assert read(places) == [FIRST, SECOND]


def test_visits_of_firefox_are_read_when_asked_for(places: Path) -> None:
    assert read(places, ListFormat.HISTORY) == VISITED


@pytest.mark.parametrize("kind", [ListFormat.AUTO, ListFormat.HISTORY])
def test_a_history_of_chrome_gives_each_page_with_its_last_visit(tmp_path: Path, kind: ListFormat) -> None:
    assert read(made(tmp_path / "History", HISTORY), kind) == [
        Link(0, "https://a.example/", "Hello, world", date="2023-11-14T22:13:20.123456+00:00"),
        Link(0, "https://b.example/", date="2023-11-14T22:13:21+00:00"),
    ]


def test_other_lists_are_read_as_ever_where_history_is_asked_for() -> None:
    assert list(read_links(io.BytesIO(b"https://a.example/\n"), ListFormat.HISTORY)) == [Link(1, "https://a.example/")]


def test_a_database_that_was_uploaded_has_no_place_and_is_read(places: Path) -> None:
    upload = io.BytesIO(places.read_bytes())
    upload.name = "/etc/passwd"
    assert list(read_links(upload)) == [FIRST, SECOND]


def digests(folder: Path) -> dict[str, str]:
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(folder.iterdir())}


@pytest.fixture
def running(places: Path) -> Iterator[sqlite3.Connection]:
    """A Firefox that holds its database for itself and has not yet written its last bookmarks into it."""
    browser = sqlite3.connect(places, isolation_level=None)
    for setting in ("locking_mode = EXCLUSIVE", "journal_mode = WAL", "wal_autocheckpoint = 0"):
        browser.execute(f"PRAGMA {setting}")
    browser.execute("UPDATE moz_bookmarks SET title = 'Just renamed' WHERE guid = 'b1'")
    yield browser
    browser.close()


def test_a_running_firefox_is_read_as_it_stands_and_left_alone(running: sqlite3.Connection, places: Path) -> None:
    before = digests(places.parent)
    assert "places.sqlite-wal" in before
    with pytest.raises(sqlite3.OperationalError, match="locked"):
        sqlite3.connect(places, timeout=0).execute("SELECT * FROM moz_places")
    assert [link.title for link in read(places)] == ["Just renamed", "Second"]
    assert digests(places.parent) == before
    assert running.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def writing(history: Path) -> sqlite3.Connection:
    """A Chromium in the middle of a transaction, parts of which are in the file already."""
    browser = sqlite3.connect(history, isolation_level=None)
    for statement in ("PRAGMA locking_mode = EXCLUSIVE", "PRAGMA cache_size = 1", "BEGIN EXCLUSIVE"):
        browser.execute(statement)
    rows = ((f"https://later.example/{number}", "x" * 500, 1) for number in range(1_000))
    browser.executemany("INSERT INTO urls (url, title, last_visit_time) VALUES (?, ?, ?)", rows)
    return browser


def test_what_a_running_chrome_has_not_committed_is_not_read(tmp_path: Path) -> None:
    history = made(tmp_path / "History", HISTORY)
    browser = writing(history)
    before = digests(tmp_path)
    assert history.stat().st_size > 100_000, "pages that are not committed are in the file already"
    assert [link.url for link in read(history)] == ["https://a.example/", "https://b.example/"]
    assert digests(tmp_path) == before
    browser.close()


def test_text_that_is_no_utf8_or_holds_nul_is_kept_as_far_as_it_goes(places: Path) -> None:
    row = "('https://c.example/', CAST(x'41ff0042' AS TEXT), 9)"
    more = f"INSERT INTO moz_places (url, title, last_visit_date) VALUES {row}"
    titles = [link.title for link in read(made(places, more), ListFormat.HISTORY)]
    assert titles[-1] == "A\ufffd\ufffdB"


def test_a_row_without_a_url_is_reported(places: Path) -> None:
    made(places, "UPDATE moz_places SET url = NULL WHERE id = 2")
    assert [link.problem for link in read(places)] == ["", "its row names none"]


@pytest.mark.parametrize(
    ("script", "sentence"),
    [
        ("CREATE TABLE cookies (x)", "neither Firefox's places.sqlite nor a History"),
        ("CREATE TABLE core_snapshot (x)", "of an ArchiveBox collection"),
        ("CREATE TABLE urls (x); CREATE TABLE visits (x)", "is not understood .no such column"),
        ("CREATE TABLE urls (x); CREATE VIEW visits AS SELECT 1", "neither"),
        (
            "CREATE TABLE visits (x); CREATE VIRTUAL TABLE urls USING fts5(url, title, last_visit_time, hidden)",
            "neither",
        ),
        (
            """CREATE TABLE moz_places (id, url, title, hidden, last_visit_date);
            CREATE TABLE moz_bookmarks (id, type, fk, parent, title, dateAdded, guid AS (zeroblob(900000000)));
            INSERT INTO moz_bookmarks (type) VALUES (2)""",
            "neither",
        ),
        (
            """CREATE TABLE visits (x); CREATE TABLE urls (url, title, hidden, last_visit_time);
            INSERT INTO urls VALUES (zeroblob(17000000), '', 0, 1)""",
            "is not understood .string or blob too big",
        ),
    ],
)
def test_other_databases_and_hostile_schemas_are_refused(tmp_path: Path, script: str, sentence: str) -> None:
    with pytest.raises(LinkFileError, match=sentence):
        read(made(tmp_path / "some.sqlite", script))


def test_triggers_and_indexes_of_a_hostile_schema_are_not_run(places: Path) -> None:
    made(places, """CREATE TRIGGER t AFTER INSERT ON moz_places BEGIN DELETE FROM moz_places; END;
        CREATE VIEW moz_origins AS SELECT load_extension('/tmp/x.so');
        CREATE INDEX slow ON moz_places (length(hex(url)))""")  # fmt: skip
    assert read(places) == [FIRST, SECOND]


def test_a_journal_that_has_sqlite_delete_a_file_is_refused(tmp_path: Path) -> None:
    """It names the file at its end (pager.c, pager_delsuper), for transactions over several databases."""
    history, precious = made(tmp_path / "History", HISTORY), tmp_path / "precious"
    precious.write_bytes(b"kept\0")
    with closing(writing(history)), Path(f"{history}-journal").open("ab") as journal:
        name = os.fsencode(precious)
        journal.write((0x40000000 // 4096 + 1).to_bytes(4, "big") + name + len(name).to_bytes(4, "big"))
        journal.write(sum(name).to_bytes(4, "big") + bytes.fromhex("d9d505f920a163d7"))
        journal.flush()
        with pytest.raises(LinkFileError, match="names another file"):
            read(history)
        assert precious.exists()


def test_what_is_no_file_beside_a_database_is_not_read(places: Path) -> None:
    os.mkfifo(f"{places}-wal")
    Path(f"{places}-journal").mkdir()
    assert read(places) == [FIRST, SECOND]


def test_a_small_database_that_claims_millions_of_rows_is_refused(tmp_path: Path) -> None:
    """Pages of its tree name one page 80 times, four deep (file format of SQLite, 1.6): 160 million rows."""
    history = made(tmp_path / "History", f"PRAGMA page_size = 512; {HISTORY}")
    with closing(sqlite3.connect(history)) as database:
        (root,) = database.execute("SELECT rootpage FROM sqlite_master WHERE name = 'urls'").fetchone()
    content = bytearray(history.read_bytes())
    last = len(content) // 512
    leaf = content[(root - 1) * 512 : root * 512]
    content[(root - 1) * 512 : root * 512] = inner(last + 1)
    content += inner(last + 2) + inner(last + 3) + inner(last + 4) + leaf
    content[28:32] = (last + 4).to_bytes(4, "big")
    history.write_bytes(content)
    with pytest.raises(LinkFileError, match="more work to read"):
        read(history)


def inner(child: int) -> bytes:
    """A page inside of a tree, all of whose 80 cells are one, before its last child."""
    cell = child.to_bytes(4, "big") + b"\x01"
    head = b"\x05\0\0" + (80).to_bytes(2, "big") + (507).to_bytes(2, "big") + b"\0" + child.to_bytes(4, "big")
    return head + (507).to_bytes(2, "big") * 80 + bytes(512 - 12 - 160 - 5) + cell


@pytest.mark.parametrize("damage", ["cut", "overwritten", "nothing behind its mark"])
def test_a_broken_database_is_said_to_be_one(places: Path, damage: str) -> None:
    content = places.read_bytes()
    broken = {"cut": content[:5_000], "overwritten": content[:4_096] + b"\xff" * (len(content) - 4_096)}
    places.write_bytes(broken.get(damage, content[:16]))
    with pytest.raises(LinkFileError, match=r"is a broken database|neither"):
        read(places)


def test_folders_in_a_ring_end(places: Path) -> None:
    made(places, "UPDATE moz_bookmarks SET parent = 8 WHERE id = 7")
    assert read(places)[0].tags == ("design", "web tools", "Work", "Research")


def test_a_large_history_is_read_row_by_row(tmp_path: Path) -> None:
    rows = """WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10000)
        INSERT INTO urls (url, title, last_visit_time)
        SELECT 'https://many.example/' || i, hex(zeroblob(1000)), 13344473600000000 FROM n;"""
    history = made(tmp_path / "History", HISTORY + rows)
    assert history.stat().st_size > 20_000_000
    tracemalloc.start()
    with history.open("rb") as file:
        assert sum(1 for _ in read_links(file)) == 10_002
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4_000_000
