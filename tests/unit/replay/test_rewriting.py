"""What an archived document names is asked of the archive, and its links lead into the app."""

from __future__ import annotations

import os
from html import escape
from typing import TYPE_CHECKING

import pytest
from selectolax.lexbor import LexborHTMLParser

from archivebox.lib.html_sanitizer import article
from archivebox.replay.addresses import ReplayContext, path_of, read
from archivebox.replay.copies import has_links, linked_copy
from archivebox.replay.files import open_beneath
from archivebox.replay.pages import HTML
from archivebox.replay.rewriting.css import rewrite_css
from archivebox.replay.rewriting.document import connects, decode
from archivebox.replay.rewriting.html import candidates, rewrite_html, rewrite_links_only
from archivebox.replay.rewriting.links import LinkRewriter

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

PLACE = ReplayContext("token", "http://127.0.0.1:8000", "20261122090000")
HERE = "https://site.example/news/page"
KEPT = "/token/@http:127.0.0.1:8000/20261122090000/"
DEEP = "<div>" * 100_000
LINKED = "http://127.0.0.1:8000/web/follow/20261122090000/"


def links(*, scripts: bool = False) -> LinkRewriter:
    return LinkRewriter(PLACE, HERE, HERE, lambda url: url == "https://site.example/next", scripts)


def body_of(html: str, *, scripts: bool = False) -> str:
    return rewrite_html(f"<body>{html}", links(scripts=scripts)).partition("<body>")[2].removesuffix("</body></html>")


@pytest.mark.parametrize(
    ("given", "written"),
    [
        ('<img src="../a.png">', f'<img src="{KEPT}https://site.example/a.png">'),
        ('<img src="//cdn.example/a.png?b=1&amp;c">', f'<img src="{KEPT}https://cdn.example/a.png?b=1&amp;c">'),
        ('<img src="data:image/png;base64,AA==">', '<img src="data:image/png;base64,AA==">'),
        (
            '<img srcset="a.png, /b,c.png 2x">',
            f'<img srcset="{KEPT}https://site.example/news/a.png, {KEPT}https://site.example/b,c.png 2x">',
        ),
        ('<p style="background:url(a.png)">', f'<p style="background:url(&quot;{KEPT}https://site.example/news/a.png&quot;)"></p>'),
        ('<script src="a.js" integrity="x" nonce="y" crossorigin></script>', f'<script src="{KEPT}https://site.example/news/a.js"></script>'),
        ('<iframe src="/frame"></iframe>', f'<iframe src="{KEPT}https://site.example/frame"></iframe>'),
        ('<svg><use xlink:href="/i.svg#x"/></svg>', f'<svg><use xlink:href="{KEPT}https://site.example/i.svg#x"></use></svg>'),
        ('<template><img src="/a"></template>', f'<template><img src="{KEPT}https://site.example/a"></template>'),
        ('<a href="/b#c">d</a>', f'<a href="{LINKED}https://site.example/b#c" target="_top">d</a>'),
        (
            '<a href="/b" target="_blank" ping="/spy" download>d</a>',
            f'<a href="{LINKED}https://site.example/b" target="_top">d</a>',
        ),
        ('<a href="page#part">d</a>', '<a href="#part">d</a>'),
        ('<a href="#part">d</a>', '<a href="#part">d</a>'),
        (
            '<img src="none.gif" data-src="/next">',
            f'<img src="{KEPT}https://site.example/next" data-src="{KEPT}https://site.example/next">',
        ),
        (
            '<img data-srcset="/next 2x">',
            f'<img data-srcset="{KEPT}https://site.example/next 2x" srcset="{KEPT}https://site.example/next 2x">',
        ),
        ('<img data-src="/never-scrolled-to">', '<img data-src="/never-scrolled-to">'),
        ('<a href="mailto:a@b.example">d</a>', '<a href="mailto:a@b.example">d</a>'),
    ],
)  # fmt: skip
def test_what_a_page_names_is_in_the_archive(given: str, written: str) -> None:
    assert body_of(given) == written


