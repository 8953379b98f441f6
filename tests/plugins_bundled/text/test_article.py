"""Which of several texts is the article of a page."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from archivebox.plugins.article.choice import Page, choose
from archivebox.plugins.base.html_text import Block, html_to_blocks

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
    assert choose(Page(html_to_blocks(PAGE)), texts) == best


def test_a_caption_more_or_less_is_no_reason() -> None:
    page = Page(html_to_blocks(f"{PAGE}<figcaption>A wave.</figcaption>"))

    assert choose(page, {"a": WHOLE, "b": WHOLE + "\nA wave.\n"}) == "a"


def test_where_the_article_itself_is_full_of_links_more_of_it_is_no_frame() -> None:
    linked = [f'<p>{text} <a href="/x">and {text[:20]}</a></p>' for text in (STORY, REST, STORY[::-1], REST[::-1])]
    whole = "\n\n".join(f"{text} and {text[:20]}" for text in (STORY, REST, STORY[::-1], REST[::-1]))
    half = "\n\n".join(whole.split("\n\n")[:2])

    assert choose(Page(html_to_blocks("".join(linked))), {"a": whole, "b": half}) == "a"
    assert choose(Page(html_to_blocks("".join(linked))), {"a": half, "b": whole}) == "b"


def test_letters_count_and_not_how_they_are_laid_out() -> None:
    page = Page(html_to_blocks("<p>港口里的<a href=x>安静</a>灯笼</p><p>那年冬天账本</p>"))

    assert page.blocks_in("港口里的 安静 灯笼") == {0}


def test_without_the_page_the_most_trusted_text_is_best() -> None:
    assert choose(Page([]), {"a": STORY, "b": WHOLE}) == "a"


def test_a_block_knows_which_of_its_words_are_links() -> None:
    html = "<nav><a href=/>Home</a></nav><a href=/x><h3>Nine</h3><p>lanterns</p></a><p>and <a href=/y>more</a>.</p>"

    assert html_to_blocks(html) == [
        Block("Home", "Home"),
        Block("Nine", "Nine"),
        Block("lanterns", "lanterns"),
        Block("and more.", "more"),
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


def test_without_any_text_there_is_no_article(tmp_path: Path) -> None:
    assert run(tmp_path, {})["status"] == "noresults"
    assert list((tmp_path / "article").iterdir()) == []
