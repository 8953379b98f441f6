"""How long a command waits for what it began."""

from datetime import timedelta

import pytest
from django.utils import timezone

from archivebox.cli.watching import LONGEST_WAIT, Watched, is_done
from archivebox.core.models import ArchiveResult, Snapshot
from archivebox.crawls.models import Crawl, CrawlRun
from archivebox.machine.models import Machine
from tests import factories
from tests.status_triggers import arrange

pytestmark = [pytest.mark.usefixtures("collection"), pytest.mark.database]
SOON, LATE = timedelta(seconds=30), LONGEST_WAIT + timedelta(minutes=1)


def waiting(reason: str, said: dict[str, int], wait: timedelta) -> Crawl:
    """A crawl that is sealed, and whose page waits for another try."""
    crawl = factories.crawl("https://a.example/")
    page, then = crawl.snapshot_set.get(), timezone.now() + wait
    ArchiveResult.objects.create(
        snapshot=page, plugin="chrome", status="backoff", reason=reason, output_json=said, retry_at=then
    )
    arrange(Snapshot.objects.filter(pk=page.pk), status="sealed", sealed_at=timezone.now(), retry_at=then)
    arrange(Crawl.objects.filter(pk=crawl.pk), status="sealed", retry_at=then)
    crawl.refresh_from_db()
    return crawl


@pytest.mark.parametrize(
    ("reason", "said", "wait", "done"),
    [
        ("server_busy", {"retry_after": 30}, SOON, False),
        ("server_busy", {"retry_after": 700}, LATE, True),
        ("server_busy", {"retry_after": 0}, SOON, True),
        ("challenge", {"retry_after": 0}, SOON, True),
        ("timeout", {}, SOON, True),
    ],
)
def test_a_server_that_said_when_is_waited_for_and_a_back_off_is_not(
    reason: str, said: dict[str, int], wait: timedelta, done: bool
) -> None:
    assert is_done(waiting(reason, said, wait)) is done


@pytest.mark.parametrize(
    ("page", "crawl", "done"),
    [("sealed", "started", True), ("queued", "started", False), ("sealed", "queued", False)],
)
def test_beside_a_server_the_pages_are_waited_for_and_not_the_end_of_the_browser(
    page: str, crawl: str, done: bool
) -> None:
    row = factories.crawl("https://a.example/")
    CrawlRun.objects.create(crawl=row, machine=Machine.current(), created_by=row.created_by)
    arrange(Snapshot.objects.filter(crawl=row), status=page, sealed_at=timezone.now(), retry_at=None)
    arrange(Crawl.objects.filter(pk=row.pk), status=crawl, retry_at=None)
    watched = Watched([row.pk])
    assert watched.is_done(ends_elsewhere=True) is done
    assert not watched.is_done()
