"""What is read of an earlier ArchiveBox's folder, before anything is written."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from archivebox.contract.outcomes import Status
from archivebox.imports.page import ImportedOutput, ImportedPage, NotImported
from archivebox.imports.readers import open_reader
from tests.old_collection import FIRST, SECOND, make_old_collection

LATER = "1600000000.5"


def pages(source: Path, after: str = "") -> dict[str, ImportedPage]:
    return {one.key: one for one in open_reader(source).pages(after) if isinstance(one, ImportedPage)}


def output(page: ImportedPage, plugin: str) -> ImportedOutput:
    return next(one for one in page.outputs if one.plugin == plugin)


def capture_first_again(source: Path) -> None:
    """As `add --overwrite` of 0.7: another folder and other results, of the same row."""
    folder = source / "archive" / LATER
    folder.mkdir()
    (folder / "singlefile.html").write_text("<title>Pear</title>ripe")
    with closing(sqlite3.connect(source / "index.sqlite3")) as database:
        database.execute("ALTER TABLE core_archiveresult ADD COLUMN pwd text")
        database.execute("UPDATE core_archiveresult SET pwd = ?", [f"/data/archive/{FIRST}"])
        database.execute(
            "INSERT INTO core_archiveresult (extractor, output, status, start_ts, end_ts, snapshot_id, pwd) VALUES"
            " ('singlefile', 'singlefile.html', 'succeeded', '2022-01-01 00:00:00', '2022-01-01 00:00:09', ?, ?)",
            ["a" * 32, f"/data/archive/{LATER}"],
        )
        database.commit()


def test_a_page_that_was_archived_again_into_its_row_becomes_two_versions(tmp_path: Path) -> None:
    capture_first_again(make_old_collection(tmp_path))
    found = pages(tmp_path)
    assert list(found) == [FIRST, LATER, SECOND]
    assert list(pages(tmp_path, FIRST)) == [LATER, SECOND]
    assert list(pages(tmp_path, LATER)) == [SECOND]
    assert open_reader(tmp_path).report().pages == 3
    assert (found[FIRST].url, found[FIRST].tags) == (found[LATER].url, found[LATER].tags)
    assert [found[key].captured_at.year for key in (FIRST, LATER)] == [2020, 2022]
    assert [Path(output(found[key], "singlefile").files[0].source).parent.name for key in found] == list(found)
    assert not any(isinstance(one, NotImported) and LATER in one.item for one in open_reader(tmp_path).pages())


@pytest.mark.parametrize(("said", "status"), [("media", Status.NORESULTS), ("media/plum.mp4", Status.FAILED)])
def test_an_extractor_that_left_its_folder_empty_has_no_results(said: str, status: Status, tmp_path: Path) -> None:
    make_old_collection(tmp_path)
    with closing(sqlite3.connect(tmp_path / "index.sqlite3")) as database:
        database.execute("UPDATE core_archiveresult SET extractor = 'media', status = 'succeeded', output = ?", [said])
        database.commit()
    assert output(pages(tmp_path)[FIRST], "ytdlp").status is status


@pytest.mark.parametrize("content", [b"", b"no database" * 1000])
def test_where_the_database_is_lost_the_index_of_each_page_is_read_and_that_is_said(
    content: bytes, tmp_path: Path
) -> None:
    make_old_collection(tmp_path)
    (tmp_path / "index.sqlite3").write_bytes(content)
    index = f'{{"url": "https://example.com/", "timestamp": "{FIRST}", "title": "Pear"}}'
    (tmp_path / "archive" / FIRST / "index.json").write_text(index)
    report = open_reader(tmp_path).report()
    assert report.pages == 1
    assert any("index.sqlite3 is empty or damaged" in note for note in report.notes)
    assert pages(tmp_path)[FIRST].title == "Pear"


def test_the_text_of_a_page_of_which_wget_alone_left_a_copy_is_read(tmp_path: Path) -> None:
    make_old_collection(tmp_path)
    for name in ("singlefile.html", "htmltotext.txt"):
        (tmp_path / "archive" / FIRST / name).unlink()
    page = pages(tmp_path)[FIRST]
    text = output(page, "htmltotext").files[0]
    assert "medlar" in Path(text.source).read_text()
