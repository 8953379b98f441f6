"""The applications of the local web work as their table says: what is captured and replayed is compared with this."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.site.applications import FRAMEWORKS, SHOPS, SHOWN_BY_SCRIPTS
from tests.site.bundles import built
from tests.site.serve import Site
from tests.webserver.browser import PROGRAM, Browser

pytestmark = [
    pytest.mark.browser,
    pytest.mark.once,
    pytest.mark.skipif(not PROGRAM, reason="there is no chromium here"),
]
SHOWN = {
    **SHOWN_BY_SCRIPTS,
    "/charset/windows-1251": "остался на месте",
    "/charset/shift_jis": "なぜ",
    "/charset/gb18030": "没有人知道",
    "/challenge?status=403&ms=50": "Behind the challenge",
}
"""Path → words that only its scripts, or a browser that has guessed right, put into the page."""


@pytest.fixture(scope="module")
def eyes(site: Site) -> Iterator[Browser]:
    built()
    with Browser("--disable-site-isolation-trials") as browser:
        browser.size(1440, 900)
        browser.go(site.url)
        yield browser


@pytest.mark.parametrize("name", SHOPS)
def test_a_shop_shows_its_items_gives_details_and_changes_its_route(eyes: Browser, site: Site, name: str) -> None:
    eyes.go(site.url_for(f"/apps/{name}/"))
    assert eyes.wait_for("document.querySelectorAll('#items li img').length") == 6
    eyes.value("document.querySelector('button[data-item=\"1\"]').click()")
    assert "compass" in eyes.wait_for("document.querySelector('#details')?.textContent")
    site.wait_for_request("/api/shop/items/2")  # details of others are fetched ahead
    eyes.value("window.isStillTheSame = true; document.querySelector('#to-about').click()")
    assert "boathouse" in eyes.wait_for("document.querySelector('#about')?.textContent")
    assert eyes.value("location.pathname") == f"/apps/{name}/about"
    assert eyes.value("window.isStillTheSame")


@pytest.mark.parametrize("name", FRAMEWORKS)
def test_a_deep_route_of_a_shop_loads_by_itself(eyes: Browser, site: Site, name: str) -> None:
    eyes.go(site.url_for(f"/apps/{name}/items/2"))
    assert "folded from one sheet" in eyes.wait_for("document.querySelector('#item')?.textContent")


@pytest.mark.parametrize("path", SHOWN)
def test_a_page_comes_to_what_it_is_to_show(eyes: Browser, site: Site, path: str) -> None:
    eyes.go(site.url_for(path))
    eyes.wait_for(f"document.body.innerText.includes({SHOWN[path]!r})")


def test_shadow_roots_are_open_nested_closed_and_declared(eyes: Browser, site: Site) -> None:
    eyes.go(site.url_for("/apps/lit"))
    nested = "document.querySelector('harbour-card').shadowRoot.querySelector('harbour-badge')?.shadowRoot?.textContent"
    assert "Nested badge" in eyes.wait_for(nested)
    assert eyes.value("document.querySelector('harbour-vault').shadowRoot") is None
    assert eyes.value("document.querySelector('harbour-vault').offsetHeight") > 40
    assert eyes.value("[...document.querySelectorAll('main > div')].map(one => one.shadowRoot !== null)") == [
        True,
        False,
    ]


def test_one_frame_address_shows_three_things(eyes: Browser, site: Site) -> None:
    eyes.go(site.url_for("/thrice"))
    words = "[...document.querySelectorAll('iframe')].map(one => one.contentDocument.querySelector('h2')?.textContent)"
    eyes.wait_for(f"{words}.every(Boolean)")
    assert eyes.value(words) == ["The first answer", "The second answer", "The third answer"]


def test_what_was_built_is_built_once() -> None:
    folder = built()
    written = {path: path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}
    built.cache_clear()
    assert built() == folder
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()} == written
