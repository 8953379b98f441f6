"""What browsers take an answer for, of what is written into its Content-Type and of what it begins with."""

import pytest

from archivebox.lib.mime_sniffing import MediaType, is_xml_type, parse_content_type, sniff_type, type_in_use


@pytest.mark.parametrize(
    ("header", "essence", "charset"),
    [
        ("text/html", "text/html", ""),
        ("TEXT/HTML;Charset=UTF-8", "text/html", "UTF-8"),
        (" text/html ; charset = x;charset=windows-1251", "text/html", "windows-1251"),
        ("text/html; charset=koi8-r ; x=y", "text/html", "koi8-r"),
        ("text/html;charset='utf-8'", "text/html", "utf-8"),
        ('text/html;charset="a;b\\"c", text/html', "text/html", 'a;b"c'),
        ("text/html;charset=", "text/html", ""),
        ("text/html;charset", "text/html", ""),
        ("text/html;x=y;charset=big5;charset=gbk", "text/html", "big5"),
        ("text/html charset=utf-8", "text/html", ""),
        ("text/html(x", "text/html", ""),
        ("text/html (a comment);charset=gbk", "text/html", "gbk"),
        ("text/html,text/html", "text/html", ""),
        ("text/html;charset=gbk, text/html", "text/html", "gbk"),
        ("text/html;charset=gbk, text/plain", "text/plain", ""),
        ("text/plain, text/html", "text/html", ""),
        ("text/html, */*", "text/html", ""),
        ("text/html, nonsense", "text/html", ""),
        ("text/xsl", "text/xsl", ""),
        ("application/xhtml+xml;charset=utf-8", "application/xhtml+xml", "utf-8"),
        ("", "", ""),
        ("*/*", "", ""),
        ("unknown/unknown", "", ""),
        ("html", "", ""),
        ("text/", "", ""),
        ("text/ht<ml", "", ""),
        ("text/html\x00", "", ""),
        ("{{ type }}", "", ""),
    ],
)
def test_content_types(header: str, essence: str, charset: str) -> None:
    assert parse_content_type(header) == MediaType(essence, charset)


def test_a_type_is_written_as_browsers_read_it() -> None:
    assert str(parse_content_type("text/html(x; charset=gbk")) == "text/html; charset=gbk"
    assert str(MediaType("image/png")) == "image/png"


@pytest.mark.parametrize(
    ("head", "essence"),
    [
        (b" \n<!doctype html><p>", "text/html"), (b"<HTML>", "text/html"), (b"<p>text", "text/html"),
        (b"<a href=x>", "text/html"), (b"<!-- x -->", "text/html"), (b"<picture>", "text/plain"),
        (b"<abbr>", "text/plain"), (b'<?xml version="1.0"?>', "text/xml"), (b"%PDF-1.7", "application/pdf"),
        (b"\xef\xbb\xbf<html>", "text/plain"), (b"\x89PNG\r\n\x1a\n....", "image/png"),
        (b"RIFF\1\2\3\4WEBPVP8 ", "image/webp"), (b"\x00\x00\x00\x1cftypavif", "image/avif"),
        (b"\x00\x00\x00\x1cftypisom", "video/mp4"), (b"\x1f\x8b\x08\x00", "application/x-gzip"),
        (b"wOF2\x00\x01", "font/woff2"), (b"plain text\n", "text/plain"),
        (b"\x00\x01binary", "application/octet-stream"), (b"", "text/plain"),
    ],
)  # fmt: skip
def test_types_of_bytes(head: bytes, essence: str) -> None:
    assert sniff_type(head) == essence


@pytest.mark.parametrize(
    ("declared", "use", "nosniff", "essence"),
    [
        ("text/plain", "Script", False, "text/javascript"),
        ("text/plain", "Script", True, "text/plain"),
        ("", "Script", False, "text/javascript"),
        ("image/png", "Script", False, "image/png"),
        ("text/csv", "Script", False, "text/csv"),
        ("application/x-javascript", "Script", False, "application/x-javascript"),
        ("", "Stylesheet", False, "text/css"),
        ("text/plain", "Stylesheet", False, "text/plain"),
        ("", "Document", True, "text/html"),
        ("text/plain", "Document", False, "text/plain"),
        ("", "Image", False, "text/html"),
    ],
)
def test_types_in_use(declared: str, use: str, nosniff: bool, essence: str) -> None:
    assert type_in_use(declared, b"<p>text", use=use, nosniff=nosniff) == essence


def test_types_of_xml() -> None:
    named = [
        "text/xml", "application/xml", "text/xsl", "image/svg+xml", "application/rss+xml", "text/html", "text/xmlx",
    ]  # fmt: skip
    assert [is_xml_type(name) for name in named] == [True, True, True, True, True, False, False]
