"""A crawl runs as its persona, on a copy of its profile: several may at once, and the original stays as it is."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from PIL import Image

from tests.plugins_bundled.browser.chain import CRAWL_HOOK, Crawl
from tests.site.serve import Site

SCREENSHOT = "screenshot/on_Snapshot__51_screenshot.py"
pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def personas(tmp_path_factory: pytest.TempPathFactory, site: Site) -> Path:
    """A persona that has been to the site, as a person who logged in with the browser."""
    folder = tmp_path_factory.mktemp("personas")
    profile = folder / "Reader" / "profile"
    profile.mkdir(parents=True)
    root = tmp_path_factory.mktemp("log-in")
    with Crawl(root, TIMEOUT="30", CHROME_USER_DATA_DIR=str(profile)) as crawl:
        assert crawl.snapshot("page", site.url_for("/cookies")).navigate().status == "succeeded"
    return folder


def cookies_of(profile: Path) -> list[tuple[object, ...]]:
    with sqlite3.connect(f"file:{profile}/Default/Cookies?immutable=1", uri=True) as database:
        return database.execute("SELECT name, last_access_utc FROM cookies ORDER BY name").fetchall()


def test_two_crawls_run_as_one_persona_at_once_and_leave_it_as_it_is(
    personas: Path, tmp_path: Path, site: Site
) -> None:
    before = cookies_of(personas / "Reader" / "profile")
    settings = {"TIMEOUT": "30", "PERSONAS_DIR": str(personas), "ACTIVE_PERSONA": "Reader"}
    site.forget()
    with Crawl(tmp_path / "one", **settings) as one, Crawl(tmp_path / "two", **settings) as two:
        for number, crawl in enumerate((one, two)):
            page = crawl.snapshot("page", site.url_for(f"/cookies?{number}"))
            assert page.navigate().status == "succeeded"
            assert Path(crawl.session()["folder"]).stat().st_mode & 0o077 == 0
    sent = [hit.headers.get("cookie", "") for hit in site.requests if hit.path.startswith("/cookies?")]
    assert len(sent) == 2
    assert all(sent), "both were known to the site"
    assert before
    assert cookies_of(personas / "Reader" / "profile") == before


def test_a_persona_that_is_not_there_is_said_by_name(tmp_path: Path) -> None:
    crawl = Crawl(tmp_path, PERSONAS_DIR=str(tmp_path), ACTIVE_PERSONA="Nobody")
    browser = crawl.start(CRAWL_HOOK, crawl.folder).wait()
    assert (browser.code, browser.status) == (1, "failed"), browser
    assert "archivebox persona create 'Nobody'" in browser.stderr


def test_a_page_is_as_narrow_as_the_persona_wants_it(tmp_path: Path, site: Site) -> None:
    with Crawl(tmp_path, TIMEOUT="30", RESOLUTION="360,740") as crawl:
        page = crawl.snapshot("page", site.url_for("/colour"))
        assert page.navigate().status == "succeeded"
        assert page.run(SCREENSHOT).status == "succeeded"
        with Image.open(page.folder / "screenshot" / "screenshot.png") as picture:
            assert picture.size == (360, 740)
