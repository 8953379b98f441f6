"""What people hand over is read whatever its kind, line by line, and nothing in it is taken for granted."""

import gzip
import io
import zipfile
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import BinaryIO

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from archivebox.lib.links import archives
from archivebox.lib.links.dates import iso, moment_of
from archivebox.lib.links.feeds import title_of
from archivebox.lib.links.formats import ListFormat, detect, read_links, reader_named
from archivebox.lib.links.link import Link, LinkFileError, tags_in
from archivebox.lib.links.text import LONGEST_LINE

PAGES = Path(__file__).parents[2] / "site" / "pages"
SITE = "http://127.0.0.1:8000"
FIVE = [f"{SITE}/article", f"{SITE}/colour", f"{SITE}/unicode", f"{SITE}/tree/", f"{SITE}/dup?x=1&y=2"]


def page(name: str) -> BinaryIO:
    return io.BytesIO((PAGES / name).read_bytes().replace(b"%SITE%", SITE.encode()))


def read(text: str | bytes, kind: ListFormat = ListFormat.AUTO) -> list[Link]:
    return list(read_links(io.BytesIO(text.encode() if isinstance(text, str) else text), kind))


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("urls.txt", ListFormat.URL_LIST), ("urls.csv", ListFormat.CSV), ("links.md", ListFormat.MD),
        ("feed.rss", ListFormat.RSS), ("feed.atom", ListFormat.RSS), ("feed.json", ListFormat.JSONL),
        ("urls.jsonl", ListFormat.JSONL), ("bookmarks.html", ListFormat.NETSCAPE),
    ],
)  # fmt: skip
def test_files_of_every_kind_are_recognised_and_give_the_same_five_pages(name: str, kind: ListFormat) -> None:
    assert detect(page(name).read()) is kind
    assert [entry.url for entry in read_links(page(name))] == FIVE


@pytest.mark.parametrize("name", ["feed.rss", "feed.atom", "feed.json", "urls.jsonl", "bookmarks.html", "urls.csv"])
def test_titles_and_tags_come_along(name: str) -> None:
    third = list(read_links(page(name)))[2]
    assert third.title == "日本語のページ"
    assert third.tags[:1] == ("reading",)


@pytest.mark.parametrize("name", ["feed.rss", "feed.atom", "feed.json", "bookmarks.html"])
def test_dates_come_along(name: str) -> None:
    assert next(iter(read_links(page(name)))).date == "2023-11-14T22:13:20+00:00"


@pytest.mark.parametrize(
    ("text", "date"),
    [
        ("1700000000", "2023-11-14T22:13:20+00:00"), ("1700000000000000", "2023-11-14T22:13:20+00:00"),
        ("2023-11-14", "2023-11-14T00:00:00+00:00"), ("2023-11-14T23:13:20+01:00", "2023-11-14T22:13:20+00:00"),
        ("Tue, 14 Nov 2023 22:13:20 GMT", "2023-11-14T22:13:20+00:00"), ("2023", ""), ("yesterday", ""),
        ("0001-01-01T00:00:00+14:00", ""), ("", ""),
    ],
)  # fmt: skip
def test_dates_are_read_in_the_usual_ways(text: str, date: str) -> None:
    assert iso(text) == date


def test_an_entry_of_a_feed_says_what_it_is_about() -> None:
    assert [next(iter(read_links(page(name)))).text for name in ("feed.rss", "feed.atom", "feed.json")] == [
        "An article on archives"
    ] * 3


def test_an_outline_of_feeds_gives_them_with_the_folders_they_are_in() -> None:
    assert detect(page("feeds.opml").read()) is ListFormat.RSS
    entries = [(entry.url, entry.title, entry.tags) for entry in read_links(page("feeds.opml"))]
    assert entries[0] == (f"{SITE}/feed.rss", "RSS", ("Feeds",))
    assert len(entries) == 3
    with pytest.raises(LinkFileError, match="is not OPML"):
        read("<x><!-- <opml> --></x>", ListFormat.RSS)


