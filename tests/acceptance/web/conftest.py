"""Brings the fixtures of a running server to these tests."""

from tests.webserver.fixtures import browser, library, library_with_workers, public_library

__all__ = ["browser", "library", "library_with_workers", "public_library"]
