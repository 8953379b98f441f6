"""How somebody likes to add pages: depth, scope, plugins, persona and tags under a name."""

from django.conf import settings
from django.db import models

from archivebox.base_models.rows import Row


class AddPreset(Row):
    """One person's named way of adding."""

    name = models.CharField(max_length=64)
    choices = models.JSONField(default=dict, help_text="fields of the form, by name")
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["created_by", "name"], name="preset_once_per_person")]

    def __str__(self) -> str:
        return self.name
