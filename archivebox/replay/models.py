"""Owns script views: which label shows the page of which snapshot with its scripts, to whom, and until when."""

import hashlib
import secrets
from collections.abc import Iterable
from datetime import timedelta
from uuid import UUID

from django.db import models
from django.db.models import F
from django.utils import timezone

from archivebox.base_models.rows import Row
from archivebox.config.settings import DATA_FOLDER
from archivebox.core.snapshot import Snapshot
from archivebox.replay.capability import PUBLIC
from archivebox.replay.scripts.memory import SharedViewMemory, forget, forget_others
from archivebox.replay.scripts.place import LABEL_BYTES

LIFETIME = timedelta(hours=1)
"""How long a view lasts; the page of the app that shows it renews it."""
VIEWS_MOST = 100
"""Views of one viewer at a time; older ones end."""
PUBLIC_VIEWS_MOST = 2000
"""The same of all together who have no session."""


class ScriptViewQuerySet(models.QuerySet["ScriptView"]):
    """Script views, in the words people ask for them."""

    def valid(self) -> "ScriptViewQuerySet":
        """Those that have not expired."""
        return self.filter(expires_at__gt=timezone.now())


class ScriptView(Row):
    """One look at a page with its scripts. It opens what was recorded of the page, and no file of its snapshot.

    A view that has ended has no row. ``viewer``: see :mod:`archivebox.replay.capability`.
    """

    snapshot = models.ForeignKey(Snapshot, on_delete=models.CASCADE, related_name="+")
    viewer = models.CharField(max_length=64)
    digest = models.CharField(max_length=64, unique=True, help_text="SHA-256 of the label in its host name")
    url = models.TextField(help_text="the recorded page that it begins with")
    expires_at = models.DateTimeField()
    violation_count = models.PositiveIntegerField(default=0, help_text="what its Content-Security-Policy refused")

    objects = ScriptViewQuerySet.as_manager()

    class Meta:
        indexes = [models.Index(fields=["viewer", "id"], name="script_view_viewer")]

    def __str__(self) -> str:
        return f"script view of {self.url}"

    def renew(self) -> None:
        """Have it last for :data:`LIFETIME` from now."""
        self.expires_at = timezone.now() + LIFETIME
        ScriptView.objects.filter(pk=self.pk).update(expires_at=self.expires_at)

    def end(self) -> None:
        """It opens nothing from now on."""
        forget(DATA_FOLDER.script_views, [self.pk])
        self.delete()


def create_script_view(snapshot: Snapshot, viewer: str, url: str) -> tuple[ScriptView, str]:
    """A new view, and its label, which nobody can be told again. Views that have expired are removed."""
    ScriptView.objects.filter(expires_at__lte=timezone.now()).delete()
    theirs = ScriptView.objects.filter(viewer=viewer).order_by("-id").values_list("pk", flat=True)
    most = PUBLIC_VIEWS_MOST if viewer == PUBLIC else VIEWS_MOST
    ScriptView.objects.filter(pk__in=list(theirs[most - 1 :])).delete()
    forget_others(DATA_FOLDER.script_views, ScriptView.objects.values_list("pk", flat=True))
    label = secrets.token_hex(LABEL_BYTES)
    view = ScriptView.objects.create(
        snapshot=snapshot, viewer=viewer, digest=_digest(label), url=url, expires_at=timezone.now() + LIFETIME
    )
    return view, label


def find_script_view(label: str) -> ScriptView | None:
    """The view with this label, if it has not ended."""
    return ScriptView.objects.valid().filter(digest=_digest(label)).first()


def own_script_view(key: UUID, viewer: str) -> ScriptView | None:
    """The view of this key, if it is this viewer's and has not ended."""
    return ScriptView.objects.valid().filter(pk=key, viewer=viewer).first()


def memory_of_view(key: UUID) -> SharedViewMemory:
    """What is remembered of a view, by all web servers of the collection."""
    return SharedViewMemory(DATA_FOLDER.script_views / str(key))


def forget_views_of(snapshots: Iterable[UUID]) -> None:
    """Remove what is remembered of all views of these pages."""
    views = ScriptView.objects.filter(snapshot_id__in=list(snapshots)).values_list("pk", flat=True)
    forget(DATA_FOLDER.script_views, views)


def add_violations(key: UUID, count: int) -> None:
    """Count what the policy of a view has refused."""
    ScriptView.objects.filter(pk=key).update(violation_count=F("violation_count") + count)


def _digest(label: str) -> str:
    """128 random bits need no salt, and no slow hash."""
    return hashlib.sha256(label.encode()).hexdigest()
