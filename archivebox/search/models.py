"""Owns searches that people keep under a name, and share links, which open one page or what a search finds."""

import hashlib
import secrets
from datetime import timedelta
from typing import ClassVar
from uuid import UUID

from django.conf import settings
from django.contrib.auth.models import User
from django.core.cache import cache
from django.db import models
from django.db.models import F, Q
from django.utils import timezone

from archivebox.accounts.permission import may
from archivebox.accounts.roles import Action, Role, role_of
from archivebox.base_models.literal import Literal
from archivebox.base_models.revocable import Revocable
from archivebox.base_models.rows import Row
from archivebox.base_models.transactions import write_transaction
from archivebox.base_models.visibility import MEMBERS, Visibility
from archivebox.core.snapshot import Snapshot, SnapshotQuerySet
from archivebox.search.query import Selection, chosen, parse

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


TOKEN_BYTES = 16
"""128 random bits."""
LIFETIME = timedelta(days=30)
MOST_DAYS = 365
MATCH_KEPT = 60
"""Seconds for which it is remembered that a search finds a page: its replay asks for a hundred files."""


class ShareRefusedError(ValueError):
    """What was asked for cannot be shared; the message is a sentence for people."""


class ShareLinkQuerySet(models.QuerySet["ShareLink"]):
    """Share links, in the words people ask for them."""

    def valid(self) -> "ShareLinkQuerySet":
        """Those that are neither revoked nor expired."""
        return self.filter(revoked_at__isnull=True, expires_at__gt=timezone.now())


class ShareLink(Revocable):
    """One link to one page or one saved search; it shows what its owner may show others, and nothing private."""

    owner = models.ForeignKey(User, on_delete=models.CASCADE, related_name="+")
    snapshot = models.ForeignKey(Snapshot, null=True, blank=True, on_delete=models.CASCADE, related_name="share_set")
    search = models.ForeignKey(SavedSearch, null=True, blank=True, on_delete=models.CASCADE, related_name="share_set")
    digest = models.CharField(max_length=64, unique=True, help_text="SHA-256 of the token in its address")
    expires_at = models.DateTimeField()
    view_count = models.PositiveIntegerField(default=0)
    last_viewed_at = models.DateTimeField(null=True, blank=True)

    objects = ShareLinkQuerySet.as_manager()

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.CheckConstraint(
                condition=Q(snapshot__isnull=True) ^ Q(search__isnull=True), name="share_link_of_page_or_search"
            )
        ]

    def __str__(self) -> str:
        return f"share link of {self.snapshot or self.search}"

    @property
    def is_valid(self) -> bool:
        return self.revoked_at is None and self.expires_at > timezone.now()

    def count_view(self) -> None:
        ShareLink.objects.filter(pk=self.pk).update(view_count=F("view_count") + 1, last_viewed_at=timezone.now())

    def selection(self) -> Selection:
        """What its search finds now. QueryError, SearchUnavailableError."""
        return chosen(self.query, MEMBERS, among=shareable_by(self.owner), removed=False)

    def page(self, snapshot_id: UUID) -> Snapshot | None:
        """The page of this key if the link shows it now. QueryError, SearchUnavailableError."""
        page: Snapshot | None = shareable_by(self.owner).filter(pk=snapshot_id).first()
        if page is None or self.search is None:
            return page if page is not None and page.pk == self.snapshot_id else None
        name = f"share-{self.pk}-{page.pk}-{hashlib.sha256(self.query.encode()).hexdigest()}"
        is_found = cache.get_or_set(name, lambda: self.selection().rows.filter(pk=page.pk).exists(), MATCH_KEPT)
        return page if is_found else None

    @property
    def query(self) -> str:
        """Its saved search; empty for a link to one page."""
        return "" if self.search is None else self.search.query


def shareable_by(owner: User) -> SnapshotQuerySet:
    """The pages that somebody may show others: what is public, an editor's own, of an administrator all not private."""
    rows: SnapshotQuerySet = Snapshot.objects.in_library()
    if not may(owner, Action.EDIT):
        return rows.none()
    members = Q(visibility=Literal(Visibility.MEMBERS))
    theirs = members if role_of(owner) is Role.ADMIN else members & Q(created_by=owner)
    return rows.filter(Q(visibility=Literal(Visibility.PUBLIC)) | theirs)


def create_share_link(
    owner: User, target: Snapshot | SavedSearch, lifetime: timedelta = LIFETIME
) -> tuple[ShareLink, str]:
    """A new link, and the token of its address, which nobody can be told again. ShareRefusedError."""
    if isinstance(target, Snapshot):
        _check_page(owner, target)
    elif target.owner_id != owner.pk:
        raise ShareRefusedError("This search belongs to another account. Save it under your own name first.")
    if not timedelta(0) < lifetime <= timedelta(days=MOST_DAYS):
        raise ShareRefusedError(f"A share link is valid for 1 to {MOST_DAYS} days.")
    token = secrets.token_urlsafe(TOKEN_BYTES)
    link = ShareLink.objects.create(
        owner=owner,
        snapshot=target if isinstance(target, Snapshot) else None,
        search=target if isinstance(target, SavedSearch) else None,
        digest=_digest(token),
        expires_at=timezone.now() + lifetime,
    )
    return link, token


def _check_page(owner: User, page: Snapshot) -> None:
    if page.visibility == Visibility.PRIVATE:
        raise ShareRefusedError("Private pages cannot be shared. Change the visibility first.")
    if not shareable_by(owner).filter(pk=page.pk).exists():
        raise ShareRefusedError("Only its owner and administrators may share this page.")


def find_share_link(token: str) -> ShareLink | None:
    """The link with this token in its address, if it opens anything."""
    return _usable().filter(digest=_digest(token)).first()


def usable_share_link(key: UUID) -> ShareLink | None:
    """The link of this key, if it opens anything."""
    return _usable().filter(pk=key).first()


def _usable() -> ShareLinkQuerySet:
    return ShareLink.objects.select_related("owner__account", "search").valid().filter(owner__is_active=True)


def _digest(token: str) -> str:
    """128 random bits need no salt, and no slow hash."""
    return hashlib.sha256(token.encode()).hexdigest()
