"""What browsers and services export keeps its titles, dates and tags.

The files in ``lists/`` are written after the source or documentation of each program, or after examples that others
have published of it; none was exported by the program itself. Each has ``https://a.example/`` and ``https://b.example/``.
"""

import io
import json
from pathlib import Path
from typing import NamedTuple

import lz4.block
import pytest

from archivebox.core.intake.parse_input import read_given
from archivebox.lib.links.formats import ListFormat, detect, read_links
from archivebox.lib.links.link import Link, LinkFileError

LISTS = Path(__file__).parent / "lists"
SECOND = "2023-11-14T22:13:20+00:00"
MICRO, MILLI = "2023-11-14T22:13:20.123456+00:00", "2023-11-14T22:13:20.123000+00:00"
TAGS, WORDS = ("design", "web tools"), ("design", "web-tools")


class Expected(NamedTuple):
    """Of the first link: its date and tags; of the second: its tags."""

    source: str
    kind: ListFormat
    date: str
    tags: tuple[str, ...] = TAGS
    second: tuple[str, ...] = ()


EXPORTS = {
    "pocket.html": Expected("examples of getpocket.com/export until 2025", ListFormat.NETSCAPE, SECOND),
    "pocket.csv": Expected("Karakeep, parsers.ts; examples of 2025", ListFormat.CSV, SECOND),
    "pinboard.json": Expected("pinboard.in/howto, pinboard.in/api", ListFormat.JSONL, SECOND, (*WORDS, "toread")),
    "pinboard.xml": Expected("pinboard.in/api posts/all; examples", ListFormat.POSTS, SECOND, (*WORDS, "toread")),
    "pinboard.html": Expected("pinboard.in/export; examples", ListFormat.NETSCAPE, SECOND, (*WORDS, "toread")),
    "instapaper.csv": Expected("Karakeep, parsers.ts", ListFormat.CSV, SECOND, TAGS, ("Recipes",)),
    "omnivore.json": Expected("Karakeep, parsers.ts; examples", ListFormat.JSONL, MILLI),
    "readwise.csv": Expected("readwise-to-raindrop, README", ListFormat.CSV, SECOND, ("design", "web's tools")),
    "raindrop.csv": Expected("help.raindrop.io/export; examples", ListFormat.CSV, MILLI, TAGS, ("Work", "Research")),
    "delicious.html": Expected("examples of 2010", ListFormat.NETSCAPE, SECOND, WORDS),
    "shaarli.html": Expected("Shaarli, tpl/default/export.bookmarks.html", ListFormat.NETSCAPE, SECOND, WORDS),
    "wallabag.json": Expected("wallabag, EntriesExport.php", ListFormat.JSONL, SECOND),
    "wallabag.csv": Expected("wallabag, EntriesExport.php", ListFormat.CSV, "2023-11-14T10:13:20+00:00"),
    "karakeep.json": Expected("Karakeep, exporters.ts", ListFormat.JSONL, SECOND, (*TAGS, "Work", "Research")),
    "hoarder.json": Expected("Karakeep, exporters.ts of 2024", ListFormat.JSONL, SECOND),
    "linkwarden.json": Expected("Linkwarden, exportData.ts", ListFormat.JSONL, MILLI, TAGS, ("Work", "Research")),
    "firefox.html": Expected(
        "Firefox, BookmarkHTMLUtils.sys.mjs", ListFormat.NETSCAPE, SECOND, (*TAGS, "Work", "Research & more")
    ),
    "firefox.json": Expected(
        "Firefox, PlacesBackups and BookmarkJSONUtils", ListFormat.JSONL, MICRO, (*TAGS, "Work", "Research")
    ),
    "firefox-3.json": Expected("the same before version 50; examples of 2009", ListFormat.JSONL, MICRO),
    "Bookmarks": Expected("Chromium, bookmark_codec.cc", ListFormat.JSONL, MICRO, ("Work", "Research")),
    "Bookmarks-Opera": Expected("examples of Opera 60 and later", ListFormat.JSONL, MICRO, ()),
    "BrowserHistory.json": Expected("examples of takeout.google.com, Chrome", ListFormat.JSONL, MICRO, ()),
    "takeout-saved.csv": Expected("examples of takeout.google.com, Saved", ListFormat.CSV, ""),
    "safari.html": Expected(
        "Chromium, safari_data_importer_unittest.cc", ListFormat.NETSCAPE, "", (), ("Reading List",)
    ),
    "safari-history.json": Expected("Apple, importing data exported from Safari", ListFormat.JSONL, MICRO, ()),
    "archivebox.json": Expected("ArchiveBox 0.7.2, index/json.py", ListFormat.JSONL, MICRO),
}


def links_of(name: str) -> list[Link]:
    with (LISTS / name).open("rb") as file:
        return list(read_given(file))


