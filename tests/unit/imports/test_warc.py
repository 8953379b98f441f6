"""The pages of a WARC are listed, each with what belongs to it, and shown; what is no page is not."""

import gzip
import zlib
from pathlib import Path

import brotli
import pytest

from archivebox.contract.outcomes import Status
from archivebox.imports.answers import UNPACKED_ALWAYS
from archivebox.imports.page import NotReadableError
from archivebox.imports.readers.warc import open_warc, warc_reader
from tests.unit.imports.archives import DATE, FILES, ImportedFolder, Said, assert_stops, read, write_revisit, write_warc

SITE = "http://127.0.0.1:8765"
PAGE = Said("http://a.example/", b"<title>A page</title><p>Words of quicksilver<img src=/p.png>")
PICTURE = Said("http://a.example/p.png", b"\x89PNG picture", "image/png")
LATER = "2024-06-01T00:00:00Z"


def test_pages_of_wget_are_listed_with_redirects_and_without_frames() -> None:
    pages, others = read(open_warc(FILES / "wget.warc.gz"))
    assert [(page.url, page.final_url, page.title) for page in pages] == [
        (f"{SITE}/old", f"{SITE}/", "The lighthouse keeper"),
        (f"{SITE}/sub/second.html", "", "The harbour"),
    ]
    assert others == []


def test_a_page_of_wget_is_replayed_with_its_pictures_and_frames(tmp_path: Path) -> None:
    page = ImportedFolder(read(open_warc(FILES / "wget.warc.gz"))[0][0], tmp_path)
    status, mimetype, body = page.replay(f"{SITE}/")
    assert (status, mimetype) == (200, "text/html; charset=utf-8")
    assert b"The lighthouse keeper" in body
    assert page.replay(f"{SITE}/old")[0] == 302
    assert page.replay(f"{SITE}/lamp.png")[:2] == (200, "image/png")
    assert page.replay(f"{SITE}/stripe.png")[2].startswith(b"\x89PNG")
    assert b"quicksilver" in page.replay(f"{SITE}/frame.html")[2]
    assert page.replay(f"{SITE}/sub/second.html")[0] == 404, "a page of its own"
    assert "spiral stairs" in page.text


def test_cookies_are_left_out(tmp_path: Path) -> None:
    answer = Said("http://a.example/", b"<p>x", headers={"Set-Cookie": "a=secret"}, asked={"Cookie": "a=secret"})
    write_warc(tmp_path / "a.warc", [answer])
    folder = ImportedFolder(read(open_warc(tmp_path / "a.warc"))[0][0], tmp_path / "page").folder
    packed = next((folder / "warc").glob("*.gz")).read_bytes()
    records = b"".join(gzip.decompress(b"\x1f\x8b\x08" + part) for part in packed.split(b"\x1f\x8b\x08")[1:])
    assert b"Content-Type" in records
    assert b"secret" not in records + (folder / "responses" / "index.jsonl").read_bytes()


def test_the_date_has_its_microseconds(tmp_path: Path) -> None:
    write_warc(tmp_path / "a.warc", [PAGE])
    assert read(open_warc(tmp_path / "a.warc"))[0][0].captured_at.isoformat() == "2024-05-06T07:08:09.123456+00:00"


@pytest.mark.parametrize(
    "answer",
    [
        Said("http://a.example/x", b"{}", "application/json"),
        Said("http://a.example/x", b"", "image/png"),
        Said("http://a.example/x", b"<p>gone", status=404),
        Said("http://a.example/x", b"<p>part", asked={"X-Requested-With": "XMLHttpRequest"}),
        Said("http://a.example/x", b"<p>part", asked={"Sec-Fetch-Dest": "empty"}),
        Said("http://a.example/x", b"<p>frame", asked={"Sec-Fetch-Dest": "iframe"}),
        Said("http://a.example/x", b"<p>sent", method="POST"),
        Said("http://a.example/x", b"<p>embedded", hops="LLE"),
        Said("dns:a.example", b"1.2.3.4", "text/dns"),
    ],
    ids=["json", "picture", "404", "xhr", "fetch", "iframe", "post", "embed", "dns"],
)
def test_what_is_no_page_is_not_listed(tmp_path: Path, answer: Said) -> None:
    write_warc(tmp_path / "a.warc", [PAGE, answer])
    assert [page.url for page in read(open_warc(tmp_path / "a.warc"))[0]] == ["http://a.example/"]


