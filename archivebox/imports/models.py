"""Imported pages as rows: from which source a Snapshot came, and what it was called there."""

from django.db import models

from archivebox.base_models.rows import Row
from archivebox.core.snapshot import Snapshot


class ImportedSnapshot(Row):
    """The origin of one Snapshot. What is on record here is not imported again."""

    snapshot = models.OneToOneField(Snapshot, on_delete=models.CASCADE, related_name="imported_from")
    source = models.CharField(max_length=512, help_text="what names the source, wherever it lies")
    key = models.CharField(max_length=512, help_text="what names the page in it")
    former_id = models.UUIDField(null=True, db_index=True, help_text="its key in an earlier ArchiveBox")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["source", "key"], name="imported_once")]
        indexes = [models.Index(fields=["key"], name="imported_key")]

    def __str__(self) -> str:
        return f"{self.key} of {self.source}"
