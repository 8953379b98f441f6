"""A machine's page on a phone."""

from __future__ import annotations

import pytest

from tests.webserver.browser import Browser
from tests.webserver.fixtures import Library
from tests.webserver.server import in_collection

pytestmark = [pytest.mark.browser, pytest.mark.once]
DRAINED = "from archivebox.machine.models import Machine; print(Machine.objects.exclude(drain_by=None).count())"


def test_a_machine_is_drained_on_a_phone_after_it_was_said_what_that_means(browser: Browser, library: Library) -> None:
    for name, value in library.visitor.jar.items():
        browser.set_cookie(library.server.url, name, value)
    browser.size(360, 740)
    browser.go(f"{library.server.url}/machines/")
    browser.follow("tbody th a")
    assert browser.value("document.querySelector('form.changes summary').textContent") == "Drain…"
    assert browser.value("document.querySelector('[value=drain]').checkVisibility()") is False
    browser.value("document.querySelector('form.changes summary').click()")
    browser.wait_for("document.querySelector('[value=drain]').checkVisibility()")
    assert browser.value("document.documentElement.scrollWidth") <= 360
    edges = "document.querySelector('form.changes .menu > div').getBoundingClientRect()"
    assert 0 <= float(browser.value(f"{edges}.left")) < float(browser.value(f"{edges}.right")) <= 360
    browser.value("document.querySelector('[value=drain]').click()")
    browser.wait_for("document.querySelector('[value=resume]') !== null")
    assert in_collection(library.server.folder, DRAINED) == "1"