@pytest.mark.parametrize(
    "answer",
    [
        Said("http://a.example/x", b"\x89PNG", "image/png", asked={"Sec-Fetch-Dest": "document"}),
        Said("http://a.example/x", b"%PDF-1.4", "application/pdf"),
        Said("http://a.example/x", b"<p>linked", hops="LL"),
    ],
    ids=["navigated", "pdf", "linked"],
)
def test_what_was_opened_by_itself_is_a_page(tmp_path: Path, answer: Said) -> None:
    write_warc(tmp_path / "a.warc", [PAGE, answer])
    assert [page.url for page in read(open_warc(tmp_path / "a.warc"))[0]][1:] == ["http://a.example/x"]


def test_what_was_asked_for_by_a_script_of_the_page_belongs_to_it(tmp_path: Path) -> None:
    asked = {"Referer": "http://a.example/"}
    write_warc(tmp_path / "a.warc", [PAGE, Said("http://b.example/api", b"{}", "application/json", asked=asked)])
    page = ImportedFolder(read(open_warc(tmp_path / "a.warc"))[0][0], tmp_path / "page")
    assert page.urls == ["http://a.example/", "http://b.example/api"]


def test_each_version_of_a_page_has_the_pictures_of_its_time(tmp_path: Path) -> None:
    later = Said(PAGE.url, b"<p>Later<img src=/p.png>", date=LATER)
    picture = Said(PICTURE.url, b"\x89PNG later", "image/png", date=LATER)
    write_warc(tmp_path / "a.warc", [PAGE, PICTURE, later, picture])
    pages = read(open_warc(tmp_path / "a.warc"))[0]
    shown = [ImportedFolder(page, tmp_path / str(number)).replay(PICTURE.url)[2] for number, page in enumerate(pages)]
    assert shown == [b"\x89PNG picture", b"\x89PNG later"]


@pytest.mark.parametrize(
    ("coding", "pack"),
    [("gzip", gzip.compress), ("deflate", zlib.compress), ("br", brotli.compress), ("gzip", bytes)],
    ids=["gzip", "deflate", "br", "decoded already"],
)
def test_bodies_are_decoded(tmp_path: Path, coding: str, pack: object) -> None:
    body = b"<p>Words of quicksilver " + b"many " * 100
    packed = pack(body)  # type: ignore[operator]
    chunked = b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in (packed[:7], packed[7:])) + b"0\r\n\r\n"
    headers = {"Content-Encoding": coding, "Transfer-Encoding": "chunked"}
    write_warc(tmp_path / "a.warc", [Said("http://a.example/", chunked, headers=headers)])
    page = ImportedFolder(read(open_warc(tmp_path / "a.warc"))[0][0], tmp_path / "page")
    assert "quicksilver" in page.text
    assert b"quicksilver" in page.replay("http://a.example/")[2]


def test_a_page_in_a_coding_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    write_warc(tmp_path / "a.warc", [Said("http://a.example/", b"(\xb5/\xfd", headers={"Content-Encoding": "zstd"})])
    pages, others = read(open_warc(tmp_path / "a.warc"))
    assert pages == []
    assert [(one.item, "zstd" in one.reason) for one in others] == [("http://a.example/", True)]


# --- revisits -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("by", ["id", "url", "nothing"])
def test_a_revisit_is_a_version_with_the_body_it_speaks_of(tmp_path: Path, by: str) -> None:
    path = tmp_path / "a.warc"
    identifiers = write_warc(path, [PAGE])
    named = {
        "id": {"Refers_To": identifiers[0]},
        "url": {"Refers_To_Target_URI": PAGE.url, "Refers_To_Date": DATE},
        "nothing": {},
    }
    write_revisit(path, PAGE.url, LATER, **named[by])
    pages = read(open_warc(path))[0]
    assert [page.captured_at.year * 100 + page.captured_at.month for page in pages] == [202405, 202406]
    assert b"quicksilver" in ImportedFolder(pages[1], tmp_path / "page").replay(PAGE.url)[2]


def test_a_revisit_finds_its_body_in_another_file(tmp_path: Path) -> None:
    write_warc(tmp_path / "a.warc", [PAGE])
    write_revisit(tmp_path / "b.warc", "http://b.example/", LATER, Refers_To_Target_URI=PAGE.url)
    pages = read(warc_reader([tmp_path / "a.warc", tmp_path / "b.warc"]))[0]
    assert [page.url for page in pages] == ["http://a.example/", "http://b.example/"]


def test_a_revisit_without_its_body_is_named(tmp_path: Path) -> None:
    write_revisit(tmp_path / "a.warc", "http://a.example/", LATER, Refers_To_Target_URI="http://b.example/")
    pages, others = read(open_warc(tmp_path / "a.warc"))
    assert pages == []
    assert "not in the file" in others[0].reason


# --- damage ---------------------------------------------------------------------------------------------------------


