"""A passkey of a real browser: made, used after a password, and used alone; and its pages fit a small dark screen."""

from __future__ import annotations

import json

import pytest

from tests.acceptance.web.test_browser import CONTRAST, SMALL
from tests.webserver.browser import Browser
from tests.webserver.fixtures import Library
from tests.webserver.rows import PASSWORD

pytestmark = [pytest.mark.browser, pytest.mark.once]
DEVICE = {
    "protocol": "ctap2",
    "transport": "internal",
    "hasResidentKey": True,
    "hasUserVerification": True,
    "isUserVerified": True,
    "automaticPresenceSimulation": True,
}
"""A phone or computer that knows its owner."""
PATIENCE = 90


class Reader:
    """Somebody with a private tab, at the one host of this machine for which browsers make passkeys."""

    def __init__(self, browser: Browser, library: Library) -> None:
        self.browser = browser
        self.address = f"http://localhost:{library.server.port}"
        browser.size(360, 740, dark=True)
        browser.tab.call("Emulation.setFocusEmulationEnabled", {"enabled": True})
        browser.tab.call("WebAuthn.enable")
        browser.tab.call("WebAuthn.addVirtualAuthenticator", {"options": DEVICE})

    def go(self, path: str) -> None:
        self.browser.go(self.address + path)
        self.check()

    def submit(self, form: str, **fields: str) -> None:
        for name, value in fields.items():
            field = json.dumps(f"{form} [name={name}]")
            self.browser.value(f"document.querySelector({field}).value = {json.dumps(value)}")
        self.browser.value(f"document.querySelector({json.dumps(f'{form} button')}).click()")

    def arrive(self, path: str, selector: str = "main") -> None:
        """Wait until the page is there, and look at it."""
        is_there = f"location.pathname === '{path}' && document.readyState === 'complete'"
        self.browser.wait_for(f"{is_there} && document.querySelector({json.dumps(selector)}) !== null", PATIENCE)
        self.check()

    def check(self) -> None:
        assert self.browser.value("document.documentElement.scrollWidth") <= 360
        assert self.browser.value(CONTRAST) == []
        assert self.browser.value(f"{SMALL}(44)") == []

    def give_password(self) -> None:
        self.go("/login/")
        self.submit("form[action='/login/']", username="reader", password=PASSWORD)

    def log_out(self) -> None:
        self.submit("form[action='/logout/']")
        self.arrive("/login/")


def test_a_passkey_is_made_used_after_a_password_and_used_alone(browser: Browser, library: Library) -> None:
    with browser.private():
        reader = Reader(browser, library)
        reader.give_password()
        reader.arrive("/")
        reader.go("/security/app/")
        reader.go("/security/passkey/")
        reader.submit("form[data-passkey=create]", label="Laptop")
        reader.arrive("/security/passkey/", ".codes")
        reader.go("/security/")
        reader.log_out()
        reader.give_password()
        reader.arrive("/login/second/", "form[data-passkey=get]:not([hidden])")
        reader.submit("form[data-passkey=get]")
        reader.arrive("/")
        reader.log_out()
        reader.submit("form[data-passkey=get]")
        reader.arrive("/")
        reader.go("/security/confirm/")
