"""The first page of a newcomer, in a browser: an empty Library, and the page that was added from it."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from tests.empty import make_empty
from tests.webserver.browser import Browser
from tests.webserver.server import Server

pytestmark = [pytest.mark.browser, pytest.mark.once]
FIELD = "document.querySelector('main [name=urls]')"
IS_REPORTED = "performance.getEntriesByType('resource').some(one => one.initiatorType === 'fetch')"
"""Whether the Library has heard of the new page, and asked for it."""


@pytest.fixture(scope="module")
def newcomer(tmp_path_factory: pytest.TempPathFactory, browser: Browser) -> Iterator[Browser]:
    """The browser on the Library of a collection without pages, logged in by the link that the server printed."""
    folder = tmp_path_factory.mktemp("first")
    make_empty(folder)
    with Server(folder, {"PLUGINS": '["hashes"]'}) as server:
        browser.go(server.url + server.link())
        browser.value("document.querySelector('main button').click()")
        browser.wait_for("location.pathname === '/password/' && document.readyState === 'complete'")
        browser.go(server.url)
        yield browser


def test_an_empty_library_shows_the_field_a_drop_area_and_three_examples(newcomer: Browser) -> None:
    newcomer.wait_for("document.activeElement?.name === 'urls'")
    assert "Or drop a file here" in newcomer.value(f"{FIELD}.closest('.drop').innerText")
    assert newcomer.value("getComputedStyle(document.querySelector('.drop')).borderTopWidth") == "2px"
    assert newcomer.value("document.querySelectorAll('main .examples a').length") == 3


def test_the_buttons_stay_where_they_are_when_urls_are_counted(newcomer: Browser) -> None:
    button = "document.querySelector('main [name=do]').getBoundingClientRect().top"
    before = newcomer.value(button)
    newcomer.tab.call("Input.insertText", {"text": "http://first.example/"})
    newcomer.wait_for("document.querySelector('.tally')?.innerText.startsWith('1 new')")
    assert newcomer.value(button) == before


def test_the_page_that_was_added_opens_although_the_library_gets_it_first(newcomer: Browser) -> None:
    held = {"patterns": [{"urlPattern": "*/add/", "requestStage": "Response"}]}
    newcomer.tab.call("Fetch.enable", held)
    newcomer.value(f"{FIELD}.form.querySelector('[name=do]').click()")
    newcomer.wait_for(IS_REPORTED)
    time.sleep(0.5)  # what follows on that report
    events = iter(lambda: newcomer.tab.next_event(10), None)
    answer = next(event for event in events if event.method == "Fetch.requestPaused")
    newcomer.tab.call("Fetch.continueRequest", {"requestId": answer.params["requestId"]})
    newcomer.tab.call("Fetch.disable")
    newcomer.wait_for("location.pathname.startsWith('/snapshots/') && document.title.includes('first.example')")
    assert "1 page accepted" in newcomer.value("document.getElementById('messages').innerText")