@pytest.mark.parametrize("name", ["feed.rss", "feed.atom", "feed.json", "feeds.opml"])
def test_a_feed_says_what_it_is_called(name: str) -> None:
    assert title_of(page(name).read()) == ("Feeds of the Local Web" if name == "feeds.opml" else "The Local Web")


def test_links_of_a_page_are_resolved_as_a_browser_does() -> None:
    html = b'<base href="/sub/"><a href="one?a=1&amp;b#x">1</a><a href=" HTTP://B.test ">2</a><frame src=//c.test/f>'
    found = read_links(io.BytesIO(html), ListFormat.HTML, "http://a.test/page")
    assert [entry.url for entry in found] == ["http://a.test/sub/one?a=1&b#x", "http://b.test/"]


@pytest.mark.parametrize(
    ("table", "found"),
    [
        ("Title;URL;Tags\nOne;https://a.test/;x, y\n", [("https://a.test/", "One", ("x", "y"))]),
        ("https://a.test/,what\n,x\n", [("https://a.test/", "", ()), ("", "", ())]),
        ("name\tnote\nOne\tsee https://a.test/.\n", [("https://a.test/", "One", ())]),
        ('url,title\nhttps://a.test/,"One\nTwo"\n', [("https://a.test/", "One Two", ())]),
    ],
)
def test_the_columns_of_a_table_are_told_by_name_or_content(
    table: str, found: list[tuple[str, str, tuple[str, ...]]]
) -> None:
    assert [(entry.url, entry.title, entry.tags) for entry in read(table, ListFormat.CSV)] == found


def test_links_of_markdown_are_found_in_every_form_and_not_in_code() -> None:
    text = (
        "# [One](https://a.test/ 'x')\n\n<https://b.test/> and https://c.test/x.\n\n[Two][r] `https://no.test/`\n\n"
        "    https://no.test/\n\n[r]: https://d.test/\n"
    )
    assert [(entry.line, entry.url, entry.title) for entry in read(text, ListFormat.MD)] == [
        (1, "https://a.test/", "One"),
        (3, "https://b.test/", ""),
        (3, "https://c.test/x", ""),
        (5, "https://d.test/", "Two"),
    ]


def test_a_record_of_ours_was_not_bookmarked_when_it_was_archived() -> None:
    record = b'{"url": "https://a.test/", "bookmarked_at": %s, "created_at": "2024-01-01"}'
    (plain,) = read_links(io.BytesIO(record % b"null"))
    (dated,) = read_links(io.BytesIO(record % b'"2023-11-14"'))
    assert (plain.date, dated.date) == ("", "2023-11-14T00:00:00+00:00")


def test_a_sitemap_and_an_index_of_them_give_their_addresses() -> None:
    entries = list(read_links(page("sitemap.xml")))
    assert (entries[0].url, entries[0].date) == (f"{SITE}/article", "2023-11-14T00:00:00+00:00")
    index = b"<sitemapindex xmlns='x'><sitemap><loc>\nhttps://a.test/s.xml </loc></sitemap></sitemapindex>"
    packed = io.BytesIO(gzip.compress(index))
    assert [entry.url for entry in read_links(packed, ListFormat.SITEMAP)] == ["https://a.test/s.xml"]
    for wrong in (b"<rss/>", b"no", gzip.compress(index)[:-20], b'<!DOCTYPE x [<!ENTITY a "b">]><urlset>&a;</urlset>'):
        with pytest.raises(LinkFileError):
            list(read_links(io.BytesIO(wrong), ListFormat.SITEMAP))


def test_a_packed_file_is_not_unpacked_beyond_what_is_read_as_one_document() -> None:
    with pytest.raises(LinkFileError, match="64 MB"):
        read(gzip.compress(b" " * 65_000_000, 1), ListFormat.SITEMAP)


