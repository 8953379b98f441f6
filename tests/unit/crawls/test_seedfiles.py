"""What people hand over is read whatever its kind, line by line, and nothing in it is taken for granted."""

import io
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import pytest

from archivebox.crawls.seedfiles import LONGEST_LINE, GivenUrl, Parser, SeedFileError, detect, read_seeds

PAGES = Path(__file__).parents[2] / "site" / "pages"
SITE = "http://127.0.0.1:8000"
FIVE = [f"{SITE}/article", f"{SITE}/colour", f"{SITE}/unicode", f"{SITE}/tree/", f"{SITE}/dup?x=1&y=2"]


def page(name: str) -> BinaryIO:
    return io.BytesIO((PAGES / name).read_bytes().replace(b"%SITE%", SITE.encode()))


def read(text: str | bytes, parser: Parser = Parser.AUTO) -> list[GivenUrl]:
    return list(read_seeds(io.BytesIO(text.encode() if isinstance(text, str) else text), parser))


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("urls.txt", Parser.URL_LIST),
        ("urls.csv", Parser.TXT),
        ("links.md", Parser.TXT),
        ("feed.rss", Parser.RSS),
        ("feed.atom", Parser.RSS),
        ("feed.json", Parser.JSONL),
        ("urls.jsonl", Parser.JSONL),
        ("bookmarks.html", Parser.NETSCAPE),
    ],
)
def test_files_of_every_kind_are_recognised_and_give_the_same_five_pages(name: str, kind: Parser) -> None:
    assert detect(page(name).read()) is kind
    assert [entry.url for entry in read_seeds(page(name))] == FIVE


@pytest.mark.parametrize("name", ["feed.rss", "feed.atom", "feed.json", "urls.jsonl", "bookmarks.html"])
def test_titles_and_tags_come_along(name: str) -> None:
    third = list(read_seeds(page(name)))[2]
    assert third.title == "日本語のページ"
    assert third.tags == ("reading",)


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
    assert detect(b"javascript:alert(1)\nnot a url\nhttps://a.test/\nhttps://b.test/\n") is Parser.URL_LIST


def test_urls_are_found_inside_prose() -> None:
    text = (
        "See https://a.test/x_(y), (or https://b.test/z). And\n“https://c.test/”; [https://d.test/](https://e.test/)!"
    )
    assert [(entry.line, entry.url) for entry in read(text, Parser.TXT)] == [
        (1, "https://a.test/x_(y)"),
        (1, "https://b.test/z"),
        (2, "https://c.test/"),
        (2, "https://d.test/"),
    ]


def test_a_url_across_two_pieces_of_a_long_line_is_whole() -> None:
    padding = "x" * (LONGEST_LINE - 20)
    found = read(f"{padding} https://a.test/some/long/path and more", Parser.TXT)
    assert [entry.url for entry in found] == ["https://a.test/some/long/path"]


def test_a_line_without_end_is_cut_and_the_next_one_is_read() -> None:
    found = read("x" * 1_000_000 + "\nhttps://a.test/\n", Parser.URL_LIST)
    assert len(found[0].url) == LONGEST_LINE
    assert found[1] == GivenUrl(2, "https://a.test/")


def test_other_encodings_with_a_mark_are_read() -> None:
    assert [entry.url for entry in read("https://a.test/ü\n".encode("utf-16"))] == ["https://a.test/ü"]
    assert [entry.url for entry in read("\ufeffhttps://a.test/\n")] == ["https://a.test/"]


def test_a_stray_nul_is_a_bad_line_and_a_file_full_of_them_no_text() -> None:
    assert [entry.url for entry in read(b"https://a.test/\0\nhttps://b.test/\n")] == [
        "https://a.test/\0",
        "https://b.test/",
    ]
    with pytest.raises(SeedFileError, match="holds no text"):
        read(b"PK\3\4" + bytes(500))


def test_bad_lines_of_json_say_why() -> None:
    found = read('{"url": "https://a.test/"}\n{"title": "no address"}\nrubbish\n', Parser.JSONL)
    assert [entry.problem for entry in found] == ["", 'it names no "url"', "it is no JSON object"]


def test_a_json_document_over_many_lines_is_read_as_one() -> None:
    found = read('[\n {"href": "https://a.test/", "description": "A", "tags": "x, y z"},\n "https://b.test/"\n]')
    assert found == [GivenUrl(0, "https://a.test/", "A", ("x", "y z")), GivenUrl(0, "https://b.test/")]


def test_entities_of_a_feed_are_refused() -> None:
    bomb = '<?xml version="1.0"?><!DOCTYPE rss [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><rss><item>&b;</item></rss>'
    with pytest.raises(SeedFileError, match="entities"):
        read(bomb)
    outside = '<?xml version="1.0"?><!DOCTYPE rss [<!ENTITY a SYSTEM "file:///etc/passwd">]><rss>&a;</rss>'
    with pytest.raises(SeedFileError, match="entities"):
        read(outside)


def test_a_broken_feed_says_where() -> None:
    with pytest.raises(SeedFileError, match="no XML at line 2"):
        read("<rss>\n<item></rss>", Parser.RSS)


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
        for parser in (Parser.TXT, Parser.NETSCAPE, Parser.HTML, Parser.URL_LIST):
            assert len(list(read_seeds(io.BytesIO(line.encode()), parser))) <= 7_000


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


def _first(entries: Iterator[GivenUrl], count: int) -> list[GivenUrl]:
    return [next(entries) for _ in range(count)]


def test_a_gigabyte_is_read_as_far_as_it_is_asked_for() -> None:
    file = _Endless(1_000_000_000)
    found = _first(read_seeds(io.BufferedReader(file)), 1_000)
    assert {entry.url for entry in found} == {"https://example.com/a-page-of-the-archive"}
    assert file.at < 1_000_000
