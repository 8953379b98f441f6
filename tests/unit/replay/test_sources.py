"""Of several pictures that a page offers for one place, those that were recorded are shown."""

import pytest
from selectolax.lexbor import LexborHTMLParser

from archivebox.replay.addresses import ReplayContext
from archivebox.replay.rewriting.css import rewrite_css
from archivebox.replay.rewriting.html import rewrite_html
from archivebox.replay.rewriting.links import LinkRewriter

PLACE = ReplayContext("token", "http://127.0.0.1:8000", "20261122090000")
HERE = "https://site.example/"
LINKS = LinkRewriter(PLACE, HERE, HERE, lambda url: url in {f"{HERE}kept.png", f"{HERE}large.png"})


def shown(html: str) -> list[dict[str, str | None]]:
    """The attributes of all pictures and sources of a document, with names of files for addresses."""
    tree = LexborHTMLParser(rewrite_html(f"<body>{html}", LINKS))
    return [
        {name: value and value.replace(PLACE.address(HERE), "") for name, value in node.attributes.items()}
        for node in tree.css("source,img,link")
    ]


@pytest.mark.parametrize(
    ("given", "written"),
    [
        ('<img src="a.png" srcset="b.png 2x, kept.png 3x">',
         [{"src": "kept.png", "srcset": "kept.png 3x"}]),
        ('<img src="kept.png" srcset="b.png 2x">', [{"src": "kept.png"}]),
        ('<img src="kept.png" srcset="b.png 360w, large.png 1440w" sizes="100vw">',
         [{"src": "kept.png", "srcset": "large.png 1440w", "sizes": "100vw"}]),
        ('<picture><source srcset="dark.png" media="(prefers-color-scheme: dark)"><img src="kept.png"></picture>',
         [{"media": "(prefers-color-scheme: dark)"}, {"src": "kept.png"}]),
        ('<picture><source srcset="kept.png" media="(min-width: 800px)"><img src="phone.png"></picture>',
         [{"srcset": "kept.png", "media": "(min-width: 800px)"}, {"src": "kept.png"}]),
        ('<img src="a.png" srcset="b.png 2x">',
         [{"src": "a.png", "srcset": "b.png 2x"}]),
        ('<img src="data:image/png;base64,AA==" data-srcset="kept.png 1x, b.png 2x">',
         [{"src": "data:image/png;base64,AA==", "data-srcset": "kept.png 1x", "srcset": "kept.png 1x"}]),
        ('<link rel="preload" as="image" imagesrcset="kept.png 1x, b.png 2x">',
         [{"rel": "preload", "as": "image", "imagesrcset": "kept.png 1x"}]),
    ],
)  # fmt: skip
def test_what_was_recorded_is_left(given: str, written: list[dict[str, str]]) -> None:
    assert shown(given) == written


@pytest.mark.parametrize(
    ("given", "left"),
    [
        ('image-set("b.png" 1x, "kept.png" 2x)', 'image-set( url("kept.png") 2x)'),
        ("-webkit-image-set(url(kept.png) 1x, url(b.png) 2x)", '-webkit-image-set(url("kept.png") 1x)'),
        ("image-set(url( 'kept.png' ) 1x)", 'image-set(url("kept.png") 1x)'),
        ('image-set("b.avif" type("image/avif"), "kept.png")', 'image-set( url("kept.png"))'),
        ('image-set("a.png" 1x, "b.png" 2x)', 'image-set( url("a.png") 1x, url("b.png") 2x)'),
        ('image-set("b.png" 1x, linear-gradient(red, blue) 2x)', "image-set( linear-gradient(red, blue) 2x)"),
        ('image-set("data:image/png;base64,A)A" 1x)', 'image-set( url("data:image/png;base64,A)A") 1x)'),
        ('image-set("kept.png" 1x', 'image-set("kept.png" 1x'),
    ],
)
def test_of_an_image_set_what_was_recorded_is_left(given: str, left: str) -> None:
    written = rewrite_css(f"p {{ background: {given} }} q {{ background: url(a.png) }}", LINKS)
    assert written.replace(PLACE.address(HERE), "") == f'p {{ background: {left} }} q {{ background: url("a.png") }}'


def test_a_style_sheet_of_open_image_sets_takes_no_longer_than_its_length() -> None:
    text = "image-set(" * 100_000
    assert rewrite_css(text, LINKS) == text