def test_a_page_gives_its_http_links_with_their_words() -> None:
    found = read('<html><a href="https://a.test/">One\n two</a><a href="/relative">x</a><a href="javascript:1">y</a>')
    assert [(entry.url, entry.title) for entry in found] == [("https://a.test/", "One two")]


def test_lines_keep_their_numbers_and_comments_are_passed_over() -> None:
    found = read("# mine\n\nhttps://a.test/\n  not-a-url\nhttps://b.test/\r\n")
    assert [(entry.line, entry.url) for entry in found] == [
        (3, "https://a.test/"),
        (4, "not-a-url"),
        (5, "https://b.test/"),
    ]


def test_a_wrong_line_among_urls_does_not_make_the_list_prose() -> None:
    assert detect(b"javascript:alert(1)\nnot a url\nhttps://a.test/\nhttps://b.test/\n") is ListFormat.URL_LIST


def test_a_sentence_among_urls_gives_those_in_it() -> None:
    given = "https://a.test/\nSeen: https://b.test/, and https://c.test/.\nhttps://d e.test/\nno url\nhttps://f.test/"
    assert [(link.line, link.url) for link in read(given, ListFormat.URL_LIST)] == [
        (1, "https://a.test/"), (2, "https://b.test/"), (2, "https://c.test/"), (3, "https://d e.test/"), (4, "no url"),
        (5, "https://f.test/"),
    ]  # fmt: skip


def test_several_urls_on_a_line_are_several() -> None:
    given = (
        "https://a.example/1 https://b.example/2\n<https://c.example/3>, https://d.example/4\nhttps://e.example/a b\n"
    )
    assert [(link.line, link.url) for link in read(given, ListFormat.URL_LIST)] == [
        (1, "https://a.example/1"),
        (1, "https://b.example/2"),
        (2, "https://c.example/3"),
        (2, "https://d.example/4"),
        (3, "https://e.example/a b"),
    ]


def test_urls_are_found_inside_prose() -> None:
    text = (
        "See https://a.test/x_(y), (or https://b.test/z). And\n“https://c.test/”; [https://d.test/](https://e.test/)!"
    )
    assert [(entry.line, entry.url) for entry in read(text, ListFormat.TXT)] == [
        (1, "https://a.test/x_(y)"),
        (1, "https://b.test/z"),
        (2, "https://c.test/"),
        (2, "https://d.test/"),
    ]


def test_a_url_across_two_pieces_of_a_long_line_is_whole() -> None:
    padding = "x" * (LONGEST_LINE - 20)
    found = read(f"{padding} https://a.test/some/long/path and more", ListFormat.TXT)
    assert [entry.url for entry in found] == ["https://a.test/some/long/path"]


def test_a_line_without_end_is_cut_and_the_next_one_is_read() -> None:
    found = read("x" * 1_000_000 + "\nhttps://a.test/\n", ListFormat.URL_LIST)
    assert len(found[0].url) == LONGEST_LINE
    assert found[1] == Link(2, "https://a.test/")


def test_other_encodings_with_a_mark_are_read() -> None:
    assert [entry.url for entry in read("https://a.test/ü\n".encode("utf-16"))] == ["https://a.test/ü"]
    assert [entry.url for entry in read("\ufeffhttps://a.test/\n")] == ["https://a.test/"]


def test_a_stray_nul_is_a_bad_line_and_a_file_full_of_them_no_text() -> None:
    assert [entry.url for entry in read(b"https://a.test/\0\nhttps://b.test/\n")] == [
        "https://a.test/\0",
        "https://b.test/",
    ]
    for other in (b"\x89PNG" + bytes(500), bytes(range(256)) * 20):
        with pytest.raises(LinkFileError, match="holds no text"):
            read(other)


def test_bad_lines_of_json_say_why() -> None:
    found = read('{"url": "https://a.test/"}\n{"title": "no address"}\nrubbish\n', ListFormat.JSONL)
    assert [entry.problem for entry in found] == ["", 'it names no "url"', "it is not a JSON object"]


