"""Applications that were captured for real come to life from their recording: every kind that the local web has."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.site.applications import SHOPS, SHOWN_BY_SCRIPTS
from tests.site.bundles import built
from tests.webserver.browser import Browser
from tests.webserver.captured import Captured, captured_pages
from tests.webserver.server import in_collection

pytestmark = [pytest.mark.browser, pytest.mark.once, pytest.mark.slow]
VIOLATIONS = """
from archivebox.replay.models import ScriptView
print(*[view.url for view in ScriptView.objects.filter(violation_count__gt=0)])
"""
SHOWN = {**SHOWN_BY_SCRIPTS, "/apps/lit": "Words in the light"}


@pytest.fixture(scope="module")
def captured(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Captured]:
    built()
    paths = (*(f"/apps/{name}/" for name in SHOPS), *SHOWN)
    with captured_pages(tmp_path_factory.mktemp("captured"), browser, "responses,warc", paths) as found:
        browser.size(1280, 900)
        yield found


@pytest.mark.parametrize("name", SHOPS)
def test_a_shop_shows_items_and_details_changes_its_route_and_reloads_there(captured: Captured, name: str) -> None:
    captured.run(f"/apps/{name}/")
    frame = captured.browser.in_frame
    assert frame("document.querySelectorAll('#items li img').length") == 6
    assert frame("[...document.images].every(one => one.complete && one.naturalWidth)")
    frame("document.querySelector('button[data-item=\"1\"]').click() ?? true")
    assert "compass" in frame("document.querySelector('#details')?.textContent")
    frame("window.isStillTheSame = true; document.querySelector('#to-about').click() ?? true")
    assert frame("location.pathname.endsWith('/about') && isStillTheSame")
    frame("performance.getEntriesByType('resource').some(one => one.name.endsWith('/~/route'))")
    frame("setTimeout(() => location.reload()) > 0")
    shown = "#to-about" if name == "hydrated" else "#about"
    assert frame(f"!window.isStillTheSame && document.querySelector('{shown}')?.textContent")


@pytest.mark.parametrize("path", SHOWN)
def test_a_page_comes_to_what_it_showed(captured: Captured, path: str) -> None:
    captured.run(path)
    assert captured.browser.in_frame(f"document.body.innerText.includes({SHOWN[path]!r})")


def test_shadow_roots_are_there(captured: Captured) -> None:
    captured.run("/apps/lit")
    nested = "document.querySelector('harbour-card').shadowRoot.querySelector('harbour-badge')?.shadowRoot?.textContent"
    assert "Nested badge" in captured.browser.in_frame(nested)


def test_nobody_was_asked_for_any_of_it_and_no_policy_had_to_refuse_anything(captured: Captured) -> None:
    assert captured.site.requests == []
    assert in_collection(captured.server.folder, VIOLATIONS) == ""