def packed(path: Path, *, whole: bool = False) -> Path:
    """A WARC packed a record at a time, or as one."""
    data, target = path.read_bytes(), path.with_suffix(".warc.gz")
    parts = [data] if whole else [b"WARC/1.1\r\n" + part for part in data.split(b"WARC/1.1\r\n")[1:]]
    target.write_bytes(b"".join(map(gzip.compress, parts)))
    return target


@pytest.mark.parametrize("is_packed", [False, True])
def test_a_cut_file_gives_what_is_whole_and_says_so(tmp_path: Path, is_packed: bool) -> None:
    path = tmp_path / "a.warc"
    write_warc(path, [PAGE, PICTURE, Said("http://b.example/", b"<p>cut " * 100)])
    path = packed(path) if is_packed else path
    path.write_bytes(path.read_bytes()[:-600] if not is_packed else path.read_bytes()[:-300])
    pages, others = read(open_warc(path))
    assert [page.url for page in pages] == ["http://a.example/"]
    assert [one.reason for one in others] == ["The last record is not whole."]


def test_records_behind_a_damaged_one_are_found(tmp_path: Path) -> None:
    write_warc(tmp_path / "a.warc", [PAGE, Said("http://b.example/", b"<p>behind")])
    path = packed(tmp_path / "a.warc")
    data = bytearray(path.read_bytes())
    data[40:60] = bytes(20)
    path.write_bytes(data)
    pages, others = read(open_warc(path))
    assert [page.url for page in pages] == ["http://b.example/"]
    assert "damaged" in others[0].reason


def test_a_file_packed_as_one_is_read(tmp_path: Path) -> None:
    write_warc(tmp_path / "a.warc", [PAGE, PICTURE])
    pages = read(open_warc(packed(tmp_path / "a.warc", whole=True)))[0]
    assert ImportedFolder(pages[0], tmp_path / "page").urls == ["http://a.example/", "http://a.example/p.png"]


@pytest.mark.parametrize(
    "content", [b"no archive", b"\x1f\x8b\x08 nothing", gzip.compress(b"no archive", mtime=0), bytes(5000)]
)
def test_what_is_not_a_warc_file_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.warc.gz").write_bytes(content)
    with pytest.raises(NotReadableError, match="not a WARC file"):
        open_warc(tmp_path / "a.warc.gz").report()  # type: ignore[union-attr]


@pytest.mark.slow
def test_a_body_that_unpacks_to_too_much_is_cut(tmp_path: Path) -> None:
    bomb = gzip.compress(bytes(UNPACKED_ALWAYS * 2))
    write_warc(tmp_path / "a.warc", [PAGE, Said(PICTURE.url, bomb, "image/png", headers={"Content-Encoding": "gzip"})])
    folder = ImportedFolder(read(open_warc(tmp_path / "a.warc"))[0][0], tmp_path / "page").folder
    assert '"truncated":"length"' in (folder / "responses" / "index.jsonl").read_text()


@pytest.mark.parametrize("whole", [False, True])
def test_a_page_that_unpacks_to_too_much_is_refused(tmp_path: Path, *, whole: bool) -> None:
    bomb = gzip.compress(b" " * (UNPACKED_ALWAYS + 2_000_000))
    write_warc(tmp_path / "a.warc", [Said(PAGE.url, bomb, headers={"Content-Encoding": "gzip"}), PICTURE])
    pages, [refused] = read(open_warc(packed(tmp_path / "a.warc", whole=whole)))
    assert (pages, refused.item) == ([], PAGE.url)
    assert "more than 100 times as large as in the file" in refused.reason


@pytest.mark.slow
def test_a_page_that_cannot_be_parsed_is_imported_without_its_text(tmp_path: Path) -> None:
    write_warc(tmp_path / "a.warc", [Said("http://a.example/", b"<div>" * 200_000)])
    page = read(open_warc(tmp_path / "a.warc"))[0][0]
    assert [one.status for one in page.outputs if one.plugin == "htmltotext"] == [Status.FAILED]


def test_reading_goes_on_behind_a_page_and_leaves_nothing() -> None:
    reader = open_warc(FILES / "wget.warc.gz")
    assert reader
    first, second = reader.pages()
    [again] = reader.pages(first.key)
    assert again.key == second.key
    source = Path(again.outputs[0].files[0].source)  # type: ignore[union-attr]
    assert source.exists()
    again.done()  # type: ignore[union-attr]
    assert not source.exists()
    scratch = reader._scratch.path
    del reader, first, second, again
    assert not scratch.exists()


def test_reading_a_warc_ends_when_it_is_to_stop() -> None:
    assert_stops(open_warc(FILES / "wget.warc.gz"))
