"""Pages that were captured for real, packed, and are shown by a real browser as it saw them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from PIL import Image

from tests.site import addresses
from tests.site.charsets import texts
from tests.webserver.browser import Browser
from tests.webserver.captured import Captured, captured_pages

pytestmark = [pytest.mark.browser, pytest.mark.once]
CHARSETS = ("windows-1251", "shift_jis", "gb18030")
TYPES = ("text/html charset=utf-8", "text/html(x", "text/html,text/html", "")


def typed(type_: str) -> str:
    return f"/typed?type={quote(type_)}"


@pytest.fixture(scope="module")
def captured(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Captured]:
    paths = [*("/asks-itself", "/file.pdf", addresses.PAGE), *(f"/charset/{name}" for name in CHARSETS)]
    folder = tmp_path_factory.mktemp("captured")
    with captured_pages(folder, browser, "responses,warc,dom,quality", [*paths, *map(typed, TYPES)]) as found:
        yield found


def test_a_page_that_asked_for_itself_is_shown_alone(browser: Browser, captured: Captured) -> None:
    browser.go(captured.address("/asks-itself"))
    assert browser.in_frame("document.body.innerText.trim()") == "Hello"
    assert browser.in_frame("document.title") == "Dup"


@pytest.mark.parametrize("charset", CHARSETS)
def test_a_page_that_named_no_charset_is_read_as_the_browser_read_it(
    browser: Browser, captured: Captured, charset: str
) -> None:
    title, _, _, styled = texts(charset)
    browser.go(captured.address(f"/charset/{charset}"))
    assert browser.in_frame("document.querySelector('h1')?.innerText") == title
    shown = "getComputedStyle(document.querySelector('#styled'), '::before').content"
    assert browser.in_frame(shown) == f'"{styled}"'


@pytest.mark.parametrize("type_", TYPES)
def test_what_the_browser_drew_as_html_leads_into_the_archive(browser: Browser, captured: Captured, type_: str) -> None:
    browser.go(captured.address(typed(type_)))
    link = browser.in_frame("document.querySelector('#there')?.href")
    assert link.startswith(f"{captured.server.url}/web/follow/")


def test_a_pdf_is_shown_by_the_browsers_own_viewer(browser: Browser, captured: Captured, tmp_path: Path) -> None:
    browser.size(900, 700)
    browser.go(captured.address("/file.pdf"))
    picture, end = tmp_path / "pdf.png", time.monotonic() + 60
    browser.picture(picture)
    while not sheet_in(picture):
        assert time.monotonic() < end, "no page of the PDF is there"
        time.sleep(0.5)
        browser.picture(picture)


def sheet_in(picture: Path) -> bool:
    """Whether much of the frame is white: a sheet of the PDF, on the dark ground of the viewer."""
    with Image.open(picture) as image:
        frame = image.convert("RGB").crop((100, 120, 880, 690)).resize((78, 57), Image.Resampling.NEAREST)
        pixels = frame.tobytes()
    return sum(pixels[at : at + 3] == b"\xff\xff\xff" for at in range(0, len(pixels), 3)) > 400


WIDTHS = (
    "[...document.images].every(one => one.complete) && [...document.images].map(one => one.naturalWidth).join(' ')"
)
LACKING = """performance.getEntriesByType("resource").length && performance.getEntriesByType("resource")
    .filter(one => one.responseStatus !== 200).map(one => [one.responseStatus, one.name]).concat("")"""


@pytest.mark.parametrize("scripts", [False, True])
def test_a_page_with_odd_addresses_at_an_odd_one_is_shown_with_all_it_has(
    browser: Browser, captured: Captured, *, scripts: bool
) -> None:
    each = " ".join(str(place) for place in range(1, len(addresses.NAMES) + 1))
    browser.go(captured.address(addresses.PAGE))
    if scripts:
        browser.value("document.querySelector('button[name=scripts]').click()")
        browser.wait_for("document.querySelector('iframe')?.sandbox.contains('allow-scripts')")
        assert browser.in_frame("document.querySelector('#asked')?.textContent") == each
        assert browser.in_frame("document.querySelector('iframe').contentDocument.body.innerText") == "framed"
    assert browser.in_frame(WIDTHS) == each
    assert browser.in_frame(LACKING) == [""]


def test_nobody_was_asked_for_any_of_it(captured: Captured) -> None:
    assert captured.site.requests == []
