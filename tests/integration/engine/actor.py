"""The far end of the driver: a process with the ORM of one collection, told what to do."""

import os
from collections.abc import Callable
from datetime import timedelta
from importlib import import_module
from multiprocessing.connection import Connection
from typing import Any

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "archivebox.config.settings")
django.setup()

from django.contrib.auth.models import User  # noqa: E402 - models can be imported only now
from django.db import connection, models, transaction  # noqa: E402
from django.db.models import F, Q  # noqa: E402
from django.utils import timezone  # noqa: E402

from archivebox.base_models.users import system_user  # noqa: E402
from archivebox.base_models.wakeups import notify_workers  # noqa: E402
from archivebox.base_models.work import Request  # noqa: E402
from archivebox.config.collection import open_collection  # noqa: E402
from archivebox.core.crawl_control import edit_crawl  # noqa: E402
from archivebox.core.crawl_control.retry import retry_missing  # noqa: E402
from archivebox.core.intake import schedules  # noqa: E402
from archivebox.core.intake.add_urls import create_crawl  # noqa: E402
from archivebox.core.intake.request import OPERATOR, CrawlRequest, Seed  # noqa: E402
from archivebox.core.intake.submit import submit  # noqa: E402
from archivebox.core.models import ArchiveResult, Snapshot, StoredObject, Tag, UnchangedCheck  # noqa: E402
from archivebox.crawls import control  # noqa: E402
from archivebox.crawls.models import Crawl, CrawlRun, CrawlSchedule, Refused  # noqa: E402
from archivebox.crawls.schedule import Template  # noqa: E402
from archivebox.jobs.begin import JobRequest, begin  # noqa: E402
from archivebox.jobs.models import Job  # noqa: E402
from archivebox.lib.networks import NetworkRules, OpenedNetworks  # noqa: E402
from archivebox.machine.models import Binary, Machine, Process  # noqa: E402
from archivebox.machine.process_current import forget_current_process  # noqa: E402
from archivebox.webhooks import registering  # noqa: E402
from archivebox.webhooks.models import Delivery, Webhook  # noqa: E402

MODELS: dict[str, type[models.Model]] = {
    model.__name__: model
    for model in (
        ArchiveResult,
        UnchangedCheck,
        Snapshot,
        StoredObject,
        Tag,
        Crawl,
        CrawlRun,
        CrawlSchedule,
        Refused,
        Binary,
        Machine,
        Process,
        Job,
        Delivery,
    )
}


def add(urls: list[str], config: dict[str, Any], max_depth: int) -> str:
    """Accept URLs as one crawl; returns its id."""
    return str(submit(CrawlRequest(urls=urls, config=config, depth=max_depth), OPERATOR).made.pk)


def configure(crawl: str, config: dict[str, Any]) -> int:
    """Write settings of a crawl that nobody has checked, as an earlier version may have; returns how many crawls."""
    return Crawl.objects.filter(pk=crawl).update(config=config)


def hold(count: int) -> str:
    """Accept so many URLs as a crawl that is on record and does not run."""
    seeds = [Seed(f"http://{number}.test/") for number in range(count)]
    return str(create_crawl(seeds, CrawlRequest(hold=True), created_by=system_user()).pk)


def schedule(every: str, url: str, config: dict[str, Any]) -> str:
    """Have a URL archived again and again."""
    template = Template(urls=[url], max_depth=0, tags=[], persona="", config=config)
    made = CrawlSchedule(schedule=every, template=template, created_by=system_user())
    schedules.put(made)
    return str(made.pk)


def let_come(schedules: list[str], seconds: float = 0.0) -> int:
    """Have the time of schedules come so many seconds from now."""
    rows = CrawlSchedule.objects.filter(pk__in=schedules)
    with transaction.atomic():
        count = rows.update(next_at=timezone.now() + timedelta(seconds=seconds))
        notify_workers()
    return int(count)


def begin_job(kind: str, query: str, options: dict[str, Any]) -> str:
    """Have workers do something to all pages that a query means."""
    return str(begin(JobRequest(kind, created_by=system_user(), query=query, options=options)).pk)


def webhook(url: str, events: list[str]) -> list[str]:
    """Have an address told of events; its key and secret."""
    owner = User.objects.create_superuser("admin")
    made = Webhook(url=url, events=events, created_by=owner)
    registering.put(made, NetworkRules(OpenedNetworks.parse(["127.0.0.0/8"])))
    return [str(made.pk), made.secret]


def narrow_webhook(key: str, query: str) -> int:
    return Webhook.objects.filter(pk=key).update(query=query)


def remove_webhook(key: str) -> None:
    registering.remove(Webhook.objects.get(pk=key))


def deliver_now() -> int:
    """Let every message that waits for its next try be tried."""
    with transaction.atomic():
        count = Delivery.objects.filter(owner=None, retry_at__isnull=False).update(retry_at=timezone.now())
        notify_workers()
    return int(count)


def run_result(**which: Any) -> str:
    """Run a result by its own method; without ``hook_name`` it is made, as an import makes one. Returns its status."""
    page = Snapshot.objects.get()
    if "hook_name" in which:
        result = page.archiveresult_set.get(**which)
    else:
        result = page.archiveresult_set.create(**which, pwd=str(page.path / which["plugin"]))
    result.run()
    Process.current().finish(0)  # we are none of the collection's processes, and live on
    forget_current_process()
    return str(result.status)


