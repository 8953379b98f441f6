"""Takes the fixtures of tests that work on rows."""

from tests.collection import collection
from tests.stored_pages import store

__all__ = ["collection", "store"]
