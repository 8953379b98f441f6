"""Which of several texts is the article of a page."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from archivebox.lib import html_sanitizer
from archivebox.plugins.article.boxes import Box, boxes_of, comments_in, with_boxes
from archivebox.plugins.article.choice import PageOpening, choose
from archivebox.plugins.base.html_text import TextBlock, html_to_blocks, html_to_text, parse_html

HOOK = Path(__file__).parents[3] / "archivebox" / "plugins" / "article" / "on_Snapshot__84_article.py"
STORY = "Nobody plans to lose a page. It is there in the morning, and a year later it is not."
REST = "Libraries met this problem with paper long ago, and kept the weather with the headlines."
TEASER = '<div><h3><a href="/x">Nine lanterns</a></h3><p>What the harbour sold is not for everybody to see.</p></div>'
PAGE = f"<nav><a href=/>Home</a></nav><h1>Pages</h1><p>{STORY}</p><p>{REST}</p>{TEASER}{TEASER}"
WHOLE = f"{STORY}\n\n{REST}\n"
WITH_TEASERS = WHOLE + "\nNine lanterns\n\nWhat the harbour sold is not for everybody to see.\n"


@pytest.mark.parametrize(
    ("texts", "best"),
    [
        ({"a": WHOLE, "b": WHOLE}, "a"),
        ({"a": STORY, "b": WHOLE}, "b"),
        ({"a": WHOLE, "b": STORY}, "a"),
        ({"a": WITH_TEASERS, "b": WHOLE}, "b"),
        ({"a": WHOLE, "b": WITH_TEASERS}, "a"),
        ({"a": WITH_TEASERS, "b": STORY, "c": WHOLE}, "c"),
        ({"a": WHOLE, "b": "something that is not on the page"}, "a"),
    ],
)
def test_the_text_with_all_of_the_article_and_nothing_around_it_is_best(texts: dict[str, str], best: str) -> None:
    assert choose(PageOpening(html_to_blocks(PAGE)), texts) == best


def test_of_a_page_of_short_lines_the_text_with_most_of_them_is_best() -> None:
    lines = ["Words of a module", "Brass compass", "Paper lantern", "Tide table"]
    page = PageOpening(html_to_blocks("".join(f"<p>{line}</p>" for line in lines)))

    assert choose(page, {"a": lines[0], "b": "\n".join(lines), "c": "\n".join(lines)}) == "b"
    assert choose(page, {"a": "\n".join(lines), "b": lines[0]}) == "a"


def test_a_caption_more_or_less_is_no_reason() -> None:
    page = PageOpening(html_to_blocks(f"{PAGE}<figcaption>A wave.</figcaption>"))

    assert choose(page, {"a": WHOLE, "b": WHOLE + "\nA wave.\n"}) == "a"


def test_what_readers_wrote_is_no_part_of_the_article() -> None:
    said = "I have kept every page of that paper since the war, and my daughter will not have any of them in the house."
    html = f"<p>{STORY}</p><p>{REST}</p><div id=Comments><p>{said}</p></div>"
    with_comment = f"{WHOLE}\n{said}\n"
    page = PageOpening(html_to_blocks(html), comments_in(parse_html(html)))

    assert choose(page, {"a": with_comment, "b": WHOLE}) == "b"
    assert choose(page, {"a": WHOLE, "b": with_comment}) == "a"
    assert choose(PageOpening(html_to_blocks(html)), {"a": WHOLE, "b": with_comment}) == "b", "it is by where it stands"


def test_a_thread_is_made_of_what_readers_wrote() -> None:
    html = f"<div class=comments><p>{STORY}</p><p>{REST}</p><p>{STORY[::-1]}</p></div>"

    assert (
        choose(
            PageOpening(html_to_blocks(html), comments_in(parse_html(html))),
            {"a": f"{STORY}\n\n{REST}\n", "b": f"{STORY}\n\n{REST}\n\n{STORY[::-1]}"},
        )
        == "b"
    )


def test_what_a_page_says_twice_is_no_part_of_the_article() -> None:
    caption = "Gunmen came to the museum through the garden door, and went the same way when they were done with it."
    page = PageOpening(html_to_blocks(f"<p>{STORY}</p><p>{REST}</p><i><p>{caption}</p></i><b><p>{caption}</p></b>"))

    assert choose(page, {"a": f"{WHOLE}\n{caption}\n{caption}", "b": WHOLE}) == "b"


NOTE = "A cache is a store that makes what is used often quicker to reach than the place where it comes from."
BOX = f'<div class="sidebar"><p><b>Words</b></p><p>{NOTE} See <a href="../cache?a=1">more</a>.</p></div>'


def boxes_in(html: str) -> list[Box]:
    return boxes_of(parse_html(html), WHOLE, "https://one.test/docs/page")


@pytest.mark.parametrize("kind", ["div class=sidebar", "aside", "div class='admonition tip'", "div role=note"])
def test_a_box_among_the_paragraphs_is_the_articles(kind: str) -> None:
    tag = kind.partition(" ")[0]
    page = (
        f"<section><p>{STORY}</p><{kind}><p onclick=x()>{NOTE}</p><script>x()</script></{tag}><p>{REST}</p></section>"
    )
    (box,) = boxes_in(page)

    assert box.html == f"<aside><p>{NOTE}</p></aside>"
    text = html_to_text(with_boxes(f"<h1>Pages</h1><p>{STORY}</p><p>{REST}</p>", [box]))
    assert text == f"Pages\n\n{STORY}\n\n{NOTE}\n\n{REST}\n"


def test_addresses_in_a_box_are_whole() -> None:
    (box,) = boxes_in(f"<section><p>{STORY}</p><p>{REST}</p>{BOX}</section>")

    assert 'href="https://one.test/cache?a=1"' in box.html


@pytest.mark.parametrize(
    "html",
    [
        f"<main><article><p>{STORY}</p><p>{REST}</p></article>{BOX}</main>",
        f"<p>{STORY}</p><p>{REST}</p><aside class=newsletter-signup><p>{NOTE}</p></aside>",
        f"<p>{STORY}</p><p>{REST}</p><aside><p><a href=/x>{NOTE}</a></p></aside>",
        f"<p>{STORY}</p><p>{REST}</p><aside><p>{NOTE}</p><input></aside>",
        f"<p>{STORY}</p><aside><p>{REST}</p></aside><p>{REST}</p>",
        f"<p>{STORY}</p><p>{REST}</p><aside>Ada</aside>",
        f"<p>Another page</p><aside><p>{NOTE}</p></aside><p>altogether</p>",
    ],
    ids=["of the site", "an offer", "links", "a form", "kept by the library", "a word", "of another article"],
)
def test_other_boxes_are_not(html: str) -> None:
    assert boxes_in(html) == []


THINGS = ("Brass compass", "Paper lantern", "Tide table", "Felt slippers", "Glass inkwell", "Seed cabinet")
ITEMS = "".join(f"<li>{thing}" for thing in THINGS)


@pytest.mark.parametrize("tag", ["ul", "ol", "dl"])
def test_a_list_below_two_parts_of_the_article_is_the_articles(tag: str) -> None:
    before = "<h2>What was kept in the shop</h2><p>Nobody has asked for it since.</p>"
    content = f"{before}<p>The end</p>"

    (found,) = boxes_of(parse_html(f"{before}<{tag}>{ITEMS}</{tag}>"), html_to_text(content), "https://one.test/")

    words = html_to_text(with_boxes(content, [found])).split()
    assert words.index("since.") < words.index("Brass") < words.index("Seed") < words.index("end")
    assert found.html.startswith(f"<{tag}><li>Brass")


@pytest.mark.parametrize(
    "given",
    [
        f"<ul class=post-meta>{ITEMS}</ul>",
        f"<ul class=tags>{ITEMS}</ul>",
        f"<ul><li><time>Today</time>{ITEMS}</ul>",
        f"<ul>{ITEMS.replace('<li>', '<li><a href=/x>')}</ul>",
        f"<nav><ul>{ITEMS}</ul></nav>",
        "<ul><li>Ada</ul>",
    ],
    ids=["facts", "tags", "a day", "links", "of the site", "a word"],
)
def test_other_lists_are_not(given: str) -> None:
    assert boxes_in(f"<p>{STORY}</p>{given}<p>{REST}</p>") == []


def test_boxes_come_back_in_their_order_also_where_their_place_is_not_found() -> None:
    boxes = [Box("<aside>0</aside>", ""), Box("<aside>1</aside>", "one"), Box("<aside>2</aside>", "one")]

    assert with_boxes("<p>One</p><p>two</p>", boxes) == (
        "<aside>0</aside><p>One</p><aside>1</aside><aside>2</aside><p>two</p>"
    )
    assert with_boxes("<p>two</p>", boxes) == "<aside>0</aside><p>two</p><aside>1</aside><aside>2</aside>"


def test_where_the_article_itself_is_full_of_links_more_of_it_is_no_frame() -> None:
    linked = [f'<p>{text} <a href="/x">and {text[:20]}</a></p>' for text in (STORY, REST, STORY[::-1], REST[::-1])]
    whole = "\n\n".join(f"{text} and {text[:20]}" for text in (STORY, REST, STORY[::-1], REST[::-1]))
    half = "\n\n".join(whole.split("\n\n")[:2])

    assert choose(PageOpening(html_to_blocks("".join(linked))), {"a": whole, "b": half}) == "a"
    assert choose(PageOpening(html_to_blocks("".join(linked))), {"a": half, "b": whole}) == "b"


def test_letters_count_and_not_how_they_are_laid_out() -> None:
    page = PageOpening(html_to_blocks("<p>港口里的<a href=x>安静</a>灯笼</p><p>那年冬天账本</p>"))

    assert page.blocks_in("港口里的 安静 灯笼") == {0}


def test_without_the_page_the_most_trusted_text_is_best() -> None:
    assert choose(PageOpening([]), {"a": STORY, "b": WHOLE}) == "a"


def test_a_block_knows_which_of_its_words_are_links() -> None:
    html = "<nav><a href=/>Home</a></nav><a href=/x><h3>Nine</h3><p>lanterns</p></a><p>and <a href=/y>more</a>.</p>"

    assert html_to_blocks(html) == [
        TextBlock("Home", "Home"),
        TextBlock("Nine", "Nine"),
        TextBlock("lanterns", "lanterns"),
        TextBlock("and more.", "more"),
    ]


def run(snapshot: Path, files: dict[str, str]) -> dict[str, Any]:
    (snapshot / "article").mkdir(exist_ok=True)
    for name, text in files.items():
        (snapshot / name).parent.mkdir(exist_ok=True)
        (snapshot / name).write_text(text)
    done = subprocess.run([sys.executable, HOOK], cwd=snapshot / "article", env={}, capture_output=True, check=True)
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def test_the_winner_is_said_and_kept_once(tmp_path: Path) -> None:
    files = {
        "dom/output.html": PAGE,
        "defuddle/content.txt": STORY,
        "readability/content.txt": WHOLE,
        "defuddle/content.html": f"<p>{STORY}</p>",
        "readability/content.html": f"<p>{WHOLE}</p>",
        "readability/article.json": '{"title": "Pages"}',
        "defuddle/article.json": '{"title": "Pages | Site", "published": "2023-11-14"}',
    }

    facts = run(tmp_path, files)["output_json"]
    run(tmp_path, files)

    folder = tmp_path / "article"
    assert (facts["source"], facts["title"], facts["published"]) == ("readability", "Pages", "2023-11-14")
    assert json.loads((folder / "article.json").read_text()) == facts
    assert (folder / "article.txt").samefile(tmp_path / "readability" / "content.txt")
    assert "<h1>Pages</h1>" in (folder / "article.html").read_text()


def test_a_title_that_the_page_shows_goes_before_a_headline_of_its_metadata(tmp_path: Path) -> None:
    files = {
        "dom/output.html": f"<title>Pages | Site</title>{PAGE}",
        "defuddle/content.txt": WHOLE,
        "readability/content.txt": WHOLE,
        "readability/content.html": f"<p>{WHOLE}</p>",
        "readability/article.json": '{"title": "what is kept of the web"}',
        "defuddle/article.json": '{"title": "Pages"}',
    }
    assert run(tmp_path, files)["output_json"]["title"] == "Pages"


def test_an_article_with_boxes_has_a_text_of_its_own(tmp_path: Path) -> None:
    files = {
        "dom/output.html": f"<h1>Pages</h1><p>{STORY}</p>{BOX}<p>{REST}</p>",
        "readability/content.txt": WHOLE,
        "readability/content.html": f"<p>{STORY}</p><p>{REST}</p>",
        "readability/article.json": "{}",
    }

    assert run(tmp_path, files)["output_json"]["boxes"] == 1

    folder = tmp_path / "article"
    assert (folder / "article.txt").read_text() == f"{STORY}\n\nWords\n\n{NOTE} See more.\n\n{REST}\n"
    assert f"<aside><p><b>Words</b></p><p>{NOTE}" in (folder / "article.html").read_text()
    assert (tmp_path / "readability" / "content.txt").read_text() == WHOLE


def test_the_app_shows_the_words_of_a_drawing(tmp_path: Path) -> None:
    drawing = "<svg><text>Keeper &lt;i&gt;</text><svg><text>Ledger</text></svg></svg>"
    files = {
        "readability/content.txt": WHOLE,
        "readability/content.html": f"<p>{STORY}</p>{drawing}<p>{REST}</p>",
        "readability/article.json": "{}",
    }

    run(tmp_path, files)

    page = (tmp_path / "article" / "article.html").read_text()
    assert f"{drawing}<p hidden" in page, "where the drawing is shown, its words are not shown again"
    assert "<p>Keeper &lt;i&gt; Ledger</p>" in html_sanitizer.article(page, "", "")


def test_without_any_text_there_is_no_article(tmp_path: Path) -> None:
    assert run(tmp_path, {})["status"] == "noresults"
    assert list((tmp_path / "article").iterdir()) == []
