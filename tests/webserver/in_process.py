"""Owns pages asked in this very process, without a server: for what a page shows of rows that a test has made."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.test import override_settings

KEPT = {"DATABASES", "SECRET_KEY"}
"""Settings that stay those of the test run."""


@pytest.fixture(scope="module")
def pages() -> Iterator[None]:
    """Django as the server sets it up; sessions are in cookies, as the database of tests has no table for them."""
    from archivebox.web import settings  # it reads a data folder: only where pages are tested

    theirs = {name: getattr(settings, name) for name in dir(settings) if name.isupper() and name not in KEPT}
    with override_settings(**theirs | {"SESSION_ENGINE": "django.contrib.sessions.backends.signed_cookies"}):
        yield
