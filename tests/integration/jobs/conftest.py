"""Takes the fixtures of an object store and a browser."""

from tests.stored_pages import store
from tests.webserver.fixtures import browser

__all__ = ["browser", "store"]
