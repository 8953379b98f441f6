"""Owns searches that people keep under a name."""

from typing import ClassVar

from django.conf import settings
from django.contrib.auth.models import User
from django.db import models

from archivebox.base_models.rows import Row
from archivebox.base_models.transactions import write_transaction
from archivebox.search.query import parse

MOST_LETTERS = 100


class SavedSearch(Row):
    """A query that somebody gave a name."""

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    name = models.CharField(max_length=MOST_LETTERS)
    query = models.TextField()

    objects: ClassVar[models.Manager["SavedSearch"]] = models.Manager()

    class Meta:
        verbose_name_plural = "saved searches"
        ordering = ["name"]
        constraints = [models.UniqueConstraint(fields=["owner", "name"], name="search_once_per_name")]

    def __str__(self) -> str:
        return self.name


def save_search(owner: User, name: str, query: str) -> SavedSearch:
    """Keep a query under a name; one that has the name gets the query. ValueError; QueryError is one."""
    name, query = _checked(name), query.strip()
    parse(query)
    if not query:
        raise ValueError("Search for something first: an empty search is the whole library.")
    with write_transaction():
        return SavedSearch.objects.update_or_create(owner=owner, name=name, defaults={"query": query})[0]


def rename_search(search: SavedSearch, name: str) -> None:
    """ValueError where another search of the same owner has that name."""
    name = _checked(name)
    if SavedSearch.objects.filter(owner=search.owner, name=name).exclude(pk=search.pk).exists():
        raise ValueError(f"A search named “{name}” already exists.")
    search.name = name
    search.save(update_fields=["name", "modified_at"])


def _checked(name: str) -> str:
    name = " ".join(name.split())
    if not 0 < len(name) <= MOST_LETTERS:
        raise ValueError(f"A search has a name of 1 to {MOST_LETTERS} characters.")
    return name