def run_row(model: str, **which: Any) -> str:
    """Run the one row of a model by its own method. Returns its status."""
    row = MODELS[model]._default_manager.get(**which)
    row.run()  # type: ignore[attr-defined]
    Process.current().finish(0)
    forget_current_process()
    return str(row.status)  # type: ignore[attr-defined]


def rows(model: str, where: dict[str, Any], fields: list[str]) -> list[dict[str, Any]]:
    """Rows in the order of their keys, by column name."""
    found = MODELS[model]._default_manager.filter(**where).order_by("pk").values(*(fields or ["pk"]))
    return [{name: _plain(value) for name, value in row.items()} for row in found]


def _plain(value: object) -> object:
    return value if isinstance(value, str | int | float | bool | list | dict | None) else str(value)


def is_settled(crawls: list[str]) -> bool:
    """Whether these crawls (all, if none is named) have ended, and nothing of theirs is due now."""
    rows = Crawl.objects.filter(pk__in=crawls) if crawls else Crawl.objects.all()
    due = Q(retry_at__lte=timezone.now())
    open_runs = CrawlRun.objects.filter(crawl__in=rows).exclude(status="sealed")
    snapshots = Snapshot.objects.filter(crawl__in=rows).exclude(crawl__status="cancelled")
    return not (
        rows.exclude(status__in=["sealed", "cancelled"]).exists()
        or rows.filter(due).exists()
        or snapshots.filter(due).exists()
        or open_runs.exists()
    )


def control_item(event: str, model: str, key: str) -> bool:
    """Pause, resume or cancel as people do it."""
    return bool(getattr(control, event)(MODELS[model]._default_manager.get(pk=key)))


def exclude(crawl: str, pattern: str) -> int:
    return edit_crawl.exclude(Crawl.objects.get(pk=crawl), pattern)


def limit(crawl: str, max_depth: int) -> int:
    return edit_crawl.change(Crawl.objects.get(pk=crawl), {}, max_depth=max_depth)


def discard(crawl: str) -> int:
    return edit_crawl.discard(Crawl.objects.get(pk=crawl))


def go_on(crawl: str) -> bool:
    return edit_crawl.go_on(Crawl.objects.get(pk=crawl))


def drain(seconds: int | None) -> None:
    """Drain this machine, within so many seconds; None: let it work again."""
    machine = Machine.current()
    if seconds is None:
        machine.resume()
    else:
        machine.drain(timedelta(seconds=seconds))


def kill_process(key: str) -> int:
    """Ask for the end of one hook."""
    with transaction.atomic():
        count = Process.objects.filter(pk=key).update(request=Request.KILL)
        notify_workers()
    return int(count)


def time_has_come() -> int:
    """Let every back-off be over, and each Snapshot's lease-free time come, instead of waiting for it."""
    now = timezone.now()
    with transaction.atomic():
        count = ArchiveResult.objects.filter(status="backoff").update(retry_at=now)
        Snapshot.objects.filter(status="sealed", owner=None, retry_at__isnull=False).update(retry_at=now)
        Crawl.objects.filter(status="sealed", retry_at__isnull=False).update(retry_at=now)
        notify_workers()
    return int(count)


def update_all() -> int:
    """What ``archivebox update`` does."""
    return retry_missing(Snapshot.objects.all())


def look_again_for(name: str) -> int:
    """Queue a program that was not found, as ``archivebox install`` does."""
    with transaction.atomic():
        binary = Binary.objects.get(name=name)
        binary.transition("requeue")
        notify_workers()
    return 1


def ask_without_ring(model: str, key: str, request: str) -> int:
    """Leave a request with the holder and wake nobody: its holder is about to be killed."""
    return MODELS[model]._default_manager.filter(pk=key, owner__isnull=False).update(request=request)


def clock_went_back(hours: float) -> int:
    """What the rows look like after the clock was set back: all that they tell of lies in the future."""
    ahead = timedelta(hours=hours)
    with transaction.atomic():
        for item in (Snapshot, CrawlRun, Crawl):  # in the order in which workers lock them
            item.rows().lock()
        count = Process.objects.filter(status="running", process_type="hook").update(started_at=F("started_at") - ahead)
        for model in (Crawl, CrawlRun, Snapshot, ArchiveResult):
            count += model.objects.filter(retry_at__isnull=False).update(retry_at=F("retry_at") + ahead)
    return int(count)


def is_intact() -> str:
    """What SQLite says about its file; ``ok`` on databases that look after themselves."""
    if connection.vendor != "sqlite":
        return "ok"
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA integrity_check")
        return str(cursor.fetchone()[0])


COMMANDS: dict[str, Callable[..., object]] = {
    function.__name__: function
    for function in (
        add, configure, hold, schedule, let_come, begin_job, webhook, narrow_webhook,
        remove_webhook, deliver_now, run_result, run_row, rows, is_settled, control_item, exclude, limit, discard,
        go_on,
        drain, kill_process, time_has_come, update_all, look_again_for, ask_without_ring, clock_went_back, is_intact,
    )
}  # fmt: skip


def main(driver: Connection) -> int:
    open_collection(create=True)
    import_module("archivebox.workers.supervise.watch")  # what registers takers of records
    while question := driver.recv():
        name, arguments = question
        try:
            answer = {"value": COMMANDS[name](**arguments)}
        except Exception as error:  # noqa: BLE001 - handed to the test, which raises it again
            answer = {"error": f"{type(error).__name__}: {error}"}
        driver.send(answer)
    connection.close()
    return 0