def test_the_record_of_a_new_page_has_its_tags_and_is_refused_for_an_option() -> None:
    lines = (
        '{"type": "Snapshot", "url": "https://a.test/", "tags_str": "x,y"}\n'
        '{"type": "Snapshot", "url": "https://b.test/", "visibility": "private"}\n'
        '{"type": "Snapshot", "url": "https://c.test/", "id": "1", "status": "sealed"}\n'
        '{"url": "https://d.test/", "status": "unread"}\n'
    )
    found = read(lines, ListFormat.JSONL)
    assert [(entry.tags, entry.problem.partition(" ")[0]) for entry in found] == [
        (("x", "y"), ""), ((), "visibility"), ((), ""), ((), ""),
    ]  # fmt: skip


def test_a_json_document_over_many_lines_is_read_as_one() -> None:
    found = read('[\n {"href": "https://a.test/", "description": "A", "tags": "x, y z"},\n "https://b.test/"\n]')
    assert found == [Link(0, "https://a.test/", "A", ("x", "y z")), Link(0, "https://b.test/")]


def test_entities_of_a_feed_are_refused() -> None:
    bomb = '<?xml version="1.0"?><!DOCTYPE rss [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><rss><item>&b;</item></rss>'
    with pytest.raises(LinkFileError, match="entities"):
        read(bomb)
    outside = '<?xml version="1.0"?><!DOCTYPE rss [<!ENTITY a SYSTEM "file:///etc/passwd">]><rss>&a;</rss>'
    with pytest.raises(LinkFileError, match="entities"):
        read(outside)


def test_a_broken_feed_is_read_as_far_as_it_goes() -> None:
    broken = "<rss version='2.0'><channel><item><title>A & B</title><link>https://a.test/</link></item><item><title>C"
    assert [(entry.url, entry.title, entry.problem) for entry in read(broken)] == [
        ("https://a.test/", "A & B", ""),
        ("", "", "it names no page"),
    ]
    with pytest.raises(LinkFileError, match="is not a feed"):
        read("<html><p>x", ListFormat.RSS)


def test_items_without_links_use_their_permanent_address() -> None:
    found = read(
        "<rss><channel><link>https://x.test/</link>"
        "<item><guid>https://a.test/</guid></item>"
        '<item><guid isPermaLink="false">id-7</guid></item></channel></rss>'
    )
    assert [entry.url for entry in found] == ["https://a.test/", ""]


def test_hostile_lines_cost_no_more_than_their_length() -> None:
    """Each would take minutes if it were read in time quadratic in its length; pytest's limit is the judge."""
    for line in ("<a " * 20_000, "https://" + ")" * 60_000, "(" * 60_000, '"' * 60_000, "https://a" * 7_000):
        for kind in (
            ListFormat.TXT,
            ListFormat.NETSCAPE,
            ListFormat.HTML,
            ListFormat.URL_LIST,
            ListFormat.MD,
            ListFormat.CSV,
        ):
            assert len(list(read_links(io.BytesIO(line.encode()), kind))) <= 7_000


