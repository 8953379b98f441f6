"""Takes the fixtures of tests that work on rows."""

from tests.collection import collection, django_db_setup

__all__ = ["collection", "django_db_setup"]
