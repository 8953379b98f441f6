"""What is done on a page before it is kept: folded parts opened, scrolled through, the person's own files put in."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.plugins_bundled.browser.chain import Crawl, Snapshot
from tests.site.serve import Site

pytestmark = pytest.mark.browser
EXPAND = "expand/on_Snapshot__40_expand.py"
SCROLL = "infiniscroll/on_Snapshot__45_infiniscroll.py"
CUSTOM = "custom_css_js/on_Snapshot__47_custom_css_js.py"
DOM = "dom/on_Snapshot__53_dom.py"


def opened(crawl: Crawl, site: Site, path: str) -> Snapshot:
    snapshot = crawl.snapshot(path.strip("/"), site.url_for(path))
    assert snapshot.navigate().status == "succeeded"
    return snapshot


def kept(snapshot: Snapshot) -> str:
    outcome = snapshot.run(DOM)
    assert outcome.status == "succeeded", outcome
    return (snapshot.folder / "dom" / "output.html").read_text()


def test_folded_parts_are_opened_and_nothing_else_is_pressed(crawl: Crawl, site: Site) -> None:
    site.forget()
    page = opened(crawl, site, "/folded")
    outcome, html = page.run(EXPAND), kept(page)
    assert outcome.result is not None, outcome
    assert outcome.result["output_str"] == "opened 3 details, 3 parts"
    assert html.count("<details open") == 3
    assert '<div id="panel">' in html
    assert "and the rest of it." in html
    assert '<div id="search-wrapper" hidden="">' in html, "what opens a search or a menu"
    assert "<title>Folded</title>" in html
    assert not site.hits("/red") + site.hits("/blue") + site.hits("/green"), "no form was sent"


def test_a_page_without_folded_parts_has_no_result(crawl: Crawl, site: Site) -> None:
    outcome = opened(crawl, site, "/colour").run(EXPAND)
    assert (outcome.code, outcome.status) == (0, "noresults"), outcome


def test_expanding_ends_at_its_limit(crawl: Crawl, site: Site) -> None:
    outcome = opened(crawl, site, "/big-dom?elements=2&details=250").run(EXPAND)
    assert outcome.result is not None
    assert outcome.result["output_str"] == "opened 200 details, stopped: at 200 parts"


def test_scrolling_loads_every_lazy_picture_and_goes_back_to_the_top(crawl: Crawl, site: Site) -> None:
    page = opened(crawl, site, "/lazy")
    outcome = page.run(SCROLL)
    assert outcome.result is not None, outcome
    assert outcome.result["output_str"].endswith("screens, stopped: no more")
    assert len({hit.path for hit in site.requests if hit.path.startswith("/image.png?lazy=")}) == 24
    again = page.run(SCROLL, INFINISCROLL_SCROLL_LIMIT="1")
    assert again.result is not None
    assert again.result["output_str"] == "scrolled 1 screen, stopped: at 1 screen", "it began at the top"


def test_an_endless_list_grows_until_the_limit(crawl: Crawl, site: Site) -> None:
    outcome = opened(crawl, site, "/endless").run(SCROLL, INFINISCROLL_SCROLL_LIMIT="6")
    assert outcome.result is not None, outcome
    assert outcome.result["output_str"] == "scrolled 6 screens, stopped: at 6 screens"
    before, after = outcome.result["output_json"]["height"]
    assert after > before


def test_a_list_that_ends_is_loaded_to_its_end(crawl: Crawl, site: Site) -> None:
    page = opened(crawl, site, "/endless?whole")
    outcome = page.run(SCROLL, INFINISCROLL_SCROLL_LIMIT="100")
    assert outcome.result is not None, outcome
    assert outcome.result["output_str"].endswith("stopped: no more"), outcome
    assert "The end" in kept(page)


def test_bytes_that_scrolling_loads_are_limited(crawl: Crawl, site: Site) -> None:
    outcome = opened(crawl, site, "/endless?bytes").run(
        SCROLL, INFINISCROLL_MAX_SIZE="1000", INFINISCROLL_SCROLL_LIMIT="1000"
    )
    assert outcome.result is not None, outcome
    assert outcome.result["output_str"].endswith("stopped: after 0 MB")


def test_a_part_that_scrolls_instead_of_the_window_is_scrolled(crawl: Crawl, site: Site) -> None:
    page = opened(crawl, site, "/own-scroller")
    outcome = page.run(SCROLL)
    assert outcome.status == "succeeded", outcome
    assert "it was seen" in kept(page)


def test_files_named_after_the_page_are_put_in(crawl: Crawl, site: Site, tmp_path: Path) -> None:
    (tmp_path / "127.0.0.1").mkdir()
    (tmp_path / "all.css").write_text("h1 { color: rgb(1, 2, 3) }")
    (tmp_path / "127.0.0.1" / "folded.js").write_text(
        "Promise.resolve().then(() => { document.title = getComputedStyle(document.querySelector('h1')).color })"
    )
    (tmp_path / "127.0.0.1" / "other.js").write_text("document.title = 'of another page'")
    page = opened(crawl, site, "/folded?own")
    outcome = page.run(CUSTOM, CUSTOM_CSS_JS_DIR=str(tmp_path))
    assert outcome.result is not None, outcome
    assert outcome.result["output_str"] == "put in all.css, folded.js"
    assert "<title>rgb(1, 2, 3)</title>" in kept(page)


def test_a_script_of_the_persons_that_throws_or_hangs_is_named(crawl: Crawl, site: Site, tmp_path: Path) -> None:
    (tmp_path / "throws.js").write_text("missing.thing")
    (tmp_path / "hangs.js").write_text("for (;;) ;")
    files = f'["{tmp_path}/throws.js", "{tmp_path}/hangs.js"]'
    page = opened(crawl, site, "/colour?own")
    outcome = page.run(CUSTOM, CUSTOM_CSS_JS_DIR=str(tmp_path), CUSTOM_CSS_JS_FILES=files, CUSTOM_CSS_JS_TIMEOUT="6")
    assert outcome.status == "failed", outcome
    assert outcome.result is not None
    assert "throws.js: ReferenceError: missing is not defined" in outcome.result["output_str"]
    assert "hangs.js: still at work after 1 s" in outcome.result["output_str"]
    assert "ARCHIVED" in kept(page), "the page is there for the others"
