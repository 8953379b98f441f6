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
    tab = newcomer.tab
    tab.call("Network.enable")
    tab.call("Fetch.enable", {"patterns": [{"urlPattern": "*/add/", "requestStage": "Response"}]})
    newcomer.value(f"{FIELD}.form.querySelector('[name=do]').click()")
    held = answer_held_until_the_library_asked(newcomer)
    tab.call("Fetch.continueRequest", {"requestId": held})
    tab.call("Fetch.disable")
    tab.call("Network.disable")
    newcomer.wait_for("location.pathname.startsWith('/snapshots/') && document.title.includes('first.example')")
    assert "Archiving 1 page" in newcomer.value("document.getElementById('messages').innerText")


def answer_held_until_the_library_asked(newcomer: Browser) -> str:
    """Return the id of the held answer, half a second after the Library has received what is new.

    Nothing but events is used: Chromium runs no command in a page while its next document is held.
    """
    held, asked, received = "", "", False
    while not (held and received):
        event = newcomer.tab.next_event(20)
        assert event, f"held: {held!r}, asked: {asked!r}"
        if event.method == "Fetch.requestPaused":
            held = event.params["requestId"]
        elif event.method == "Network.requestWillBeSent" and "X-Live" in event.params["request"]["headers"]:
            asked = event.params["requestId"]
        elif event.method == "Network.loadingFinished":
            received = received or event.params["requestId"] == asked
    time.sleep(0.5)  # what the Library does with it
    return held
