"""Articles that libraries find in the live page."""

from __future__ import annotations

import json
from pathlib import Path
from urllib.request import urlopen

import pytest
from selectolax.lexbor import LexborHTMLParser

from archivebox.plugins.base.tab import Tab
from tests.plugins_bundled.browser.chain import NAVIGATE, Crawl, Snapshot
from tests.programs import Programs
from tests.site.serve import Site

pytestmark = pytest.mark.browser
READERS = {
    "readability": "readability/on_Snapshot__55_readability.py",
    "mercury": "mercury/on_Snapshot__56_mercury.py",
    "defuddle": "defuddle/on_Snapshot__56_defuddle.py",
}
TITLE = "title/on_Snapshot__54_title.py"
ARTICLE = "article/on_Snapshot__84_article.py"
COUNTED = '<p><img src="/image.png?counted" onload="globalThis.loads = (globalThis.loads || 0) + 1" alt=""></p>'
ADD_COUNTED = f"""new Promise(loaded => {{
    document.querySelector("article").insertAdjacentHTML("beforeend", {json.dumps(COUNTED)});
    document.querySelector("article > p:last-child img").addEventListener("load", () => loaded(true));
}})"""


@pytest.fixture(scope="module")
def article(crawl: Crawl, site: Site, programs: Programs) -> Snapshot:
    """The long article, open in a tab with a picture that counts how often it loads; read by all."""
    for plugin in READERS:
        programs.install(plugin)
    snapshot = crawl.snapshot("article", site.url_for("/article"), **programs.environment)
    recorder = snapshot.record()
    assert snapshot.run(NAVIGATE).status == "succeeded"
    tab = Tab.attach(str(snapshot.folder / "chrome"), read_only=True)
    assert tab.evaluate(ADD_COUNTED, wait=True)
    before = tab.evaluate("document.documentElement.outerHTML")
    for plugin, hook in READERS.items():
        outcome = snapshot.run(hook)
        assert outcome.status == "succeeded", (plugin, outcome)
    assert tab.evaluate("document.documentElement.outerHTML") == before
    assert tab.evaluate("globalThis.loads") == 1
    tab.close()
    recorder.stop()
    snapshot.close()
    return snapshot


def test_a_page_of_frames_alone_is_read_as_what_they_show(crawl: Crawl, site: Site, article: Snapshot) -> None:
    page = crawl.snapshot("frames", site.url_for("/modern/frames.html"), **article.settings)
    assert page.navigate().status == "succeeded"
    outcome = page.run(READERS["readability"])
    page.close()
    assert outcome.status == "succeeded", outcome
    assert "Nobody plans to lose a page." in (page.folder / "readability" / "content.txt").read_text()


@pytest.mark.parametrize("plugin", READERS)
def test_the_article_is_kept_without_what_is_around_it(article: Snapshot, plugin: str) -> None:
    folder = article.folder / plugin
    text = (folder / "content.txt").read_text()
    html = (folder / "content.html").read_text()
    assert "Pages that vanish\n\nNobody plans to lose a page." in text
    assert "The best test of an archive is a reader with a question." in text
    assert "Nothing here is from elsewhere" not in text + html
    assert '<meta charset="utf-8">' in html
    assert html.count("<h2") == 4
    assert json.loads((folder / "article.json").read_text())["title"] == "On Keeping Pages"


def test_the_best_article_is_a_page_that_needs_nothing_from_the_web(article: Snapshot, site: Site) -> None:
    outcome = article.run(ARTICLE)

    page = LexborHTMLParser((article.folder / "article" / "article.html").read_text())
    pictures = {node.attributes["src"] or "" for node in page.css("img")}
    assert outcome.status == "succeeded", outcome
    assert [node.text() for node in page.css("h1")] == ["On Keeping Pages"]
    assert {(article.folder / "article" / name).read_bytes() for name in pictures} == {picture_of(site)}


def test_pictures_that_are_too_large_together_stay_on_the_web(article: Snapshot, site: Site) -> None:
    article.run(ARTICLE, ARTICLE_PICTURES_SIZE="100")

    page = LexborHTMLParser((article.folder / "article" / "article.html").read_text())
    assert {(node.attributes["src"] or "").partition("?")[0] for node in page.css("img")} == {
        site.url_for("/image.png")
    }


def picture_of(site: Site) -> bytes:
    with urlopen(site.url_for("/image.png")) as answer:
        content: bytes = answer.read()
    return content


def test_a_page_without_an_article_is_no_result_and_no_file(crawl: Crawl, site: Site, programs: Programs) -> None:
    snapshot = crawl.snapshot("empty", site.url_for("/image-only"), **programs.environment)
    snapshot.navigate()
    for plugin, hook in READERS.items():
        outcome = snapshot.run(hook)
        assert outcome.status == "noresults", (plugin, outcome)
        assert list((snapshot.folder / plugin).iterdir()) == []
    snapshot.close()


def test_a_library_that_is_not_installed_is_said_by_name(crawl: Crawl, site: Site, tmp_path: Path) -> None:
    snapshot = crawl.snapshot("without", site.url_for("/article"), NODE_MODULES_DIR=str(tmp_path))

    outcome = snapshot.run(READERS["readability"])

    assert outcome.status == "failed"
    assert "@mozilla/readability is not installed" in outcome.stderr


@pytest.mark.parametrize(
    ("parse", "reason"),
    [("for (;;) {}", "was not done within 2 s"), ("throw new Error('no such luck')", "no such luck")],
)
def test_a_library_that_cannot_cope_fails_by_itself_and_the_page_goes_on(
    crawl: Crawl, site: Site, tmp_path: Path, parse: str, reason: str
) -> None:
    library = tmp_path / "@mozilla" / "readability" / "Readability.js"
    library.parent.mkdir(parents=True)
    library.write_text(f"globalThis.Readability = class {{ parse() {{ {parse} }} }}")
    snapshot = crawl.snapshot(tmp_path.name, site.url_for("/article"), NODE_MODULES_DIR=str(tmp_path))
    snapshot.navigate()

    outcome = snapshot.run(READERS["readability"], READABILITY_TIMEOUT="4")

    assert outcome.result is not None
    assert outcome.status == "failed", outcome
    assert outcome.result.get("retry") in ({None, "later"} if "was not done" in reason else {None}), "a busy machine"
    assert reason in outcome.result["output_str"]
    assert snapshot.run(TITLE).status == "succeeded"
    snapshot.close()
