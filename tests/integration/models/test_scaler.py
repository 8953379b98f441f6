"""The query by which Kubernetes decides how many workers there are counts the pages that may be visited now."""

import re
from datetime import timedelta
from pathlib import Path
from uuid import uuid4

import pytest
from django.db import connection
from django.utils import timezone

from archivebox.core.models import Snapshot
from archivebox.crawls.models import Crawl
from tests import factories

MANIFEST = Path(__file__).parents[3] / "packaging" / "kubernetes" / "scaler.yaml"

pytestmark = [
    pytest.mark.usefixtures("collection"),
    pytest.mark.database,
    pytest.mark.skipif("connection.vendor != 'postgresql'", reason="it is asked of PostgreSQL"),
]


def wanted() -> int:
    found = re.search(r"query: >-\n((?: {10,}.*\n)+)", MANIFEST.read_text())
    assert found
    with connection.cursor() as cursor:
        cursor.execute(" ".join(found[1].split()))
        return int(cursor.fetchall()[0][0])


def started(*urls: str) -> Crawl:
    crawl = factories.crawl(*urls)
    Crawl.objects.filter(pk=crawl.pk).update(status="started")
    return crawl


def test_it_counts_what_is_due_or_at_work_of_each_host_two_at_most() -> None:
    assert wanted() == 0
    crawl = started("https://a.example/1", "https://a.example/2", "https://a.example/3", "https://b.example/")
    assert wanted() == 3
    later = timezone.now() + timedelta(hours=1)
    Snapshot.objects.filter(url="https://b.example/").update(retry_at=later)
    assert wanted() == 2, "what waits for a later time needs no worker yet"
    Snapshot.objects.filter(url="https://b.example/").update(owner=uuid4())
    assert wanted() == 3, "a leased page is at work"
    Crawl.objects.filter(pk=crawl.pk).update(request="pause")
    assert wanted() == 0
