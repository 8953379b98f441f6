"""Owns who may see a row: the three choices there are, and the one condition that says what somebody sees."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

from django.db import models
from django.db.models import Q

from archivebox.base_models.literal import Literal, one_of


class Visibility(models.TextChoices):
    """For whom a row is there."""

    PUBLIC = "public", "public"
    """Whoever may open the site: without a log-in, too, where settings allow that."""
    MEMBERS = "members", "members"
    """Whoever is logged in."""
    PRIVATE = "private", "private"
    """Its owner, and administrators."""


_NARROWEST_FIRST = (Visibility.PRIVATE, Visibility.MEMBERS, Visibility.PUBLIC)


@dataclass(frozen=True, slots=True)
class ViewerScope:
    """Which rows somebody may see. ``account``: key of the user who is logged in; None: an anonymous visitor."""

    account: int | None = None
    is_whole: bool = False
    """An administrator, or who works at the command line."""

    def condition(self, path: str = "") -> Q:
        """What has to be true of a row that is seen; ``path`` leads to it from another model, such as ``snapshot__``.

        The words stand in the statement itself, where SQLite can see that an index of such rows alone is enough.
        """
        if self.is_whole:
            return Q()
        if self.account is None:
            return Q(**{f"{path}visibility": Literal(Visibility.PUBLIC)})
        open_to_all = Q(**{f"{path}visibility__in": one_of(Visibility.PUBLIC, Visibility.MEMBERS)})
        return open_to_all | Q(**{f"{path}created_by": self.account})

    def sees(self, visibility: str, owner: int) -> bool:
        """The same of one row that has been read."""
        if self.is_whole or (self.account is not None and self.account == owner):
            return True
        return visibility == Visibility.PUBLIC or (self.account is not None and visibility == Visibility.MEMBERS)

    def hides(self) -> Q:
        """The opposite: of few rows mostly, and so that an index finds these."""
        if self.account is None:
            return ~self.condition()
        return Q(visibility=Literal(Visibility.PRIVATE)) & ~Q(created_by=self.account)


EVERYTHING = ViewerScope(is_whole=True)
MEMBERS = ViewerScope(0)
"""What everybody may see who is logged in and owns nothing private."""


class VisibleRow(models.Model):
    """A row that is there for some alone; it has an owner, ``created_by``."""

    created_by_id: int
    visibility = models.CharField(max_length=8, choices=Visibility.choices, default=Visibility.MEMBERS)

    class Meta:
        abstract = True


Rows = TypeVar("Rows", bound="models.QuerySet[Any, Any]")


def seen_by(scope: ViewerScope, rows: Rows) -> Rows:
    """Those of ``rows`` that a viewer of this scope may see."""
    return rows.filter(scope.condition())


def hidden_from(scope: ViewerScope, rows: Rows) -> Rows:
    """The others."""
    return rows.none() if scope.is_whole else rows.filter(scope.hides())


def narrowest(choices: Iterable[str]) -> str:
    """Of several, what the fewest see; empty where there are none."""
    return min(choices, key=_NARROWEST_FIRST.index, default="")
