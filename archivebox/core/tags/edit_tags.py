"""Owns changing tags themselves: another name, several merged, one deleted."""

from collections.abc import Iterable

from archivebox.base_models.transactions import write_transaction
from archivebox.core.snapshot import Snapshot
from archivebox.core.tag import Tag


class NameTakenError(ValueError):
    """Another tag has this name: the two can be made one."""

    def __init__(self, other: Tag) -> None:
        super().__init__(f"The tag “{other.name}” already exists.")
        self.other = other


def rename(tag: Tag, name: str) -> None:
    """Give ``tag`` another name. ValueError for a name without a letter or digit; NameTakenError."""
    name = " ".join(name.split())[:100]
    slug = Tag.slug_of(name)
    if not slug:
        raise ValueError("A tag must contain a letter or digit.")
    other = Tag.objects.filter(slug=slug).exclude(pk=tag.pk).first()
    if other is not None:
        raise NameTakenError(other)
    tag.name, tag.slug = name, slug
    tag.save(update_fields=["name", "slug"])


def merge(tags: Iterable[Tag], into: Tag) -> None:
    """Put ``into`` on every Snapshot that has one of ``tags``, and give these up."""
    put = Snapshot.tags.through.objects
    with write_transaction():
        for tag in tags:
            if tag != into:
                has_it = put.filter(tag=into).values("snapshot_id")
                put.filter(tag=tag).exclude(snapshot_id__in=has_it).update(tag=into)
                tag.delete()
