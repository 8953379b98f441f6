"""Owns archiving again what was archived: new versions of the same URLs, in a crawl of their own."""

from collections.abc import Iterable, Sequence
from uuid import UUID

from django.contrib.auth.models import User
from django.db import models
from django.utils import timezone

from archivebox.base_models.doorbell import notify_workers
from archivebox.base_models.table import table_of
from archivebox.base_models.transactions import write_transaction
from archivebox.base_models.visibility import narrowest
from archivebox.core.intake import Seed, create_crawl, planned
from archivebox.core.snapshot import Snapshot
from archivebox.core.tagging import tag
from archivebox.crawls.crawl import Crawl
from archivebox.lib.jsonl import JSON


def recapture(
    snapshots: "models.QuerySet[Snapshot]", *, created_by: User, plugins: Sequence[str] = (), label: str = ""
) -> Crawl:
    """A crawl with a new version of each of these Snapshots, whose tags it gets; ``plugins``: made by these alone.

    The versions that are there stay. A new one is seen by those who see the one before, the crawl by those who see all
    of them. It runs with the settings of now: those of the former crawl spoke of its scope.
    """
    config: dict[str, JSON] = {"PLUGINS": list(plugins)} if plugins else {}
    seeds = list(_seeds(snapshots).values())
    visibility = narrowest(seed.visibility for seed in seeds)
    return create_crawl(seeds, created_by=created_by, config=config, label=label, visibility=visibility)


def add_versions(crawl: Crawl, snapshots: "models.QuerySet[Snapshot]") -> None:
    """New versions of more Snapshots for such a crawl; of a URL that it has already there is none more."""
    seeds = _seeds(snapshots)
    for url in crawl.snapshot_set.filter(url__in=list(seeds)).values_list("url", flat=True):
        del seeds[url]
    now, username = timezone.now(), crawl.created_by.username
    rows = {url: planned(crawl, seed, username, now) for url, seed in seeds.items()}
    visibility = narrowest([crawl.visibility, *(seed.visibility for seed in seeds.values())])
    with write_transaction():
        table_of(Snapshot).insert(rows.values())
        for name, keys in _by_tag(seeds.values(), {url: key for url, (key, _) in rows.items()}).items():
            tag(keys, [name])
        Crawl.objects.filter(pk=crawl.pk).update(visibility=visibility)
        crawl.wake()
        notify_workers()


def _seeds(snapshots: "models.QuerySet[Snapshot]") -> dict[str, Seed]:
    rows = snapshots.order_by("id").prefetch_related("tags")
    return {
        row.url: Seed(row.url, row.title, tuple(tag.name for tag in row.tags.all()), row.visibility) for row in rows
    }


def _by_tag(seeds: Iterable[Seed], keys: dict[str, UUID]) -> dict[str, list[UUID]]:
    named: dict[str, list[UUID]] = {}
    for seed in seeds:
        for name in seed.tags:
            named.setdefault(name, []).append(keys[seed.url])
    return named
