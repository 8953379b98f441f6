"""Owns putting tags on Snapshots and taking them off, one or many."""

from collections.abc import Iterable, Sequence
from uuid import UUID

from django.db.models import Exists, OuterRef, QuerySet

from archivebox.base_models.counting import CountOf
from archivebox.base_models.visibility import ViewerScope, seen_by
from archivebox.core.snapshot import Snapshot
from archivebox.core.tag import Tag
from archivebox.lib.batches import batches

BATCH = 500
"""Rows of one statement."""
LOOKED_AT = 1_000
"""Pages of a tag among which one that is seen is looked for: 2 ms where all are hidden."""


def tags_seen_by(scope: ViewerScope, most: int | None = LOOKED_AT) -> "QuerySet[Tag]":
    """All tags but those that are on pages, and on none of the newest of these that is seen; ``most`` None: of all."""
    tags = Tag.objects.all()
    if scope.is_whole:
        return tags
    through = Snapshot.tags.through.objects
    newest = through.filter(tag_id=OuterRef(OuterRef("pk"))).order_by("-snapshot_id").values("snapshot_id")[:most]
    seen = seen_by(scope, Snapshot.objects.filter(pk__in=newest))
    return tags.filter(~Exists(through.filter(tag_id=OuterRef("pk"))) | Exists(seen))


def tag(snapshots: Sequence[UUID], names: Iterable[str]) -> None:
    """Put tags of these names on Snapshots by key; what has one already keeps it. A name without a letter is none."""
    through = Snapshot.tags.through
    for one in filter(None, map(Tag.named, names)):
        rows = (through(snapshot_id=key, tag_id=one.pk) for key in snapshots)
        for batch in batches(rows, BATCH):
            through.objects.bulk_create(batch, ignore_conflicts=True)


def untag(snapshots: Sequence[UUID], names: Iterable[str]) -> None:
    """Take tags of these names off Snapshots by key; the tags stay."""
    slugs = [Tag.slug_of(name) for name in names]
    tags = list(Tag.objects.filter(slug__in=slugs))
    for batch in batches(snapshots, BATCH):
        Snapshot.tags.through.objects.filter(snapshot_id__in=batch, tag__in=tags).delete()


def retag(snapshot: Snapshot, names: Iterable[str]) -> None:
    """Give one Snapshot exactly these tags."""
    wanted = {Tag.slug_of(name): name for name in names}
    untag([snapshot.pk], [one.name for one in snapshot.tags.all() if one.slug not in wanted])
    tag([snapshot.pk], wanted.values())


def pages_of(tags: Iterable[Tag], scope: ViewerScope, most: int) -> dict[UUID, int]:
    """How many pages in the Library have each tag; counted up to one more than ``most``, by one query for all."""
    pages = seen_by(scope, Snapshot.objects.in_library().filter(tags=OuterRef("pk"))).order_by().values("pk")
    counted = Tag.objects.filter(pk__in=[tag.pk for tag in tags]).annotate(pages=CountOf(pages[: most + 1]))
    return dict(counted.order_by().values_list("pk", "pages"))
