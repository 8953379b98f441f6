"""Owns which snapshot is shown for a URL at a moment: the nearest one that was recorded, of those that there are."""

from datetime import UTC, datetime, timedelta
from itertools import product
from urllib.parse import urlsplit, urlunsplit

from django.db.models import Exists, OuterRef

from archivebox.base_models.rows import first_id
from archivebox.base_models.visibility import ViewerScope, seen_by
from archivebox.core.models import ArchiveResult, Snapshot
from archivebox.core.snapshot import SnapshotQuerySet

_FIRST = "00000101000000"
"""What the digits that a moment leaves out are."""
_SECOND = timedelta(seconds=1)
"""How exact a moment in an address is: what was made within it is not after it."""
FORMAT = "%Y%m%d%H%M%S"


def moment_of(snapshot: Snapshot) -> str:
    """YYYYMMDDhhmmss in UTC, as archives of the web write it in addresses."""
    return snapshot.created_at.astimezone(UTC).strftime(FORMAT)


def read_moment(digits: str) -> datetime | None:
    """What 4 to 14 digits say, the first moment of what they leave open; None where they are no time."""
    try:
        return datetime.strptime(digits + _FIRST[len(digits) :], FORMAT).replace(tzinfo=UTC)
    except ValueError:
        return None


def nearest(url: str, scope: ViewerScope, moment: datetime | None = None) -> Snapshot | None:
    """Of those that are seen, the snapshot of ``url`` nearest to ``moment``, or the latest; one without a recording
    where none has any.
    """
    rows = seen_by(scope, Snapshot.objects.kept()).filter(url__in=spellings(url))
    recording = ArchiveResult.objects.filter(snapshot=OuterRef("pk"), plugin="responses", status="succeeded")
    return _nearest(rows.filter(Exists(recording)), moment) or _nearest(rows, moment)


def _nearest(rows: SnapshotQuerySet, moment: datetime | None) -> Snapshot | None:
    if moment is None:
        return rows.order_by("-id").first()
    after_it = first_id(moment + _SECOND)
    before = rows.filter(pk__lt=after_it).order_by("-id").first()
    after = rows.filter(pk__gte=after_it).order_by("id").first()
    if before is None or after is None:
        return before or after
    return before if moment - before.created_at <= after.created_at - moment else after


def neighbours(snapshot: Snapshot, scope: ViewerScope) -> tuple[Snapshot | None, Snapshot | None]:
    """The version before this one that is seen, and the one after."""
    rows = seen_by(scope, Snapshot.objects.kept()).filter(url=snapshot.url)
    older = rows.filter(pk__lt=snapshot.pk).order_by("-id").first()
    newer = rows.filter(pk__gt=snapshot.pk).order_by("id").first()
    return older, newer


def spellings(url: str) -> list[str]:
    """The URL, and how else the same page is commonly named: the other scheme, with and without ``www.`` and ``/``."""
    parts = urlsplit(url)
    host, path = parts.netloc, parts.path
    schemes = [parts.scheme, "http" if parts.scheme == "https" else "https"]
    hosts = [host, host.removeprefix("www.") if host.startswith("www.") else f"www.{host}"]
    paths = [path, path.rstrip("/") if path.endswith("/") else f"{path}/"]
    return [
        urlunsplit((scheme, name, each or "/", parts.query, ""))
        for scheme, name, each in product(schemes, hosts, paths)
    ]
