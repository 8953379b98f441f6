"""Applications that were captured for real come to life from their recording: every kind that the local web has."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.empty import make_empty
from tests.site.applications import SHOPS, SHOWN_BY_SCRIPTS
from tests.site.bundles import built
from tests.site.serve import Site
from tests.webserver.browser import Browser
from tests.webserver.rows import NAME, PASSWORD
from tests.webserver.server import CHECKOUT, Server, Visitor, environment, in_collection

pytestmark = [pytest.mark.browser, pytest.mark.once, pytest.mark.slow]
ADMINISTRATOR = """
import sys
from django.contrib.auth.models import User
User.objects.create_superuser(sys.argv[1], password=sys.argv[2])
"""
VIOLATIONS = """
from archivebox.replay.models import ScriptView
print(*[view.url for view in ScriptView.objects.filter(violation_count__gt=0)])
"""
SHOWN = {**SHOWN_BY_SCRIPTS, "/apps/lit": "Words in the light"}


@dataclass
class Captured:
    """A collection with applications, and the server that shows them."""

    site: Site
    server: Server
    browser: Browser

    def run(self, path: str) -> None:
        """Show a page with its scripts."""
        self.browser.go(f"{self.server.url}/web/latest/{self.site.url_for(path)}")
        self.browser.value("document.querySelector('button[name=scripts]').click()")
        self.browser.wait_for("document.querySelector('iframe')?.sandbox.contains('allow-scripts')")

    def picture(self, path: str) -> None:
        """Keep a picture where whoever runs the tests wants some."""
        if to := os.environ.get("ARCHIVEBOX_TESTS_PICTURES"):
            time.sleep(0.5)
            self.browser.picture(Path(to) / f"scripts{path.replace('/', '-')}.png")


@pytest.fixture(scope="module")
def captured(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Captured]:
    built()
    folder = tmp_path_factory.mktemp("captured")
    make_empty(folder)
    with Site() as site:
        urls = [site.url_for(path) for path in (*(f"/apps/{name}/" for name in SHOPS), *SHOWN)]
        command = [sys.executable, "-m", "archivebox", "add", "--plugins", "responses,warc", *urls]
        env = environment(folder, PRIVATE_NETWORK_ALLOWLIST="127.0.0.0/8,::1")
        env["DJANGO_SETTINGS_MODULE"] = "archivebox.config.settings"
        done = subprocess.run(command, env=env, cwd=CHECKOUT, capture_output=True, text=True, timeout=900, check=False)
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
        in_collection(folder, ADMINISTRATOR, NAME, PASSWORD)
        with Server(folder) as server:
            visitor = Visitor(server)
            assert visitor.log_in(NAME, PASSWORD).status == 302
            for name, value in visitor.jar.items():
                browser.set_cookie(server.url, name, value)
            browser.size(1280, 900)
            site.forget()
            yield Captured(site, server, browser)


@pytest.mark.parametrize("name", SHOPS)
def test_a_shop_shows_items_and_details_changes_its_route_and_reloads_there(captured: Captured, name: str) -> None:
    captured.run(f"/apps/{name}/")
    frame = captured.browser.in_frame
    assert frame("document.querySelectorAll('#items li img').length") == 6
    assert frame("[...document.images].every(one => one.complete && one.naturalWidth)")
    captured.picture(f"/apps/{name}/")
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
    captured.picture(path)


def test_shadow_roots_are_there(captured: Captured) -> None:
    captured.run("/apps/lit")
    nested = "document.querySelector('harbour-card').shadowRoot.querySelector('harbour-badge')?.shadowRoot?.textContent"
    assert "Nested badge" in captured.browser.in_frame(nested)


def test_nobody_was_asked_for_any_of_it_and_no_policy_had_to_refuse_anything(captured: Captured) -> None:
    assert captured.site.requests == []
    assert in_collection(captured.server.folder, VIOLATIONS) == ""