class _Endless(io.RawIOBase):
    """A gigabyte of URLs that is nowhere in memory or on disk."""

    def __init__(self, size: int) -> None:
        self.size, self.at = size, 0
        self.line = b"https://example.com/a-page-of-the-archive\n"

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = 0) -> int:
        assert (offset, whence) == (0, 0)
        self.at = 0
        return 0

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        count = min(len(buffer), self.size - self.at)
        shift = self.at % len(self.line)
        buffer[:count] = (self.line * (count // len(self.line) + 2))[shift : shift + count]
        self.at += count
        return count


def _first(entries: Iterator[Link], count: int) -> list[Link]:
    return [next(entries) for _ in range(count)]


def test_a_gigabyte_is_read_as_far_as_it_is_asked_for() -> None:
    file = _Endless(1_000_000_000)
    found = _first(read_links(io.BufferedReader(file)), 1_000)
    assert {entry.url for entry in found} == {"https://example.com/a-page-of-the-archive"}
    assert file.at < 1_000_000


def record(url: str, kind: str = "text/html; charset=utf-8", status: int = 200) -> bytes:
    answer = f"HTTP/1.1 {status} Whatever\r\nContent-Type: {kind}\r\n\r\n".encode() + b"x" * 100_000
    head = f"WARC-Type: response\r\nWARC-Target-URI: {url}\r\nWARC-Date: 2026-01-02T03:04:05Z\r\n"
    return f"WARC/1.1\r\n{head}Content-Length: {len(answer)}\r\n\r\n".encode() + answer + b"\r\n\r\n"


def zipped(**files: str | bytes) -> bytes:
    with zipfile.ZipFile(whole := io.BytesIO(), "w") as archive:
        for name, content in files.items():
            archive.writestr(name.replace("__", "/").replace("_", "."), content)
    return whole.getvalue()


RECORDS = [
    record("https://a.test/"),
    record("https://a.test/x.css", "text/css"),
    record("https://a.test/no", status=404),
]
PACKED = b"".join(map(gzip.compress, RECORDS))


@pytest.mark.parametrize("warc", [b"".join(RECORDS), PACKED, zipped(archive__one_warc_gz=PACKED)])
def test_the_pages_of_a_web_archive_are_its_links(warc: bytes) -> None:
    assert [(one.url, one.date) for one in read(warc)] == [("https://a.test/", "2026-01-02T03:04:05+00:00")]


def test_what_is_unpacked_is_bounded_for_all_parts_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "UNPACKED_MOST", len(PACKED + b"".join(RECORDS)) + 100)
    assert read(zipped(one_warc_gz=PACKED))
    with pytest.raises(LinkFileError, match="holds more than"):
        read(zipped(one_warc_gz=PACKED, other_warc_gz=PACKED))


def test_a_small_file_does_not_unpack_into_a_huge_one() -> None:
    bomb = gzip.compress(record("https://a.test/") + b"WARC/1.1\r\nContent-Length: 100000000\r\n\r\n" + bytes(10**8))
    with pytest.raises(LinkFileError, match="times its size"):
        read(bomb)
    with pytest.raises(LinkFileError, match="times its size"):
        read(zipped(one_warc_gz=bomb))


def test_a_wacz_names_its_pages_itself() -> None:
    pages = '{"format": "json-pages-1.0"}\n{"url": "https://b.test/", "title": "B", "ts": "2026-01-02T03:04:05Z"}\n'
    found = read(zipped(pages__pages_jsonl=pages, archive__one_warc_gz=PACKED))
    assert [(one.url, one.title, one.date) for one in found] == [("https://b.test/", "B", "2026-01-02T03:04:05+00:00")]


@pytest.mark.parametrize(
    ("broken", "sentence"),
    [
        (PACKED[:-20], "not a whole web archive"),
        (RECORDS[0] + b"something else", "not a WARC file"),
        (zipped(letter_txt="dear"), "not a WACZ file"),
        (zipped(archive__one_warc_gz=PACKED)[:-30], "not a whole web archive"),
        (b"WARC/1.1\r\nContent-Length: many\r\n\r\n", "without its length"),
    ],
)
def test_a_broken_web_archive_is_said_to_be_one(broken: bytes, sentence: str) -> None:
    with pytest.raises(LinkFileError, match=sentence):
        read(broken)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("auto", ListFormat.AUTO), ("url_list", ListFormat.URL_LIST), ("html", ListFormat.HTML),
        ("txt", ListFormat.TXT), ("jsonl", ListFormat.JSONL), ("generic_rss", ListFormat.RSS),
        ("generic_html", ListFormat.HTML), ("generic_json", ListFormat.JSONL), ("generic_jsonl", ListFormat.JSONL),
        ("generic_txt", ListFormat.TXT), ("medium_rss", ListFormat.RSS), ("netscape_html", ListFormat.NETSCAPE),
        ("pinboard_rss", ListFormat.RSS), ("pocket_html", ListFormat.NETSCAPE), ("shaarli_rss", ListFormat.RSS),
        ("wallabag_atom", ListFormat.RSS), ("parse_netscape_urls", ListFormat.NETSCAPE),
        ("parse-dom-outlinks", ListFormat.HTML),
    ],
)  # fmt: skip
def test_readers_are_known_by_the_names_of_earlier_versions(name: str, kind: ListFormat) -> None:
    assert reader_named(name) is kind


