"""URLs that a crawl found and did not take: how many for each reason, and the first of them."""

from collections.abc import Mapping, Sequence
from uuid import UUID

from django.db import models

from archivebox.base_models.rows import Row
from archivebox.crawls.crawl import Crawl

SAMPLE = 20
"""URLs that are kept of each reason."""


class Refused(Row):
    """One reason why a crawl did not take URLs that its pages link to."""

    crawl = models.ForeignKey(Crawl, on_delete=models.CASCADE)
    code = models.CharField(max_length=64, help_text="reason code")
    count = models.BigIntegerField(default=0)
    sample = models.JSONField(default=list, help_text="those of the first page that had any")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["crawl", "code"], name="refused_once_per_reason")]

    def __str__(self) -> str:
        return f"{self.code}: {self.count}"

    @classmethod
    def note(cls, crawl_id: UUID, urls: Mapping[str, Sequence[str]], keep: int = SAMPLE) -> None:
        """Count these, by code, and keep so many."""
        for code, found in sorted(urls.items()):
            row, _ = cls.objects.get_or_create(crawl_id=crawl_id, code=code, defaults={"sample": list(found[:keep])})
            cls.objects.filter(pk=row.pk).update(count=models.F("count") + len(found))
