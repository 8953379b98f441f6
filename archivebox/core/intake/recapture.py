"""Owns archiving again what was archived: new versions of the same URLs, in a crawl of their own."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from uuid import UUID

from django.contrib.auth.models import User
from django.db import models
from django.utils import timezone

from archivebox.base_models.bulk_write import insert_rows
from archivebox.base_models.transactions import write_transaction
from archivebox.base_models.visibility import narrowest
from archivebox.base_models.wakeups import notify_workers
from archivebox.contract.reasons import OUT_OF_TIME, split
from archivebox.core.intake.add_urls import planned
from archivebox.core.intake.parse_input import ParsedInput
from archivebox.core.intake.persona_access import without_foreign_persona
from archivebox.core.intake.request import CrawlRequest, Requester, Seed
from archivebox.core.intake.submit import accept
from archivebox.core.snapshot import Snapshot
from archivebox.core.tags.assign_tags import tag
from archivebox.crawls.crawl import Crawl
from archivebox.hooks import plugins as installed_plugins
from archivebox.lib.jsonl import JSON

OF_THE_CRAWL = frozenset(
    {
        "URL_SCOPE", "URL_ALLOWLIST", "URL_DENYLIST", "MAX_DEPTH", "MAX_URLS", "MAX_SIZE", "VISIBILITY",
        "KEEP_UNCHANGED",
    }
)  # fmt: skip
"""Settings that say how far a crawl goes, who sees it, and what of it is kept: a new one says so itself."""

MORE_TIME = 4
"""The factor for the limits that a page ran out of."""


def recapture(
    snapshots: "models.QuerySet[Snapshot]",
    *,
    created_by: User,
    may_name_private: bool = False,
    plugins: Sequence[str] = (),
    label: str = "",
    more_time: bool = False,
) -> Crawl:
    """A crawl with a new version of each of these Snapshots, whose tags it gets; ``plugins``: made by these alone.

    The versions that are there stay. A new one is seen by those who see the one before, the crawl by those who see all
    of them. It runs with the settings that the former was captured with, but for those that spoke of its crawl's scope.
    Whoever named a private place before, it is reached where ``created_by`` may do so now (``may_name_private``).
    ``more_time``: plugins that ran out of time have more of it.
    """
    chosen: dict[str, JSON] = {"PLUGINS": list(plugins)} if plugins else {}
    seeds = list(_seeds(snapshots, created_by, more_time=more_time).values())
    config = _common(seed.config for seed in seeds) | chosen
    seeds = [_beyond(seed, config) for seed in seeds]
    visibility = narrowest(seed.visibility for seed in seeds)
    request = CrawlRequest(config=config, label=label, visibility=visibility)
    requester = Requester(created_by, may_name_private=may_name_private)
    return accept(request, requester, ParsedInput.of_seeds(seeds)).made


def add_versions(
    crawl: Crawl, snapshots: "models.QuerySet[Snapshot]", *, may_name_private: bool = False, more_time: bool = False
) -> None:
    """New versions of more Snapshots for such a crawl; of a URL that it has already there is none more."""
    seeds = _seeds(snapshots, crawl.created_by, more_time=more_time)
    for url in crawl.snapshot_set.filter(url__in=list(seeds)).values_list("url", flat=True):
        del seeds[url]
    now, username = timezone.now(), crawl.created_by.username
    rows = {
        url: planned(crawl, _beyond(seed, crawl.config), username, now, may_be_private=may_name_private)
        for url, seed in seeds.items()
    }
    visibility = narrowest([crawl.visibility, *(seed.visibility for seed in seeds.values())])
    with write_transaction():
        insert_rows(Snapshot, rows.values())
        for name, keys in _by_tag(seeds.values(), {url: key for url, (key, _) in rows.items()}).items():
            tag(keys, [name])
        Crawl.objects.filter(pk=crawl.pk).update(visibility=visibility)
        crawl.wake()
        notify_workers()


def _seeds(snapshots: "models.QuerySet[Snapshot]", created_by: User, *, more_time: bool) -> dict[str, Seed]:
    rows = snapshots.order_by("id").select_related("crawl").prefetch_related("tags")
    return {
        row.url: Seed(
            row.url,
            row.title,
            tuple(tag.name for tag in row.tags.all()),
            row.visibility,
            without_foreign_persona(created_by, _settings_of(row)) | (_longer_limits(row) if more_time else {}),
            row.bookmarked_at,
        )
        for row in rows
    }


def _settings_of(snapshot: Snapshot) -> dict[str, JSON]:
    """What it was captured with."""
    known = {**snapshot.crawl.settings, **snapshot.config}
    return {name: value for name, value in known.items() if name not in OF_THE_CRAWL}


def _longer_limits(snapshot: Snapshot) -> dict[str, JSON]:
    """The ``*_TIMEOUT`` settings of the plugins that ran out of time on a page, times :data:`MORE_TIME`."""
    results, settings, known = snapshot.archiveresult_set, snapshot.settings(), installed_plugins()
    slow = {name for name, code in results.values_list("plugin", "reason") if split(code)[0] in OUT_OF_TIME}
    names = {name for plugin in slow & known.keys() for name in known[plugin].schema.settings}
    limits = {name: settings.get(name) for name in sorted(names) if name.endswith("_TIMEOUT")}
    return {name: MORE_TIME * limit for name, limit in limits.items() if isinstance(limit, int | float)}


def _common(configs: Iterable[Mapping[str, JSON]]) -> dict[str, JSON]:
    """The settings that all have alike."""
    first, *others = [*configs] or [{}]
    return {name: value for name, value in first.items() if all(other.get(name) == value for other in others)}


def _beyond(seed: Seed, config: Mapping[str, JSON]) -> Seed:
    """The page with the settings that its crawl does not have; which plugins was asked for anew, if at all."""
    own = {name: value for name, value in seed.config.items() if config.get(name) != value}
    if "PLUGINS" in config:
        own.pop("PLUGINS", None)
    return replace(seed, config=own)


def _by_tag(seeds: Iterable[Seed], keys: dict[str, UUID]) -> dict[str, list[UUID]]:
    named: dict[str, list[UUID]] = {}
    for seed in seeds:
        for name in seed.tags:
            named.setdefault(name, []).append(keys[seed.url])
    return named
