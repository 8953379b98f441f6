"""What a worker loads of a crawl."""

import pytest
from django.utils import timezone

from archivebox.base_models.rows import new_id
from archivebox.crawls.models import CrawlRun
from archivebox.machine.models import Machine, Process
from archivebox.workers.execute.crawl_executor import load
from tests.factories import crawl


@pytest.mark.usefixtures("collection")
def test_browsers_of_other_machines_are_left_to_them() -> None:
    work, here = crawl("https://one.example/"), Machine.current()
    elsewhere = Machine.objects.create(pk=new_id(), hostname="elsewhere", seen_at=timezone.now())
    hook = {"process_type": "hook", "status": "running", "crawl_id": work.pk, "plugin": "chrome"}
    ours, _ = (Process.objects.create(machine=machine, **hook) for machine in (here, elsewhere))
    run, worker = CrawlRun.of(work.pk, here.pk), new_id()
    assert CrawlRun.claim([run.pk], worker)
    loaded = load(run.pk, worker)
    assert loaded is not None
    assert loaded.running == [ours]
