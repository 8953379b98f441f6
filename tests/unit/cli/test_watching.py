"""How long a command waits for what it began, and what it shows meanwhile."""

import re
from datetime import timedelta

import pytest
from django.utils import timezone

from archivebox.base_models.users import system_user
from archivebox.cli.output import Output
from archivebox.cli.watching import LONGEST_WAIT, ProgressOutput, Watched, is_done, report
from archivebox.core.models import ArchiveResult, Snapshot
from archivebox.crawls.models import Crawl, CrawlRun
from archivebox.jobs.models import Job
from archivebox.machine.models import Machine
from tests import factories
from tests.status_triggers import arrange
from tests.unit.cli.streams import Terminal, for_people

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


def test_who_waits_for_everything_sees_its_jobs_and_which_was_paused() -> None:
    columns = {"kind": "import_pages", "created_by": system_user(), "total": 400, "done": 211}
    job = Job.objects.create(status="started", retry_at=timezone.now(), **columns)
    out, printed = for_people()
    watched, drawn = Watched(), list[str]()
    progress = ProgressOutput(out, watched, drawn.extend)
    assert not watched.is_done()
    progress.show()
    assert drawn == ["Import archived pages: 211 of 400"]
    arrange(Job.objects.filter(pk=job.pk), status="paused", problem="The disk is full.", retry_at=None)
    assert watched.is_done()
    report(out, watched, progress)
    assert f"Paused: `archivebox job resume {job.pk}` continues it. The disk is full." in printed.getvalue()


def test_what_never_ends_shows_what_came_and_forgets_what_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    watched, drawn = Watched(endless=True), list[str]()
    progress = ProgressOutput(for_people()[0], watched, drawn.extend)
    progress.show()
    row = factories.crawl("https://a.example/")
    assert not watched.is_done()
    progress.show(final=True)
    assert drawn == ["Waiting for work.", "0 of 1 pages done, 1 queued", "hooks: none yet"]
    arrange(Snapshot.objects.filter(crawl=row), status="sealed", sealed_at=timezone.now(), retry_at=None)
    arrange(Crawl.objects.filter(pk=row.pk), status="sealed", retry_at=None)
    assert not watched.is_done()
    assert watched.crawl_ids == {row.pk}
    monkeypatch.setattr(watched, "_forget_at", 0.0)
    assert not watched.is_done()
    assert watched.crawl_ids == set()


@pytest.mark.parametrize(("json", "said"), [(False, r"1 job in [\d.]+ s\.\n"), (True, r'.*"jobs":\{"sealed":1\}.*\n')])
def test_a_summary_counts_jobs(json: bool, said: str) -> None:
    printed, watched = Terminal(), Watched([])
    watched.job_ids.add(Job.objects.create(kind="import_pages", created_by=system_user(), status="sealed").pk)
    ProgressOutput(Output(json=json, stdout=printed), watched, lambda _: None).summarise(0, 0)
    assert re.fullmatch(said, printed.getvalue())