@pytest.mark.parametrize("name", EXPORTS)
def test_an_export_is_recognised_and_keeps_titles_dates_and_tags(name: str) -> None:
    expected = EXPORTS[name]
    assert detect((LISTS / name).read_bytes()) is expected.kind
    first, second = [link for link in links_of(name) if not link.problem]
    assert (first.url.partition("?")[0], second.url) == ("https://a.example/", "https://b.example/")
    assert (first.title, first.tags) == ("Great & useful" if name == "pocket.html" else "Hello, world", expected.tags)
    assert (first.date, second.tags) == (expected.date, expected.second)


def test_tags_of_a_feed_of_pinboard_are_the_words_of_its_subject() -> None:
    (link,) = links_of("pinboard.rss")
    assert (link.url, link.date, link.tags) == ("https://a.example/", SECOND, WORDS)


def test_a_feeds_dates_keep_their_fractions() -> None:
    entry = "<entry><link href='https://a.example/'/><published>2023-11-14T23:13:20.123456+01:00</published></entry>"
    (link,) = read_links(io.BytesIO(f"<feed xmlns='http://www.w3.org/2005/Atom'>{entry}</feed>".encode()))
    assert link.date == MICRO


def test_a_note_without_a_link_is_reported() -> None:
    assert [link.problem for link in links_of("karakeep.json")] == ["", "", 'it names no "url"']


def packed(plain: bytes, mark: bytes = b"mozLz40\0") -> io.BytesIO:
    return io.BytesIO(mark + lz4.block.compress(plain))


def test_a_packed_backup_of_firefox_is_read_like_a_plain_one() -> None:
    backup = (LISTS / "firefox.json").read_bytes()
    assert detect(packed(backup).getvalue()) is ListFormat.JSONLZ4
    assert list(read_given(packed(backup))) == links_of("firefox.json")


@pytest.mark.parametrize(
    ("broken", "sentence"),
    [
        (packed(b"{}").getvalue()[:-2], "cannot be unpacked"),
        (b"mozLz40\0" + b"\xff\xff\xff\x7f" + b"x", "unpacks to more than 64 MB"),
        (b"mozLz40\0", "cannot be unpacked"),
        (b"{}", "is not a packed backup"),
    ],
)
def test_a_broken_backup_is_said_to_be_one(broken: bytes, sentence: str) -> None:
    with pytest.raises(LinkFileError, match=sentence):
        list(read_links(io.BytesIO(broken), ListFormat.JSONLZ4))


@pytest.mark.parametrize(
    ("document", "found"),
    [
        (b'{"roots": {"bookmark_bar": 3, "other": {"children": [7, {"url": "https://a.example/"}]}}}', 1),
        (b'{"type": "text/x-moz-place-container", "children": {"uri": "x"}}', 0),
        (b'{"collections": [3, {"links": 4}, {"links": [{"url": "https://a.example/", "tags": [{}, 4]}]}]}', 1),
        (b'{"bookmarks": [{"content": 3, "lists": 4}], "lists": [{"id": 1, "parentId": 1}]}', 1),
        (b'{"bookmarks": [{"url": "https://a.example/", "lists": [1]}], "lists": [{"id": 1, "parentId": 1}]}', 1),
        (b'{"type": "text/x-moz-place-container", "children": [{"uri": "https://a.example/", "tags": [[]]}]}', 1),
    ],
)
def test_a_document_of_another_shape_costs_no_more_than_its_links(document: bytes, found: int) -> None:
    assert len(list(read_links(io.BytesIO(document)))) == found


def test_folders_in_one_another_without_end_take_no_more_than_their_length() -> None:
    nested = "<!DOCTYPE NETSCAPE-Bookmark-file-1>\n" + "<H3>x</H3><DL>" * 3_000 + '<A HREF="https://a.example/">A</A>\n'
    for _ in range(3):
        nested += nested.partition("\n")[2]
    assert {link.tags for link in read_links(io.BytesIO(nested.encode()))} == {("x",)}


def test_of_collections_in_one_another_without_end_the_innermost_count() -> None:
    chain = [{"id": n, "parentId": n - 1, "name": f"{n}"} for n in range(40)]
    document = json.dumps({"collections": [*chain[:-1], {**chain[-1], "links": [{"url": "https://a.example/"}]}]})
    (link,) = read_links(io.BytesIO(document.encode()))
    assert link.tags == tuple(f"{n}" for n in range(20, 40))


def test_a_posts_file_with_entities_or_of_another_kind_is_refused() -> None:
    for wrong in (b'<!DOCTYPE posts [<!ENTITY a "b">]><posts>&a;</posts>', b"<post/>", b"<posts>"):
        with pytest.raises(LinkFileError):
            list(read_links(io.BytesIO(wrong), ListFormat.POSTS))
