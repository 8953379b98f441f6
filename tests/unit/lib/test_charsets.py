"""Which charset documents and style sheets say they are written in, and which codec reads it."""

import pytest

from archivebox.lib.charsets import codec_of, declared_in_css, declared_in_html

PADDING = b"<!-- " + b"x" * 2000 + b" -->"


@pytest.mark.parametrize(
    ("html", "label"),
    [
        (b'<meta charset="koi8-r">', "koi8-r"),
        (b"<META CharSet = ' gbk ' >", "gbk"),
        (b"<meta charset=big5/><p>", "big5/"),
        (b'<meta http-equiv="Content-Type" content="text/html; charset=Shift_JIS">', "Shift_JIS"),
        (b"<meta content='text/html;charset=\"gbk\"' http-equiv=content-type>", "gbk"),
        (b'<meta name="description" content="a text with charset=gbk in it">', ""),
        (b'<meta content="text/html; charset=gbk">', ""),
        (b"<!-- <meta charset=gbk> --><meta charset=big5>", "big5"),
        (b"<title><meta charset=gbk></title><meta charset=big5>", "big5"),
        (b"<script>'<meta charset=gbk>'</script><meta charset=big5>", "big5"),
        (b"<a title='<meta charset=gbk>'><meta charset=big5>", "big5"),
        (b"<noscript><meta charset=gbk></noscript>", "gbk"),
        (b"<html><head>" + PADDING + b"<meta charset=gbk></head>", "gbk"),
        (b"<html><head></head><body>" + PADDING + b"<p><meta charset=gbk>", ""),
        (b"<p><meta charset=gbk>", "gbk"),
        (b'<?xml version="1.0" encoding="koi8-r"?><html/>', "koi8-r"),
        (b'<?xml version="1.0" encoding="koi8-r"?><meta charset="gbk">', "gbk"),
        (b"</meta charset=gbk>", ""),
        (b"", ""),
    ],
)
def test_declared_in_html(html: bytes, label: str) -> None:
    assert declared_in_html(html) == label


def test_declared_in_css() -> None:
    assert declared_in_css(b'@charset "gbk";a{}') == "gbk"
    assert [declared_in_css(css) for css in (b"@charset 'gbk';", b' @charset "gbk";', b'@CHARSET "gbk";')] == [""] * 3


def test_what_never_ends_is_read_at_once() -> None:
    for piece in (b"<a '\"", b"<!--", b"<script", b"<meta charset", b'<a "', b"<title>"):
        assert declared_in_html(piece * (256 * 1024 // len(piece))) == ""


@pytest.mark.parametrize(
    ("label", "codec"),
    [
        ("UTF-8", "utf-8"), ("latin1", "cp1252"), ("us-ascii", "cp1252"), ("windows-1251", "cp1251"),
        ("x-cp1251", "cp1251"), ("Shift_JIS", "cp932"), ("x-sjis", "cp932"), ("GBK", "gb18030"), ("gb2312", "gb18030"),
        ("Big5", "big5hkscs"), ("EUC-KR", "cp949"), ("windows-874", "cp874"), ("IBM866", "cp866"),
        ("macintosh", "mac-roman"), ("x-mac-cyrillic", "mac-cyrillic"), ("ISO-8859-8-I", "iso8859-8"),
        ("hex", None), ("rot13", None), ("utf-7", None), ("unicode_escape", None), ("", None), ("a\0b", None),
    ],
)  # fmt: skip
def test_codecs_of_the_web_alone(label: str, codec: str | None) -> None:
    assert codec_of(label) == codec
