"""Brings the fixtures of a running server, and of rows in this very process, to these tests."""

from tests.stored_pages import store
from tests.webserver.fixtures import browser, library, library_with_workers, public_library, shared_library
from tests.webserver.in_process import pages

__all__ = [
    "browser", "library", "library_with_workers", "pages", "public_library", "shared_library", "store",
]  # fmt: skip
