"""Brings the fixtures of a running server to these tests."""

from tests.webserver.fixtures import browser, library, public_library

__all__ = ["browser", "library", "public_library"]
