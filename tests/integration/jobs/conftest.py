"""Takes the fixtures of tests that work on rows, and a browser."""

from tests.collection import collection
from tests.stored_pages import store
from tests.webserver.fixtures import browser

__all__ = ["browser", "collection", "store"]
