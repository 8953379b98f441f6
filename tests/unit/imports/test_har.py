"""A HAR gives its pages; what it says wrongly is named, and it is never in memory as a whole."""

import io
import json
from pathlib import Path
from typing import Any

import pytest

from archivebox.imports.page import NotReadableError
from archivebox.imports.readers.har import JsonStream, open_har
from tests.unit.imports.archives import FILES, ImportedFolder, assert_stops, count_stops, read

SITE = "http://127.0.0.1:8765"


def entry(url: str, content: dict[str, Any], *, page: str = "p1", **more: Any) -> dict[str, Any]:
    response = {"status": 200, "statusText": "OK", "headers": [], "content": {"mimeType": "text/html", **content}}
    request = {"method": "GET", "url": url, "headers": []}
    return {
        "pageref": page,
        "startedDateTime": "2024-05-06T07:08:09.123Z",
        "request": request,
        "response": response | more,
    }


def write_har(path: Path, *entries: dict[str, Any], pages: tuple[str, ...] = ("p1",)) -> Path:
    listed = [{"id": name, "title": f"Title of {name}", "startedDateTime": "2024-05-06T07:08:09Z"} for name in pages]
    path.write_text(json.dumps({"log": {"version": "1.2", "pages": listed, "entries": list(entries)}}))
    return path


def test_the_har_of_a_browser_is_read(tmp_path: Path) -> None:
    pages, others = read(open_har(FILES / "browser.har"))
    assert [(page.url, page.final_url, page.title) for page in pages] == [
        (f"{SITE}/old", f"{SITE}/", "The lighthouse keeper"),
        (f"{SITE}/sub/second.html", "", "The harbour"),
    ]
    assert others == []
    page = ImportedFolder(pages[0], tmp_path)
    assert b"lighthouse" in page.replay(f"{SITE}/")[2]
    assert page.replay(f"{SITE}/lamp.png")[:2] == (200, "image/png")
    assert page.replay(f"{SITE}/data.json")[2] == b'{"n": 7}\n'
    assert "spiral stairs" in page.text


def test_text_is_read_whatever_charset_the_server_named(tmp_path: Path) -> None:
    headers = [{"name": "Content-Type", "value": "text/html; charset=windows-1251"}]
    path = write_har(tmp_path / "a.har", entry("http://a.example/", {"text": "<p>ртуть"}, headers=headers))
    pages = read(open_har(path))[0]
    assert pages[0].title == "Title of p1"
    assert "ртуть" in ImportedFolder(pages[0], tmp_path / "page").text


def test_content_that_is_no_base64_is_named(tmp_path: Path) -> None:
    wrong = entry("http://a.example/p.png", {"text": "no base64!", "encoding": "base64", "mimeType": "image/png"})
    pages, others = read(open_har(write_har(tmp_path / "a.har", entry("http://a.example/", {"text": "<p>x"}), wrong)))
    assert len(pages) == 1
    assert [(one.item, "base64" in one.reason) for one in others] == [("http://a.example/p.png", True)]


def test_a_har_without_content_says_how_it_is_saved(tmp_path: Path) -> None:
    pages, others = read(open_har(write_har(tmp_path / "a.har", entry("http://a.example/", {}))))
    assert pages == []
    assert "save it again" in others[0].reason


@pytest.mark.parametrize(
    "content",
    [
        "", "[]", "{}", '{"log": {}}', '{"log": {"entries": [', '{"log": 7}', "[" * 100_000,
        '{"log": {"entries": ' + "[" * 100_000,
    ],
    ids=["empty", "array", "no log", "no entries", "cut", "number", "deep", "deep entries"],
)  # fmt: skip
def test_what_is_no_har_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / "a.har").write_text(content)
    with pytest.raises(NotReadableError, match="cannot be read as a HAR"):
        read(open_har(tmp_path / "a.har"))


def test_converting_a_har_ends_when_it_is_to_stop() -> None:
    reader = open_har(FILES / "browser.har")
    assert_stops(reader)
    assert [path.name for path in reader._scratch.path.iterdir()] == ["har.warc"]  # type: ignore[union-attr]


def test_making_a_page_ends_within_each_of_its_answers(tmp_path: Path) -> None:
    """Its main answer is read, kept and packed in parts; so is what else it has."""
    document = entry("http://a.example/", {"text": "<p>x"})
    large = {"text": "y" * 300_000, "mimeType": "text/plain"}
    alone = count_stops(open_har(write_har(tmp_path / "a.har", document)))
    assert alone >= 3
    many = [entry(f"http://a.example/{number}", large) for number in range(4)]
    assert count_stops(open_har(write_har(tmp_path / "b.har", document, *many))) >= alone + 4 * 6


def test_strange_entries_do_no_harm(tmp_path: Path) -> None:
    entries: list[Any] = [
        7,
        {},
        {"request": 5},
        entry("ftp://a.example/", {"text": "x"}),
        entry("http://a.example/", {"text": "<p>x"}),
    ]
    entries.append(entry("http://a.example/x", {"text": "y"}, status="200", headers={"a": 1}))
    assert len(read(open_har(write_har(tmp_path / "a.har", *entries)))[0]) == 1


def test_a_value_is_read_across_the_ends_of_blocks() -> None:
    document = {"a": ["é" * 700_000, 12345, {"b": None}], "c": {"d": [1.5, "x"]}}
    stream = JsonStream(io.BytesIO(json.dumps(document, ensure_ascii=False).encode()), 10_000_000)
    assert {name: stream.value() for name in stream.keys()} == document  # noqa: SIM118 - a method of ours


def test_a_value_that_is_too_large_is_refused() -> None:
    stream = JsonStream(io.BytesIO(b'"' + b"x" * 5_000_000), 2_000_000)
    with pytest.raises(ValueError, match="more than 2 MB"):
        stream.value()
