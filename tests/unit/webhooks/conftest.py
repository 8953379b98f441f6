"""Takes the fixtures of tests that work on rows."""

from tests.collection import collection

__all__ = ["collection"]
