"""Tags, and putting them on Snapshots."""

import zlib
from collections.abc import Mapping
from typing import Any

from django.db import connection, models
from django.utils.text import slugify

from archivebox.base_models.rows import Row
from archivebox.base_models.transactions import write_transaction
from archivebox.contract.records import register
from archivebox.lib.jsonl import JSON


class Tag(Row):
    """A word that people or hooks put on Snapshots; one row per name, whatever its case."""

    name = models.CharField(max_length=100)
    slug = models.SlugField(max_length=100, unique=True, allow_unicode=True)

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name

    @classmethod
    def named(cls, name: str) -> "Tag | None":
        """The tag of this name, made on first use; None for a name without a letter or digit.

        In a transaction it stays until the end of that, so that it can be put on Snapshots.
        """
        name = " ".join(name.split())[:100]
        slug = cls.slug_of(name)
        while slug:
            tag, _ = cls.objects.get_or_create(slug=slug, defaults={"name": name})
            if tag.lock_if_present():
                return tag
        return None

    def lock_if_present(self) -> bool:
        """Have it stay until the transaction ends; False: it is gone.

        PostgreSQL would otherwise find out at the end that a row names a tag that was deleted meanwhile, and refuse all
        that the transaction holds. On SQLite who writes is alone anyway.
        """
        if connection.vendor != "postgresql" or not connection.in_atomic_block:
            return True
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1 FROM core_tag WHERE id = %s FOR KEY SHARE", [self.pk])
            return cursor.fetchone() is not None

    def delete(self, *args: Any, **options: Any) -> tuple[int, dict[str, int]]:
        """Take it off all Snapshots, those included that somebody is putting it on, and delete it."""
        with write_transaction():
            if connection.features.has_select_for_update:
                list(Tag.objects.filter(pk=self.pk).select_for_update())
            return super().delete(*args, **options)

    @staticmethod
    def slug_of(name: str) -> str:
        """By which a tag is known, however its name is written; empty for a name without a letter or digit."""
        return _slug(" ".join(name.split())[:100])

    @classmethod
    def from_jsonl(cls, record: Mapping[str, JSON], overrides: Mapping[str, Any] | None = None) -> "Tag | None":
        """``{"type": "Tag", "name": …}``: made on first use, put on the Snapshot of the hook that printed it."""
        tag = cls.named(str(record.get("name") or ""))
        snapshot = (overrides or {}).get("snapshot")
        if tag is not None and snapshot is not None:
            snapshot.tags.add(tag)
        return tag


class Tagging(models.Model):
    """One tag on one Snapshot: Django's own table for this would take no index of ours."""

    snapshot = models.ForeignKey("core.Snapshot", models.CASCADE, related_name="+", db_index=False)
    tag = models.ForeignKey(Tag, models.CASCADE, related_name="+", db_index=False)

    class Meta:
        db_table = "core_snapshot_tags"
        default_permissions = ()
        indexes = [models.Index(fields=["tag", "snapshot"], name="tagging_of_tag")]
        unique_together = [("snapshot", "tag")]

    def __str__(self) -> str:
        return f"{self.tag_id} on {self.snapshot_id}"


def _slug(name: str) -> str:
    """One slug per name: what is lost of the name in it (``C++``, ``C#``, ``node.js``) comes back as a checksum."""
    lower = name.lower()
    plain = slugify(lower, allow_unicode=True)[:100]
    if not plain or plain == lower.replace(" ", "-"):
        return plain
    return f"{plain[:90]}-{zlib.crc32(lower.encode()):08x}"


def split_tags(text: str) -> list[str]:
    """``"a, b c"`` → ``["a", "b c"]``; tags are separated by commas."""
    return [name for part in text.split(",") if (name := " ".join(part.split()))]


register("Tag", Tag.from_jsonl)
