"""The page is kept as it is seen when it has settled, and a page that never does is kept all the same."""

from __future__ import annotations

from typing import Any

import pytest
from PIL import Image

from tests.plugins_bundled.browser.chain import PAGE_HOOKS, SETTLE, Crawl, Snapshot
from tests.site.serve import Site

pytestmark = pytest.mark.browser
SCREENSHOT = PAGE_HOOKS[0]


def settled(
    crawl: Crawl, site: Site, path: str, *, settle_max: float = 4, **settings: str
) -> tuple[Snapshot, dict[str, Any]]:
    """A page after it was settled, and what the hook says of that."""
    settings["CHROME_SETTLE_MAX"] = f"{settle_max:g}"
    snapshot = crawl.snapshot(f"settle_{path.strip('/')}", site.url_for(path), **settings)
    assert snapshot.navigate().status == "succeeded"
    outcome = snapshot.run(SETTLE)
    assert (outcome.code, outcome.status) == (0, "succeeded"), outcome
    assert outcome.result is not None
    return snapshot, outcome.result


def test_a_preloader_is_waited_out_until_the_page_has_faded_in(crawl: Crawl, site: Site) -> None:
    # The cover goes 1.5 s after the load: the first look is before that on a busy machine, too.
    snapshot, result = settled(crawl, site, "/preloader", settle_max=10, CHROME_SETTLE_TIME="2")
    assert result["output_json"]["settled"]
    assert "a cover over the page" in result["output_json"]["waited_for"]
    assert snapshot.run(SCREENSHOT).status == "succeeded"
    with Image.open(snapshot.folder / "screenshot" / "screenshot.png") as picture:
        assert picture.convert("RGB").getpixel((picture.width // 2, picture.height // 2)) == (0, 255, 0)


def test_a_page_that_keeps_still_is_not_waited_for(crawl: Crawl, site: Site) -> None:
    snapshot, result = settled(crawl, site, "/article")
    assert result["output_json"]["waited_for"] == []
    assert snapshot.json("chrome/navigation.json")["look"]
    assert result["output_str"].startswith("settled after")


def test_a_page_that_never_keeps_still_is_kept_as_it_is(crawl: Crawl, site: Site) -> None:
    _, result = settled(crawl, site, "/restless")
    assert result["output_str"] == "stopped: still moving after 4 s, waited for changes of the layout"


def test_a_page_that_may_still_come_is_settled_then(crawl: Crawl, site: Site) -> None:
    """Else one that came at the second try would be said to be skipped for good."""
    snapshot = crawl.snapshot("settle_later", site.url_for("/torn"))
    assert snapshot.navigate().retry == "later"
    outcome = snapshot.run(SETTLE)
    assert outcome.result is not None
    assert (outcome.result["reason"], outcome.retry) == ("nothing_came", "later"), outcome
