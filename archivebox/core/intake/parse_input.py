"""What somebody gave, before anything is written: which URLs are new, which are archived already, what is no URL."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import BinaryIO
from uuid import UUID

from django.utils import timezone

from archivebox.base_models.rows import time_of
from archivebox.base_models.visibility import Sight, seen_by
from archivebox.config.resolve import Resolved
from archivebox.contract.reasons import Reason
from archivebox.core.intake.add_urls import Refusal, Seed, check_seeds
from archivebox.core.snapshot import Snapshot
from archivebox.lib.batches import batches
from archivebox.lib.links.given import read_given
from archivebox.lib.links.link import Link

BATCH = 500
"""URLs of one query, and of one visit to the door."""


class Again(StrEnum):
    """Whether what is archived already is captured again."""

    ALWAYS = "always"
    IF_OLDER = "older"
    IF_CHANGED = "changed"
    NEVER = "never"


@dataclass(frozen=True, slots=True)
class Known:
    """A URL that is archived already: its latest version, and how many there are."""

    seed: Seed
    latest: UUID
    versions: int

    @property
    def at(self) -> datetime:
        return time_of(self.latest)


@dataclass(slots=True)
class Understood:
    """What was given, sorted; each URL once."""

    fresh: list[Seed] = field(default_factory=list)
    known: list[Known] = field(default_factory=list)
    refusals: list[Refusal] = field(default_factory=list)
    repeated: int = 0
    """Lines whose URL had been given before."""

    def chosen(self, again: Again, days: int = 0) -> list[Seed]:
        """The URLs that are archived now; ``days``: how old the latest version has to be."""
        if again is Again.NEVER:
            return self.fresh
        if again is not Again.IF_OLDER:
            return self.fresh + [one.seed for one in self.known]
        before = timezone.now() - timedelta(days=days)
        return self.fresh + [one.seed for one in self.known if one.at < before]


def understand(files: Iterable[BinaryIO], settings: Resolved, sight: Sight, *, may_name_private: bool) -> Understood:
    """Read lists of any kind; LinkFileError for what is none. Names are looked up for visitors: see the door.

    ``sight``: what is not seen is not known.
    """
    seeds: dict[str, Seed] = {}
    found = Understood()
    for file in files:
        for batch in batches(read_given(file), BATCH):
            taken, refusals = _through_the_door(batch, settings, may_name_private=may_name_private)
            found.refusals += refusals
            found.repeated += len(batch) - len(refusals)
            for seed in taken:
                seeds.setdefault(seed.url, seed)
    found.repeated -= len(seeds)
    versions = _versions_of(seeds, sight)
    found.fresh = [seed for url, seed in seeds.items() if url not in versions]
    found.known = [Known(seeds[url], keys[-1], len(keys)) for url, keys in versions.items()]
    return found


def _through_the_door(
    links: list[Link], settings: Resolved, *, may_name_private: bool
) -> tuple[list[Seed], list[Refusal]]:
    """What the door takes of these; lines keep the numbers that they have in the file."""
    urls = [link for link in links if not link.problem]
    refusals = [_unreadable(link) for link in links if link.problem]
    seeds, refused = check_seeds(map(Seed.of_link, urls), settings, may_name_private=may_name_private)
    refusals += [Refusal(urls[one.line - 1].line, one.text, one.code, one.sentence) for one in refused]
    return seeds, sorted(refusals, key=lambda refusal: refusal.line)


def _unreadable(link: Link) -> Refusal:
    return Refusal(link.line, link.url[:200], Reason.BAD_URL.value, f"There is no URL in it: {link.problem}.")


def _versions_of(urls: Iterable[str], sight: Sight) -> dict[str, list[UUID]]:
    """The kept Snapshots of these URLs that are seen, of those that have any; the latest last."""
    versions: dict[str, list[UUID]] = {}
    for batch in batches(urls, BATCH):
        rows = seen_by(sight, Snapshot.objects.in_library()).filter(url__in=batch).order_by("pk")
        for url, key in rows.values_list("url", "pk"):
            versions.setdefault(url, []).append(key)
    return versions
