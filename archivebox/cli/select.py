"""Owns the choice of rows by what was typed: ids and their beginnings, URLs, tags, hosts, times."""

import re
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import TypeVar
from uuid import UUID

from django.db.models import Q

from archivebox.base_models.rows import Row
from archivebox.base_models.visibility import EVERYTHING
from archivebox.cli.errors import BadInputError
from archivebox.core.models import Snapshot
from archivebox.core.snapshot import SnapshotQuerySet
from archivebox.crawls.models import Crawl
from archivebox.lib.urls import BadUrl, parse_url
from archivebox.search.backend import SearchUnavailableError
from archivebox.search.query import QueryError, select, times

Model = TypeVar("Model", bound=Row)

SHORTEST = 8
"""Characters of the beginning of an id that are taken for one."""


def find(model: type[Model], text: str, listed_by: str = "") -> Model:
    """The row with this id, or the only one whose id begins so; BadInputError says what is wrong.

    ``listed_by``: the command that lists them, where that is not the ``list`` of their name.
    """
    name = model._meta.verbose_name
    digits = text.replace("-", "").lower()
    if not re.fullmatch(rf"[0-9a-f]{{{SHORTEST},32}}", digits):
        raise BadInputError(f"{text!r} is no id of a {name}: an id has 32 hexadecimal digits, its first 8 may do.")
    manager = model._default_manager
    rows = manager.filter(pk__range=(UUID(digits.ljust(32, "0")), UUID(digits.ljust(32, "f"))))[:2]
    if not rows:
        raise BadInputError(
            f"There is no {name} {text}. `archivebox {listed_by or f'{name} list'}` shows those that are there."
        )
    if len(rows) > 1:
        raise BadInputError(f"More than one {name} begins with {text}: give more of its id.")
    return rows[0]


def find_all(model: type[Model], texts: tuple[str, ...], listed_by: str = "") -> list[Model]:
    """One row each; nothing is done with any of them unless all are there."""
    return [find(model, text, listed_by) for text in texts]


def find_snapshot(text: str) -> Snapshot:
    """By id, or the latest version of a URL."""
    if "://" not in text:
        return find(Snapshot, text)
    latest = Snapshot.objects.of_url(_href(text)).first()
    if latest is None:
        raise BadInputError(f"There is no snapshot of {text}. `archivebox add {text}` makes one.")
    found: Snapshot = latest
    return found


def is_chosen(options: Mapping[str, object]) -> bool:
    """Whether anything was said about which Snapshots are meant."""
    return any(options.get(name) for name in ("which", "query", "tag", "domain", "status", "crawl", "before", "after"))


def snapshots(
    *,
    which: tuple[str, ...] = (),
    query: str | None = None,
    tag: str | None = None,
    domain: str | None = None,
    status: str | None = None,
    crawl: str | None = None,
    before: str | None = None,
    after: str | None = None,
    retired: bool = False,
) -> SnapshotQuerySet:
    """The Snapshots that all of these options speak of."""
    rows: SnapshotQuerySet = Snapshot.objects.filter(retired_at__isnull=not retired)
    if query:
        rows = of_query(query, among=rows)
    if which:
        rows = rows.filter(_named(which, retired=retired))
    if tag:
        rows = rows.filter(tags__name__iexact=tag)
    if domain:
        rows = rows.filter(_of_host(domain))
    if status:
        rows = rows.filter(status=status)
    if crawl:
        rows = rows.filter(crawl=find(Crawl, crawl))
    if before:
        rows = rows.filter(id__lt=times.floor_of(moment(before)))
    if after:
        rows = rows.filter(id__gte=times.floor_of(moment(after)))
    return rows


def of_query(query: str, *, among: SnapshotQuerySet | None = None) -> SnapshotQuerySet:
    """All Snapshots that a query means; BadInputError says where it is none, or why its texts cannot be searched."""
    try:
        return select(query, EVERYTHING, among=among, every=True)
    except QueryError as error:
        raise BadInputError(pointed_at(query, error)) from None
    except SearchUnavailableError as error:
        raise BadInputError(str(error)) from None


def pointed_at(query: str, error: QueryError) -> str:
    """What is wrong with a query, and where."""
    rest = query[error.position :]
    return f"{error.sentence} It is at {rest!r}." if rest else error.sentence


def _named(which: tuple[str, ...], *, retired: bool) -> Q:
    """By URL, every version; by id, that one."""
    chosen = Q()
    for text in which:
        if "://" not in text:
            chosen |= Q(pk=find(Snapshot, text).pk)
            continue
        url = _href(text)
        if not Snapshot.objects.filter(url=url, retired_at__isnull=not retired).exists():
            raise BadInputError(f"There is no {'removed ' if retired else ''}snapshot of {url}.")
        chosen |= Q(url=url)
    return chosen


def _of_host(text: str) -> Q:
    """Of this host and port; without a port, of every port of it."""
    domain = text.lower().replace(":", "_")
    if re.search(r"_[0-9]+$", domain):
        return Q(domain=domain)
    return Q(domain=domain) | Q(domain__startswith=f"{domain}_", domain__regex="_[0-9]+$")


def _href(text: str) -> str:
    try:
        return parse_url(text).href
    except BadUrl as error:
        raise BadInputError(f"{text!r} is no URL: {error}.") from None


def age(text: str) -> timedelta:
    """``30d``, ``12h``, ``2w``; BadInputError for anything else."""
    try:
        return times.age(text)
    except ValueError as error:
        raise BadInputError(str(error)) from None


def moment(text: str) -> datetime:
    """A date or time (ISO 8601, UTC unless it says otherwise), or an age before now; else BadInputError."""
    try:
        return times.moment(text)
    except ValueError as error:
        raise BadInputError(str(error)) from None
