"""URLs that a crawl found and did not take: how many for each reason, and the first of them."""

from collections.abc import Mapping, Sequence
from uuid import UUID

from django.db import connection, models

from archivebox.base_models.rows import Row, new_id
from archivebox.base_models.table import table_of
from archivebox.crawls.crawl import Crawl

SAMPLE = 20
"""URLs that are kept of each reason."""
_ADD = " ON CONFLICT (crawl_id, code) DO UPDATE SET count = {table}.count + excluded.count"


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
        """Count these, by code, and keep so many.

        In SQL: one statement a reason, which adds up whoever else writes the same row.
        """
        table = table_of(cls)
        statement = table.insert_statement + _ADD.format(table=table.name)
        for code, found in sorted(urls.items()):
            columns = {"crawl_id": crawl_id, "code": code, "count": len(found), "sample": list(found[:keep])}
            with connection.cursor() as cursor:
                cursor.execute(statement, table.values(new_id(), columns))
