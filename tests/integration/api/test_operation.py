"""What those ask who look after an installation: is it ready, and what do its numbers say."""

import fcntl
import json
import os
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import timedelta

import pytest
from prometheus_client import Metric
from prometheus_client.core import GaugeMetricFamily

from archivebox.config.settings import DATA_FOLDER
from archivebox.core.archiveresult import ArchiveResult
from archivebox.core.intake.add_urls import create_crawl
from archivebox.core.intake.request import CrawlRequest, Seed
from archivebox.core.snapshot import Snapshot
from archivebox.lib.processes import ProcessIdentity
from archivebox.machine.host import Machine
from archivebox.workers import metrics
from tests import factories
from tests.integration.api.conftest import Caller, Make
from tests.status_triggers import arrange


@contextmanager
def an_orchestrator() -> Iterator[None]:
    """Its lock, which is how others know that there is one."""
    descriptor = os.open(DATA_FOLDER.orchestrator_lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def numbers(families: Iterable[Metric]) -> dict[tuple[str, ...], float]:
    """Each sample by its name and the values of its labels."""
    return {(one.name, *one.labels.values()): one.value for family in families for one in family.samples}


@pytest.mark.django_db
def test_ready_says_what_is_in_the_way() -> None:
    passer_by = Caller()
    answer = passer_by.ask("GET", "/ready/")
    assert answer.status_code == 503
    assert set(json.loads(answer.content)) == {"status", "orchestrator"}
    with an_orchestrator():
        answer = passer_by.ask("GET", "/ready/")
        assert (answer.status_code, "workers" in json.loads(answer.content)["orchestrator"]) == (503, True)
        worker = factories.row(process_type="worker", worker_type="worker", status="running")
        worker.set_identity(ProcessIdentity.current())
        worker.save()
        assert passer_by.get("/ready/") == {"status": "ready"}
        Machine.current().drain(timedelta(hours=1))
        draining = passer_by.ask("GET", "/ready/")
        Machine.current().resume()
        DATA_FOLDER.conf.write_text("half a li")
        half_saved = passer_by.ask("GET", "/ready/")
        DATA_FOLDER.conf.unlink()
        Machine.objects.update(config={"DISK_FREE_MIN": "much"})
        unusable = passer_by.ask("GET", "/ready/")
        Machine.objects.update(config={"DISK_FREE_MIN": 10**18})
        answer = passer_by.ask("GET", "/ready/")
    assert (draining.status_code, set(json.loads(draining.content))) == (503, {"status", "machine"})
    assert (half_saved.status_code, "its last settings hold" in json.loads(half_saved.content)["settings"]) == (
        503,
        True,
    )
    assert (unusable.status_code, set(json.loads(unusable.content))) == (503, {"status", "settings"})
    assert answer.status_code == 503
    assert "DISK_FREE_MIN" in json.loads(answer.content)["disk"]


@pytest.mark.django_db
def test_metrics_are_for_those_who_may_see_what_runs(caller: Make, settings: object) -> None:
    assert Caller().ask("GET", "/metrics/").status_code == 401
    assert caller("editor", "add").ask("GET", "/metrics/").status_code == 403
    assert caller("viewer").ask("GET", "/metrics/").status_code == 403
    assert caller("admin", "read").ask("GET", "/metrics/").status_code == 200
    settings.PUBLIC_METRICS = True  # type: ignore[attr-defined]  # pytest-django's own object
    assert Caller().ask("GET", "/metrics/").status_code == 200
    assert Caller().ask("POST", "/metrics/").status_code == 405


def test_metrics_tell_of_the_queue_of_failures_and_of_the_disk(caller: Make) -> None:
    admin = caller("admin")
    assert admin.user is not None
    crawl = create_crawl(
        [Seed(f"http://example.com/{n}") for n in range(3)], CrawlRequest(hold=True), created_by=admin.user
    )
    first = Snapshot.objects.filter(crawl=crawl).order_by("pk")[0]
    arrange(Snapshot.objects.filter(pk=first.pk), status="sealed")
    ArchiveResult.objects.create(snapshot=first, plugin="title", hook_name="on_Snapshot__1_title.py", status="failed")
    told = numbers([*metrics.work(), *metrics.traffic(), *metrics.disk()])
    assert told["archivebox_pages", "finished"] == 1
    assert sum(value for (name, *_), value in told.items() if name == "archivebox_pages") == 3
    assert (told["archivebox_results", "failed"], told["archivebox_results", "backoff"]) == (1, 0)
    assert told["archivebox_crawls", "started"] == 0
    assert told["archivebox_disk_free_bytes",] > 0
    assert told["archivebox_egress_bytes", "received"] == 0


def test_a_measurement_that_takes_long_is_not_made_again_at_once() -> None:
    made: list[float] = []

    def measure() -> Iterator[GaugeMetricFamily]:
        made.append(time.monotonic())
        time.sleep(0.2)
        yield GaugeMetricFamily("archivebox_trial", "A trial", len(made))

    sparing = metrics.CachedMeasurement(measure)
    assert sparing.collect() is sparing.collect()
    assert len(made) == 1


def test_settings_that_cannot_be_read_are_said_to_whoever_can_mend_them(
    caller: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PRIVATE_NETWORK_ALLOWLIST")  # of the tests
    admin, editor, wanted = caller("admin"), caller("editor"), {"urls": ["https://example.org/"]}
    try:
        DATA_FOLDER.conf.write_text("what is this\n")
        assert "ArchiveBox.conf line 1" in admin.post("/api/v1/crawls", wanted, status=503)["detail"]
        DATA_FOLDER.conf.write_text('PRIVATE_NETWORK_ALLOWLIST = ["nowhere/99"]\n')
        said = editor.post("/api/v1/crawls", wanted, status=503)["detail"]
    finally:
        DATA_FOLDER.conf.unlink()
    assert said == "The settings of this archive cannot be read. Contact your administrator."
