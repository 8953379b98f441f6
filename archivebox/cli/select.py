"""Owns the choice of Snapshots by what was typed: ids and their beginnings, URLs, tags, hosts, times."""

import re
from collections.abc import Callable, Mapping
from datetime import timedelta

from django.db.models import Q

from archivebox.base_models.keylist import key_list
from archivebox.base_models.visibility import EVERYTHING
from archivebox.cli.conditions import KEY_STEP, condition_of
from archivebox.cli.errors import BadInputError
from archivebox.cli.fields import SNAPSHOT
from archivebox.cli.values import find, href, moment
from archivebox.core.models import Snapshot
from archivebox.core.snapshot import SnapshotQuerySet
from archivebox.lib.patterns import compile_patterns
from archivebox.search.backend import SearchUnavailableError
from archivebox.search.query import QueryError, select, times

NOTHING_ASKED: Mapping[str, str] = {}


def find_snapshot(text: str) -> Snapshot:
    """By id, or the latest version of a URL."""
    if "://" not in text:
        return find(Snapshot, text)
    latest = Snapshot.objects.of_url(href(text)).first()
    if latest is None:
        raise BadInputError(f"There is no snapshot of {text}. `archivebox add {text}` makes one.")
    found: Snapshot = latest
    return found


def is_chosen(which: tuple[str, ...], where: Mapping[str, str]) -> bool:
    """Whether anything was said about which rows are meant."""
    return bool(which) or any(where.values())


def snapshots(
    *,
    which: tuple[str, ...] = (),
    where: Mapping[str, str] = NOTHING_ASKED,
    filter_type: str | None = None,
    retired: bool = False,
) -> SnapshotQuerySet:
    """The Snapshots that all of these speak of."""
    rows: SnapshotQuerySet = Snapshot.objects.filter(retired_at__isnull=not retired)
    if query := where.get("query"):
        rows = of_query(query, among=rows)
    if which:
        rows = rows.filter(
            _named(which, retired=retired) if filter_type in (None, "exact") else like(filter_type, which)
        )
    for name, condition in _OWN.items():
        if text := where.get(name):
            rows = rows.filter(condition(text))
    return rows.filter(condition_of(Snapshot, SNAPSHOT, where))


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


def like(kind: str, patterns: tuple[str, ...]) -> Q:
    """Snapshots that one of these patterns means, of a kind as ``--filter-type`` names it."""
    chosen = Q(pk__in=[])
    for text in patterns:
        chosen |= _LIKE[kind](text)
    return chosen


def _url_has(text: str) -> Q:
    return Q(url__icontains=text)


def _with_tag(text: str) -> Q:
    return Q(pk__in=Snapshot.tags.through.objects.filter(tag__name__iexact=text).values("snapshot_id"))


def _url_matches(text: str) -> Q:
    """By RE2, whose searches take time in proportion to the text alone; no database has it."""
    try:
        patterns = compile_patterns(text)
    except ValueError as error:
        raise BadInputError(f"{str(error)[:1].upper()}{str(error)[1:]}.") from None
    rows = Snapshot.objects.values_list("pk", "url").iterator()
    return Q(pk__in=key_list([pk for pk, url in rows if any(pattern.search(url) for pattern in patterns)]))


def _of_timestamp(text: str) -> Q:
    """Dated or added in this second, or in this fraction of it."""
    since = moment(text)
    until = since + (KEY_STEP if "." in text else timedelta(seconds=1))
    dated = Q(bookmarked_at__gte=since, bookmarked_at__lt=until)
    return dated | Q(bookmarked_at__isnull=True, pk__gte=times.floor_of(since), pk__lt=times.floor_of(until))


def _named(which: tuple[str, ...], *, retired: bool) -> Q:
    """By URL, every version; by id, that one."""
    chosen = Q()
    for text in which:
        if "://" not in text:
            chosen |= Q(pk=find(Snapshot, text).pk)
            continue
        url = href(text)
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


_OWN: dict[str, Callable[[str], Q]] = {
    "tag": lambda text: Q(tags__name__iexact=text),
    "domain": _of_host,
    "before": lambda text: Q(pk__lt=times.floor_of(moment(text))),
    "after": lambda text: Q(pk__gte=times.floor_of(moment(text))),
}
"""What fields of a meaning of their own ask for; a query besides."""
_LIKE: dict[str, Callable[[str], Q]] = {
    "substring": _url_has,
    "domain": _of_host,
    "regex": _url_matches,
    "tag": _with_tag,
    "timestamp": _of_timestamp,
}
"""How arguments are understood, beside whole URLs and ids."""
