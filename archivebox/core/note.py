"""Notes: what people write beside a Snapshot."""

from django.contrib.auth.models import User
from django.db import models

from archivebox.base_models.rows import Row
from archivebox.core.snapshot import Snapshot

LONGEST = 10_000
"""Characters of one note."""


class Note(Row):
    """One note; when it was written is in its key."""

    snapshot = models.ForeignKey(Snapshot, on_delete=models.CASCADE, related_name="note_set")
    author = models.ForeignKey(User, null=True, on_delete=models.SET_NULL, related_name="+")
    text = models.TextField(max_length=LONGEST)

    class Meta:
        ordering = ["id"]

    def __str__(self) -> str:
        return self.text[:60]