def test_a_frame_in_a_sandbox_has_the_origin_of_its_recording() -> None:
    for given in ("allow-scripts", "Allow-Same-Origin allow-scripts", ""):
        (frame,) = LexborHTMLParser(body_of(f'<iframe sandbox="{given}" src="/f"></iframe>')).css("iframe")
        assert (frame.attributes["sandbox"] or "").lower().split().count("allow-same-origin") == 1


def test_what_noscript_has_is_shown_where_it_was_recorded_and_nothing_else_shows_it() -> None:
    picture = f'<img src="{KEPT}https://site.example/next">'
    lazy = '<img data-src="/next"> '
    assert body_of('<noscript>Please<img src="/no"><iframe src="/tag"></iframe></noscript>') == "<noscript></noscript>"
    assert body_of('<noscript><p><img src="/next"></noscript>') == f"<noscript>{picture}</noscript>"
    assert "<noscript></noscript>" in body_of(f'{lazy}<noscript><img src="/next"></noscript>')
    assert body_of("<noscript><style>p{}</style></noscript>") == "<noscript><style>p{}</style></noscript>"


def test_with_scripts_links_stay_in_the_frame() -> None:
    assert body_of('<a href="/b" target="_top">c</a>', scripts=True) == f'<a href="{KEPT}https://site.example/b">c</a>'


def test_a_document_within_is_changed_too() -> None:
    written = body_of('<iframe srcdoc="<img src=/a.png>"></iframe>')
    assert f"&lt;img src=&quot;{KEPT}https://site.example/a.png&quot;&gt;" in written


def test_the_base_of_a_page_is_minded_and_goes() -> None:
    written = rewrite_html('<base href="https://cdn.example/x/"><img src="a.png">', links())
    assert f'src="{KEPT}https://cdn.example/x/a.png"' in written
    assert "<base" not in written


@pytest.mark.parametrize(
    "given",
    [
        '<link rel="preconnect" href="https://live.example/">', '<link rel="dns-prefetch" href="//live.example/">',
        '<link rel="prefetch" href="https://live.example/">', '<meta http-equiv="Content-Security-Policy" content="x">',
        '<meta http-equiv="refresh" content="0; url=https://live.example/">', '<meta name="referrer" content="origin">',
        f'<meta http-equiv="refresh" content="1; url={HERE}">', '<meta http-equiv="refresh" content="5">',
        '<meta http-equiv="set-cookie" content="a=b">', '<meta http-equiv="x-dns-prefetch-control" content="on">',
    ],
)  # fmt: skip
def test_nothing_is_left_that_connects_elsewhere_or_sets_rules(given: str) -> None:
    assert "<head></head>" in rewrite_html(f"<head>{given}</head>", links())


def test_a_page_leads_on_by_itself_only_to_what_is_kept() -> None:
    written = rewrite_html("<meta http-equiv=refresh content='3; URL=\"/next\"'>", links())
    assert f'content="0; url={KEPT}https://site.example/next"' in written


def test_the_mode_of_a_document_is_kept() -> None:
    old = '<!-- saved --><!DOCTYPE HTML PUBLIC "-//W3C//DTD HTML 3.2//EN"><p>a'
    assert '<!DOCTYPE HTML PUBLIC "-//W3C//DTD HTML 3.2//EN">' in rewrite_html(old, links())
    assert "<!DOCTYPE" not in rewrite_html("<p>a", links())


def test_of_a_copy_that_is_whole_in_itself_only_links_to_the_web_are_changed() -> None:
    given = '<body><img src="a.png"><a href="b.html">c</a><a href=" HTTPS://d.example/e">f</a>'
    written = f'<img src="a.png"><a href="b.html">c</a><a href="{LINKED}https://d.example/e" target="_top">f</a>'
    assert f"<body>{written}</body>" in rewrite_links_only(given, links())


