"""Takes the fixture of an object store."""

from tests.stored_pages import store

__all__ = ["store"]
