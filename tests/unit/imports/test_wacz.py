"""A WACZ gives the pages that it lists, and nothing that is wrong with it as a zip does harm."""

import json
import shutil
import struct
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from archivebox.imports.page import NotReadableError
from archivebox.imports.readers.warc import open_wacz
from tests.unit.imports.archives import FILES, ImportedFolder, Said, assert_stops, read, write_warc

HOME = Said("http://a.example/", b"<title>Home</title><p>Words of quicksilver", page="p1")
OTHER = Said("http://a.example/other", b"<title>Other</title><p>Unlisted", page="p2")
PICTURE = Said("http://cdn.example/p.png", b"\x89PNG", "image/png", page="p1")


def write_wacz(
    path: Path, answers: list[Said], pages: Sequence[Mapping[str, object]], how: int = zipfile.ZIP_STORED
) -> Path:
    warc = path.with_suffix(".warc")
    write_warc(warc, answers)
    lines = [{"format": "json-pages-1.0", "id": "pages"}, *pages]
    with zipfile.ZipFile(path, "w", how) as archive:
        archive.write(warc, "archive/data.warc")
        archive.writestr("pages/pages.jsonl", "".join(json.dumps(line) + "\n" for line in lines))
    warc.unlink()
    return path


def test_a_wacz_of_another_program_is_read(tmp_path: Path) -> None:
    pages = read(open_wacz(FILES / "wget.wacz"))[0]
    assert [(page.url, page.title) for page in pages] == [("http://127.0.0.1:8765/", "The lighthouse keeper")]
    assert ImportedFolder(pages[0], tmp_path).replay("http://127.0.0.1:8765/lamp.png")[:2] == (200, "image/png")


@pytest.mark.parametrize("how", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_the_list_says_what_is_a_page_and_what_it_is_called(tmp_path: Path, how: int) -> None:
    listed = {
        "id": "p1",
        "url": HOME.url,
        "ts": "2024-05-06T07:08:10Z",
        "title": "As listed",
        "text": "Said by scripts " * 9,
    }
    pages = read(open_wacz(write_wacz(tmp_path / "a.wacz", [HOME, PICTURE, OTHER], [listed], how)))[0]
    assert [(page.url, page.title, page.captured_at.second) for page in pages] == [(HOME.url, "As listed", 10)]
    page = ImportedFolder(pages[0], tmp_path / "page")
    assert page.urls == [HOME.url, PICTURE.url]
    assert "Said by scripts" in page.text


def test_a_listed_page_that_is_not_there_is_named(tmp_path: Path) -> None:
    gone = {"url": "http://b.example/", "ts": "2024-05-06T07:08:10Z"}
    reader = open_wacz(write_wacz(tmp_path / "a.wacz", [HOME], [{"url": HOME.url}, gone]))
    pages, others = read(reader)
    assert ([page.url for page in pages], [one.item for one in others]) == ([HOME.url], ["http://b.example/"])
    assert reader
    assert reader.report().pages == 1


def test_what_is_asked_for_until_the_next_page_belongs_to_a_page(tmp_path: Path) -> None:
    answers = [
        Said(HOME.url, HOME.body),
        Said("http://cdn.example/by-script.png", b"\x89PNG", "image/png", date="2024-05-06T07:08:11Z"),
        Said(OTHER.url, OTHER.body, date="2024-05-06T07:09:00Z"),
        Said("http://cdn.example/later.png", b"\x89PNG 2", "image/png", date="2024-05-06T07:09:01Z"),
    ]
    pages = read(open_wacz(write_wacz(tmp_path / "a.wacz", answers, [{"url": HOME.url}, {"url": OTHER.url}])))[0]
    urls = [ImportedFolder(page, tmp_path / str(number)).urls for number, page in enumerate(pages)]
    assert urls == [[answers[0].url, answers[1].url], [answers[2].url, answers[3].url]]


def test_without_a_list_the_pages_are_those_of_the_warc(tmp_path: Path) -> None:
    pages = read(open_wacz(write_wacz(tmp_path / "a.wacz", [HOME, PICTURE, OTHER], [])))[0]
    assert [page.url for page in pages] == [HOME.url, OTHER.url]


def test_names_that_lead_outside_write_nothing(tmp_path: Path) -> None:
    write_warc(tmp_path / "a.warc", [HOME])
    with zipfile.ZipFile(tmp_path / "a.wacz", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.write(tmp_path / "a.warc", "../../outside.warc")
        archive.writestr("/etc/outside", "x")
    pages = read(open_wacz(tmp_path / "a.wacz"))[0]
    assert [page.url for page in pages] == [HOME.url]
    assert not list(tmp_path.parent.parent.glob("outside*"))


def test_what_is_no_wacz_is_refused(tmp_path: Path) -> None:
    whole = (FILES / "wget.wacz").read_bytes()
    for number, content in enumerate((b"", b"PK\x03\x04 no zip", whole[: len(whole) // 2])):
        path = tmp_path / f"{number}.wacz"
        path.write_bytes(content)
        with pytest.raises(NotReadableError, match="cannot be read as a WACZ"):
            read(open_wacz(path))


def test_a_wacz_that_names_others_says_so(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.wacz", "w") as archive:
        archive.writestr("datapackage.json", json.dumps({"profile": "multi-wacz-package"}))
    with pytest.raises(NotReadableError, match="names other WACZ files"):
        read(open_wacz(tmp_path / "a.wacz"))


def test_files_that_lie_over_one_another_are_refused(tmp_path: Path) -> None:
    """A zip bomb of many names for the same bytes."""
    write_warc(tmp_path / "a.warc", [HOME])
    with zipfile.ZipFile(tmp_path / "a.wacz", "w") as archive:
        for number in range(50):
            archive.write(tmp_path / "a.warc", f"archive/{number:02}.warc")
    data = (tmp_path / "a.wacz").read_bytes()
    size = (tmp_path / "a.warc").stat().st_size
    start = data.index(b"PK\x01\x02")
    first, central = data[: size + 45], data[start:]
    parts = central.split(b"PK\x01\x02")[1:]
    end = parts[-1].index(b"PK\x05\x06")
    tail = parts[-1][end:]
    parts[-1] = parts[-1][:end]
    directory = b"".join(b"PK\x01\x02" + part[:38] + struct.pack("<I", 0) + part[42:] for part in parts)
    tail = tail[:12] + struct.pack("<II", len(directory), len(first)) + tail[20:]
    shutil.rmtree(tmp_path / "x", ignore_errors=True)
    (tmp_path / "a.wacz").write_bytes(first + directory + tail)
    with pytest.raises(NotReadableError, match="over one another"):
        read(open_wacz(tmp_path / "a.wacz"))


def test_unpacking_a_wacz_ends_when_it_is_to_stop(tmp_path: Path) -> None:
    reader = open_wacz(write_wacz(tmp_path / "a.wacz", [HOME], [{"url": HOME.url}], zipfile.ZIP_DEFLATED))
    assert_stops(reader)
    assert [path.name for path in reader._scratch.path.iterdir()] == ["0.warc"]  # type: ignore[union-attr]


def test_a_zip_bomb_is_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.wacz", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("archive/a.warc", b"WARC/1.1\r\n" + bytes(3_000_000))
    with pytest.raises(NotReadableError):
        open_wacz(tmp_path / "a.wacz").report()  # type: ignore[union-attr]