def test_a_copy_among_the_files_of_a_snapshot_leads_into_the_app(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text('<a href="//d.example/e">f</a>')
    opened = open_beneath(tmp_path, ["a.html"])
    assert f'href="{LINKED}https://d.example/e"'.encode() in linked_copy(opened, PLACE, scripts=False).read(1000)
    os.close(opened.descriptor)


def test_of_a_long_copy_the_beginning_is_shown_and_as_clean_as_any(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("archivebox.replay.copies.LARGEST_TEXT", 100)
    (tmp_path / "a.html").write_text('<link rel="preconnect" href="https://live.example/"><p>begun</p>' + "x" * 100)
    opened = open_beneath(tmp_path, ["a.html"])
    shown = linked_copy(opened, PLACE, scripts=False)
    text = shown.read(1000)
    assert has_links(opened)
    assert (shown.mimetype, shown.is_clean, b"live.example" in text, b"begun" in text) == (HTML, True, False, True)
    os.close(opened.descriptor)


def test_a_copy_that_no_parser_is_to_read_is_shown_as_its_source(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text('<link rel="preconnect" href="https://live.example/">' + DEEP)
    opened = open_beneath(tmp_path, ["a.html"])
    shown = linked_copy(opened, PLACE, scripts=False, apart=True)
    assert (shown.mimetype, shown.is_clean) == ("text/plain; charset=utf-8", False)
    assert article(DEEP, "", "") == f"<pre>{escape(DEEP)}</pre>"
    os.close(opened.descriptor)


@pytest.mark.parametrize(
    "given",
    [
        '<link rel="preload dns-prefetch preconnect" as="image" href="https://live.example/">', '<base target="_top">',
        '<a href="https:live.example" referrerpolicy="unsafe-url">a</a>', '<a href="\\\\live.example">a</a>',
        '<a href="\x01https://live.example/" target="_top">a</a>', '<meta name="Referrer" content="unsafe-url">',
        '<svg><a href="//live.example"><set attributeName="href" to="https://live.example/"/>a</a></svg>',
        "<svg><style>&lt;link rel=preconnect href=https://live.example></style></svg>",
        "<svg><xmp>&lt;svg>&lt;xmp>&amp;lt;link rel=preconnect href=https://live.example></xmp></svg>",
        "<svg><script><![CDATA[</script><link rel=preconnect href=https://live.example>]]></script></svg>",
        '<math><mtext><table><mglyph><style><!--</style><link rel=preconnect href="https://live.example">',
        '<!-- --!><link rel=preconnect href="https://live.example"> -->',
        r'<style>a{b:url("data:,\3c/style\3e\3clink rel=preconnect href=https://live.example\3e")}</style>',
        '<template><template shadowrootmode=open><link rel=preconnect href="https://live.example"></template></template>',
        '<iframe srcdoc="<link rel=preconnect href=https://live.example>"></iframe>',
    ],
)  # fmt: skip
@pytest.mark.parametrize("write", [rewrite_html, rewrite_links_only])
def test_a_cleaned_document_connects_nowhere_and_sends_no_referrer(
    given: str, write: Callable[[str, LinkRewriter], str]
) -> None:
    written = write(f"<body>{given}", links())
    assert rewrite_links_only(written, links()) == written, "a browser reads it as we did"
    leads_out = LexborHTMLParser(written).css("link[rel~=preconnect], base, meta, [referrerpolicy], set")
    assert not leads_out
    for link in LexborHTMLParser(written).css("a"):
        assert str(link.attributes["href"]).startswith(LINKED)


def test_what_never_comes_to_rest_is_not_shown_and_does_not_take_long() -> None:
    given = "<link rel=preconnect href=//live.example>"
    for _ in range(8):
        given = f"<svg><title><svg><style>{escape(given)}</style>"
    for write in (rewrite_html, rewrite_links_only):
        assert "<link" not in write(given, links())


@pytest.mark.parametrize(
    ("given", "written"),
    [
        ("a{b:url( 'c.png' )}", f'a{{b:url("{KEPT}https://site.example/news/c.png")}}'),
        ("@import 'c.css' screen;", f'@import "{KEPT}https://site.example/news/c.css" screen;'),
        ("@IMPORT url(//d.example/c.css);", f'@IMPORT url("{KEPT}https://d.example/c.css");'),
        ("a{b:url(c\\29.png)}", f'a{{b:url("{KEPT}https://site.example/news/c).png")}}'),
        ("/* url(c) */ a{content:'url(c)'}", "/* url(c) */ a{content:'url(c)'}"),
        ("a{b:url(#c)}", 'a{b:url("#c")}'),
        ("@namespace url(http://www.w3.org/2000/svg);", "@namespace url(http://www.w3.org/2000/svg);"),
    ],
)
def test_style_sheets(given: str, written: str) -> None:
    assert rewrite_css(given, links()) == written


@pytest.mark.parametrize(
    ("given", "answer"),
    [
        ('<svg xmlns="http://www.w3.org/2000/svg"><path d="M0 0"/></svg>', False),
        ('<svg><foreignObject><p xmlns="http://www.w3.org/1999/xhtml">a</p></foreignObject></svg>', False),
        ('<svg xmlns:h="http://www.w3.org/1999/xhtml"><h:link rel="preconnect" href="//live.example"/></svg>', True),
        ('<svg xmlns:h="&#104;ttp://www.w3.org/1999/xht&#109;l"><h:link/></svg>', True),
        ("<!DOCTYPE svg [<!ENTITY h \"<link xmlns='http://www.w3.org/1999/xhtml'/>\">]><svg>&h;</svg>", True),
        ('<svg><a:b/><link xmlns="http://www.w3.org/1999/xhtml"/></svg>', True),
        ("<svg><a:b/></svg>", False),
    ],
)
def test_xml_with_elements_of_html_that_connect_is_told(given: str, answer: bool) -> None:
    assert connects(given.encode()) is answer
    assert connects(given.encode("utf-16")) is answer or "a:b" in given


def test_commas_in_a_srcset_belong_to_its_urls() -> None:
    assert list(candidates(" a,b 1x,c, d 2w , data:x,y 3x")) == [
        ("a,b", " 1x"), ("c", ""), ("d", " 2w"), ("data:x,y", " 3x"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ("für".encode("cp1252"), "text/html; charset=iso-8859-1"), ("für".encode("cp1252"), "text/html"),
        (b'<meta charset="windows-1252">' + "für".encode("cp1252"), "text/html"), ("für".encode(), "text/html"),
        ("\ufefffür".encode("utf-16-le"), "text/html; charset=iso-8859-1"),
        ("für".encode(), "text/html; charset=nothing"),
    ],
)  # fmt: skip
def test_text_is_read_as_browsers_read_it(data: bytes, said: str) -> None:
    assert decode(data, said).endswith("für")


def test_an_address_says_where_and_what() -> None:
    url = "https://site.example/a%2Fb?c=d%26&e"
    path = PLACE.address(url).removeprefix("/token/")
    assert read("token", path)[:2] == (PLACE, url)
    assert read("token", path.replace("https://", "https:/"))[:2] == (PLACE, url), "a proxy took // for /"
    file = "singlefile/singlefile.html"
    assert read("token", file)[:2] == (None, file)
    assert read("token", path_of(PLACE.app, PLACE.moment, file))[:2] == (PLACE, file)
    evil = "@http:evil;x/20261122090000/https://a.example/"
    assert read("token", evil)[:2] == (None, evil)


@pytest.mark.parametrize(
    "text",
    ["<!---->" * 200, "<style>a{b:url(" + " " * 200_000, '<style>"' + '\\"' * 100_000, "<p style='" + '\\"' * 100_000],
)
def test_no_page_keeps_the_server_busy(text: str) -> None:
    """By something of which there are very many ways to read it."""
    assert rewrite_html(text, links())
    assert rewrite_links_only(text, links())
