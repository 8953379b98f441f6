"""Tags, and putting them on Snapshots."""

import zlib
from collections.abc import Mapping
from typing import Any

from django.db import models
from django.utils.text import slugify

from archivebox.base_models.rows import Row
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
        """The tag of this name, made on first use; None for a name without a letter or digit."""
        name = " ".join(name.split())[:100]
        slug = cls.slug_of(name)
        return cls.objects.get_or_create(slug=slug, defaults={"name": name})[0] if slug else None

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
