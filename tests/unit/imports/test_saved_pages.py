"""Pages that browsers saved become pages with all that they show: MHTML, SingleFile's HTML, folders, mirrors."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from archivebox.imports.page import NotReadableError
from archivebox.imports.readers.mhtml import open_mhtml
from archivebox.imports.readers.saved_pages import open_folder, open_saved_page, open_single_file
from tests.unit.imports.archives import FILES, ImportedFolder, Said, assert_stops, read, write_warc

SITE = "http://127.0.0.1:8765"
MARK = "<!-- saved from url=(0022)https://a.example/page -->"
PAGE = f'<!DOCTYPE html>{MARK}<title>A page</title><p>Words<img src="./A_files/p.png"><iframe src="A_files/f.html">'


def mhtml(
    *parts: str, header: str = "Snapshot-Content-Location: http://a.example/\nDate: Mon, 6 May 2024 07:08:09 GMT"
) -> bytes:
    body = "".join(f"--b\n{part}\n" for part in parts)
    text = f'{header}\nSubject: =?utf-8?Q?T=C3=A9st?=\nContent-Type: multipart/related; boundary="b"\n\n{body}--b--\n'
    return text.replace("\n", "\r\n").encode()


# --- MHTML ----------------------------------------------------------------------------------------------------------


def test_the_mhtml_of_a_browser_is_replayed_with_frames_and_pictures(tmp_path: Path) -> None:
    [page], others = read(open_mhtml(FILES / "page.mhtml"))
    assert (page.url, page.title, page.captured_at.year, others) == (f"{SITE}/", "The lighthouse keeper", 2026, [])
    folder = ImportedFolder(page, tmp_path)
    assert b"frame.html" in folder.replay(f"{SITE}/")[2]
    assert b"quicksilver" in folder.replay(f"{SITE}/frame.html")[2]
    assert folder.replay(f"{SITE}/lamp.png")[:2] == (200, "image/png")
    assert "spiral stairs" in folder.text


def test_parts_without_an_address_are_shown(tmp_path: Path) -> None:
    document = 'Content-Type: text/html\n\n<link rel=stylesheet href="cid:css-1@x"><p>Words'
    sheet = "Content-Type: text/css\nContent-Location: cid:css-1@x\n\np { color: red }"
    (tmp_path / "a.mhtml").write_bytes(mhtml(document, sheet))
    [page] = read(open_mhtml(tmp_path / "a.mhtml"))[0]
    assert (page.title, page.captured_at) == ("Tést", datetime(2024, 5, 6, 7, 8, 9, tzinfo=UTC))
    assert b"color: red" in ImportedFolder(page, tmp_path / "page").replay("http://a.example/.mhtml/css-1@x")[2]


def test_mhtml_that_is_damaged_is_refused_or_named(tmp_path: Path) -> None:
    path = tmp_path / "a.mhtml"
    path.write_bytes(b"no mail at all")
    with pytest.raises(NotReadableError, match="MHTML"):
        open_mhtml(path)
    path.write_bytes(mhtml())
    assert read(open_mhtml(path))[1][0].reason == "No part of it can be read."
    path.write_bytes(mhtml("Content-Type: text/html\n\n<p>x", header="Subject: none"))
    assert "does not have the URL" in read(open_mhtml(path))[1][0].reason
    path.write_bytes(mhtml("Content-Type: text/html\nContent-Transfer-Encoding: base64\n\n!!! no =base64\n<p>x"))
    assert len(read(open_mhtml(path))[0]) == 1


# --- SingleFile -----------------------------------------------------------------------------------------------------


def test_a_page_of_singlefile_has_the_url_and_date_of_its_comment(tmp_path: Path) -> None:
    [page], _ = read(open_single_file(FILES / "single.html"))
    assert (page.url, page.title) == (f"{SITE}/", "The lighthouse keeper")
    assert page.captured_at == datetime(2026, 11, 26, 6, 49, 25, tzinfo=UTC)
    folder = ImportedFolder(page, tmp_path)
    assert (tmp_path / "singlefile" / "singlefile.html").read_bytes() == (FILES / "single.html").read_bytes()
    assert "spiral stairs" in folder.text


def test_the_date_of_singlefile_has_a_zone(tmp_path: Path) -> None:
    comment = "url: https://a.example/x \n saved date: Mon May 06 2024 09:08:09 GMT+0200 (Central European Summer Time)"
    (tmp_path / "a.html").write_text(f"<html><!--\n Page saved with SingleFile \n {comment}\n--><p>x")
    [page], _ = read(open_single_file(tmp_path / "a.html"))
    assert (page.url, page.captured_at) == ("https://a.example/x", datetime(2024, 5, 6, 7, 8, 9, tzinfo=UTC))


def test_other_html_is_none_of_singlefile(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text("<p>x")
    assert open_single_file(tmp_path / "a.html") is None


# --- folders --------------------------------------------------------------------------------------------------------


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    """A page that a browser saved."""
    folder = tmp_path / "saved"
    (folder / "A_files").mkdir(parents=True)
    (folder / "A.html").write_text(PAGE)
    (folder / "A_files" / "p.png").write_bytes(b"\x89PNG")
    (folder / "A_files" / "f.html").write_text("<p>quicksilver<img src=q.png>")
    (folder / "A_files" / "q.png").write_bytes(b"\x89PNG q")
    return folder


@pytest.mark.parametrize("by", ["file", "folder"])
def test_a_saved_page_is_replayed_with_what_lies_beside_it(saved: Path, tmp_path: Path, by: str) -> None:
    [page], others = read(open_folder(saved) if by == "folder" else open_saved_page(saved / "A.html"))
    assert (page.url, page.title, others) == ("https://a.example/page", "A page", [])
    folder = ImportedFolder(page, tmp_path / "page")
    assert folder.replay("https://a.example/page")[0] == 200
    assert folder.replay("https://a.example/A_files/p.png")[2] == b"\x89PNG"
    assert b"quicksilver" in folder.replay("https://a.example/A_files/f.html")[2]
    assert folder.replay("https://a.example/A_files/q.png")[2] == b"\x89PNG q"


def test_what_lies_outside_of_the_folder_is_not_taken(saved: Path, tmp_path: Path) -> None:
    (tmp_path / "secret.png").write_bytes(b"secret")
    (saved / "link.png").symlink_to(tmp_path / "secret.png")
    names = ("../secret.png", "link.png", (tmp_path / "secret.png").as_uri(), "%2e%2e/secret.png", "//x/secret.png")
    (saved / "A.html").write_text(MARK + "".join(f'<img src="{name}">' for name in names))
    [page], _ = read(open_folder(saved))
    assert ImportedFolder(page, tmp_path / "page").urls == ["https://a.example/page"]


def test_a_page_alone_takes_no_other_file_of_its_folder(saved: Path, tmp_path: Path) -> None:
    (saved / "letter.png").write_bytes(b"secret")
    (saved / "A.html").write_text(f'{PAGE}<img src="letter.png"><img src="A_files/../letter.png">')
    [page], _ = read(open_saved_page(saved / "A.html"))
    assert not any("letter" in url for url in ImportedFolder(page, tmp_path / "page").urls)


def test_a_page_of_unknown_origin_is_named(saved: Path) -> None:
    (saved / "B.html").write_text("<p>from somewhere")
    pages, others = read(open_folder(saved))
    assert ([page.key for page in pages], [one.item for one in others]) == (["A.html"], ["B.html"])


def test_a_page_alone_of_unknown_origin_counts_as_no_page(saved: Path) -> None:
    (saved / "B.html").write_text("<p>from somewhere<iframe src=''></iframe>")
    reader = open_saved_page(saved / "B.html")
    assert reader
    assert (reader.report().pages, [one.item for one in reader.report().not_imported]) == (0, ["B.html"])


def test_reading_a_folder_ends_when_it_is_to_stop(saved: Path) -> None:
    assert_stops(open_folder(saved))


def test_a_mirror_has_the_urls_of_its_folders(tmp_path: Path) -> None:
    host = tmp_path / "mirror" / "a.example"
    (host / "sub").mkdir(parents=True)
    (host / "index.html").write_text('<title>Home</title><img src="/p.png"><img src="http://b.example/q.png">')
    (host / "sub" / "page.html").write_text(
        '<link rel=canonical href="https://a.example/sub/page"><img src="../p.png">'
    )
    (host / "p.png").write_bytes(b"\x89PNG")
    (tmp_path / "mirror" / "b.example").mkdir()
    (tmp_path / "mirror" / "b.example" / "q.png").write_bytes(b"\x89PNG q")
    pages, _ = read(open_folder(tmp_path / "mirror"))
    assert [page.url for page in pages] == ["https://a.example/", "https://a.example/sub/page"]
    home = ImportedFolder(pages[0], tmp_path / "home")
    assert home.urls == ["https://a.example/", "https://a.example/p.png", "http://b.example/q.png"]


def test_a_folder_of_archives_is_read_file_by_file(saved: Path) -> None:
    for name in ("browser.har", "page.mhtml", "single.html", "wget.wacz"):
        (saved / name).write_bytes((FILES / name).read_bytes())
    write_warc(saved / "a.warc", [Said("http://w.example/", b"<p>x")])
    (saved / "broken.wacz").write_bytes(b"broken")
    (saved / "notes.txt").write_text("no page")
    reader = open_folder(saved)
    pages, others = read(reader)
    assert [page.key.partition("\n")[0] for page in pages] == [
        "*.warc", "browser.har", "browser.har", "page.mhtml", "single.html", "wget.wacz", "A.html",
    ]  # fmt: skip
    assert [one.item for one in others] == ["broken.wacz"]
    assert reader
    assert reader.report().pages == len(pages)
    for number, page in enumerate(pages):
        assert [one.key for one in reader.pages(page.key)] == [one.key for one in pages[number + 1 :]]


def test_a_folder_without_pages_is_left_to_others(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("x")
    assert open_folder(tmp_path) is None


def test_the_files_of_a_collection_are_no_saved_pages(saved: Path) -> None:
    (saved / "index.sqlite3").write_bytes(b"")
    assert open_folder(saved) is None


@pytest.mark.parametrize("date", ["Mon, 99999999999999999999 May 2024 07:08:09 GMT", "Fri, 31 Dec 9999 23:00:00 -1400"])
def test_a_date_that_is_none_is_that_of_the_file(tmp_path: Path, date: str) -> None:
    header = f"Snapshot-Content-Location: http://a.example/\nDate: {date}"
    (tmp_path / "a.mhtml").write_bytes(mhtml("Content-Type: text/html\n\n<p>x", header=header))
    assert read(open_mhtml(tmp_path / "a.mhtml"))[0][0].captured_at.year >= 2026
