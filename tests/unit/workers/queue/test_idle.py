"""What failed for want of time or memory is tried again once the machine is idle."""

import os
from datetime import timedelta

import pytest
from django.utils import timezone

from archivebox.contract.outcomes import failure
from archivebox.contract.reasons import Reason
from archivebox.core.archiveresult import IDLE_WAIT, settled_columns
from archivebox.core.models import ArchiveResult, Snapshot
from archivebox.crawls.models import Crawl
from archivebox.lib import machine_load
from archivebox.lib.jsonl import JSON
from archivebox.workers.queue.idle import retry_when_idle
from tests.factories import snapshot
from tests.status_triggers import arrange

pytestmark = pytest.mark.usefixtures("collection")


@pytest.fixture(autouse=True)
def _idle(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine_load, "MEMORY_PRESSURE", "/nowhere")
    monkeypatch.setattr(os, "getloadavg", lambda: (0.0, 0.0, 0.0))


def failed(minutes_ago: int, *, when_idle: bool = True, json: JSON = None) -> ArchiveResult:
    """The first run of a hook failed some time ago; its page is sealed, and due again when its result is."""
    page = snapshot()
    ended = timezone.now() - timedelta(minutes=minutes_ago)
    columns = settled_columns(failure(Reason.TIMEOUT), None, attempts=0, now=ended, when_idle=when_idle)
    columns["output_json"] = json
    result = ArchiveResult.objects.create(snapshot=page, plugin="p", hook_name="on_Snapshot__50_p.py")
    arrange(ArchiveResult.objects.filter(pk=result.pk), **columns)
    arrange(Snapshot.objects.filter(pk=page.pk), status="sealed", retry_at=columns["retry_at"])
    arrange(Crawl.objects.filter(pk=page.crawl_id), status="sealed", retry_at=columns["retry_at"])
    result.refresh_from_db()
    return result


def test_a_retry_waits_for_an_idle_machine_for_ten_minutes_at_most() -> None:
    result = failed(0)
    assert result.end_ts is not None
    assert result.retry_at is not None
    assert IDLE_WAIT < result.retry_at - result.end_ts < IDLE_WAIT + timedelta(minutes=2)


def test_its_page_and_crawl_are_due_as_soon_as_the_machine_is_idle() -> None:
    result = failed(2)
    assert retry_when_idle() == 1
    result.refresh_from_db()
    page, crawl = result.snapshot, result.snapshot.crawl
    assert all(row.retry_at is not None and row.retry_at <= timezone.now() for row in (result, page, crawl))
    assert retry_when_idle() == 0


def test_nothing_is_due_earlier_while_the_machine_is_busy(monkeypatch: pytest.MonkeyPatch) -> None:
    failed(2)
    monkeypatch.setattr(os, "getloadavg", lambda: (1000.0, 0.0, 0.0))
    assert retry_when_idle() == 0


def test_back_off_is_kept_on_an_idle_machine_and_what_a_server_asked_for() -> None:
    failed(0)
    failed(0, when_idle=False)
    failed(2, json={"retry_after": 700})
    assert retry_when_idle() == 0