@pytest.mark.parametrize(
    ("name", "sentence"), [("pocket_api", "shut down"), ("netscap", "netscape"), ("x", "url_list")]
)
def test_a_reader_that_is_not_there_names_what_to_give(name: str, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        reader_named(name)


@pytest.mark.parametrize(
    "text",
    [
        "1700000000.123456", "1700000000123.456", "1700000000123456", "1700000000123456789", "13344473600123456",
        "2023-11-14T23:13:20.123456+01:00", "2023-11-14 22:13:20.123456 UTC", "2023/11/14 23:13:20.123456 +0100",
        "2023-11-14T22:13:20.123456Z",
    ],
)  # fmt: skip
def test_dates_are_kept_to_the_microsecond_however_they_are_written(text: str) -> None:
    assert iso(text) == "2023-11-14T22:13:20.123456+00:00"


@pytest.mark.parametrize(
    ("text", "date"),
    [
        ("1795432755.210652", "2026-11-23T11:19:15.210652+00:00"),
        ("1700000000.5", "2023-11-14T22:13:20.500000+00:00"),
        ("1700000000.", "2023-11-14T22:13:20+00:00"),
        ("1700000000.1234567", "2023-11-14T22:13:20.123456+00:00"),
        ("20231114221320", "2023-11-14T22:13:20+00:00"),
        ("20231399999999", ""),
        ("Tue, 14 Nov 2023 22:13:20 EST", "2023-11-15T03:13:20+00:00"),
        ("9999999999999999999", "2286-11-20T17:46:39.999999+00:00"),
        ("-1700000000", ""),
        ("1.7e9", ""),
    ],
)
def test_dates_that_could_be_misread_are_read_in_one_way(text: str, date: str) -> None:
    assert iso(text) == date


@settings(deadline=None)
@given(st.integers(1_000_000_000_000_000, 9_000_000_000_000_000))
def test_a_moment_comes_back_from_every_number_that_programs_write(micros: int) -> None:
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=micros)
    seconds = f"{micros // 1_000_000}.{micros % 1_000_000:06}"
    for number in (seconds, f"{micros}", f"{micros + 11_644_473_600_000_000}", moment.isoformat()):
        assert moment_of(number) == moment


@settings(deadline=None)
@given(st.text())
def test_any_text_is_a_date_or_none(text: str) -> None:
    assert iso(text) == "" or moment_of(text) is not None


@settings(deadline=None)
@given(st.text())
def test_any_cell_gives_tags_without_a_fault(text: str) -> None:
    assert all(name == " ".join(name.split()) != "" for name in tags_in(text))


@pytest.mark.parametrize(
    ("cell", "names"),
    [
        ("a|b c", ("a", "b c")), ("a, b|c", ("a", "b|c")), ("a;b", ("a", "b")),
        ('["a", "\\ud83d\\ude00"]', ("a", "\U0001f600")), ("['a', \"it's\"]", ("a", "it's")),
        ("[unfinished", ("[unfinished",)), ("[__import__('os')]", ()), ("[" * 5_000 + "]" * 5_000, ()),
        (f"[{'1 + ' * 5_000}1, 'a']", ()), (f"[{', '.join(['1'] * 10_000)}, 'a']", ()), ("[]", ()),
    ],
)  # fmt: skip
def test_tags_of_a_cell_are_told_by_how_it_is_written(cell: str, names: tuple[str, ...]) -> None:
    assert tags_in(cell) == names
