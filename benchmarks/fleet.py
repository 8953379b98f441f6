"""What a look for work costs where a fleet shares the queue: by open crawls, and by pages that other machines hold.

On PostgreSQL alone: ``bin/with-postgres .venv/bin/python -m benchmarks fleet``. 200,000 pages are due; four crawls are
at work on the machine that looks, as CRAWLS_IN_FLIGHT has it. The floor is a statement that does nothing.
"""

import time
from collections.abc import Callable, Mapping
from typing import TypeVar
from uuid import uuid4

import psutil
from django.db import connection
from django.db.models import Model

from archivebox.base_models.rows import new_id
from archivebox.core.snapshot import Snapshot
from archivebox.crawls.crawl import Crawl, CrawlRun
from archivebox.machine.host import Machine
from archivebox.workers.queue.claim import Capacity, FetchRequest, claim_work, release
from archivebox.workers.queue.due import Cursor
from benchmarks.finding import Bound, Finding, interleaved
from benchmarks.queue_rows import crawl

PAGES = 200_000
SIZES = ((10, 40), (100, 400), (1_000, 4_000), (10_000, 4_000))
"""Open crawls, and pages that are held."""
LOOKS = 20

T = TypeVar("T")


def run(rounds: int) -> list[Finding]:
    return [measure(crawls, held, rounds) for crawls, held in SIZES]


def measure(crawls: int, held: int, rounds: int) -> Finding:
    """Make a queue, and look for work in it."""
    fill(crawls, held)
    name = f"a look for work, {crawls:,} crawls open, {held:,} pages held"
    finding = Finding(name, "ms", Bound.MOST, 100, [], floor_name="SELECT 1")
    worker, machine, cursor = uuid4(), Machine.current().pk, Cursor()

    def ours() -> None:
        for _ in range(LOOKS):
            claimed = _timed(finding.ours, finding.ours_cpu, lambda: claim_work(request))
            for lease in claimed.leases():
                release(lease)

    def floor() -> None:
        for _ in range(LOOKS):
            _timed(finding.floor, finding.floor_cpu, _nothing)

    request = FetchRequest(worker, machine, Capacity(1, 0, 0, 0), cursor)
    ours()  # plans are made and kept
    finding.ours, finding.ours_cpu = [], []
    interleaved(rounds, floor, ours)
    finding.notes = {"server's CPU per look, ms": 1000 * sum(finding.ours_cpu) / len(finding.ours_cpu)}
    finding.ours_cpu = finding.floor_cpu = []
    return finding


def _timed(seconds: list[float], cpu: list[float], call: Callable[[], T]) -> T:
    """Call it, and note how long it took, in ms, and the CPU seconds of the server's process for this connection."""
    server = psutil.Process(connection.connection.info.backend_pid)
    before, start = sum(server.cpu_times()[:2]), time.perf_counter()
    result = call()
    seconds.append((time.perf_counter() - start) * 1000)
    cpu.append(sum(server.cpu_times()[:2]) - before)
    return result


def _nothing() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")


def fill(crawls: int, held: int) -> None:
    """A queue of pages on 20,000 hosts; the first four crawls are at work here."""
    Snapshot.objects.all().delete()
    Crawl.objects.all().delete()
    pattern = crawl()
    copy_rows(Crawl, crawls, {"id": "number_as_id(1, n)"})
    keys = list(Crawl.objects.exclude(pk=pattern.pk).order_by("pk").values_list("pk", flat=True))
    replaced = {
        "id": "number_as_id(2, n)",
        "crawl_id": f"number_as_id(1, 1 + n % {crawls})",
        "url": "'https://host' || n % 19997 || '.example/' || n",
        "domain": "'host' || n % 19997 || '.example'",
        "owner": f"CASE WHEN n <= {held} THEN gen_random_uuid() END",
        "retry_at": f"now() + CASE WHEN n <= {held} THEN 3600 ELSE -1 END * interval '1 s'",
    }
    copy_rows(Snapshot, PAGES, replaced)
    Crawl.objects.filter(pk=pattern.pk).delete()
    for key in keys[:4]:
        run_here = CrawlRun.of(key, Machine.current().pk)
        CrawlRun.objects.filter(pk=run_here.pk).update(status="started", owner=new_id(), ready_at="2026-01-01T00:00Z")
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")


def copy_rows(model: type[Model], count: int, replaced: Mapping[str, str]) -> None:
    """``count`` copies of a model's only row, in some columns SQL of their number ``n`` instead."""
    table, columns = model._meta.db_table, [str(column.column) for column in model._meta.concrete_fields]
    values = ", ".join(replaced.get(name, f'pattern."{name}"') for name in columns)
    with connection.cursor() as cursor:
        cursor.execute(
            "CREATE OR REPLACE FUNCTION number_as_id(kind int, n int) RETURNS uuid LANGUAGE sql IMMUTABLE"
            " RETURN (lpad(to_hex(kind), 8, '0') || lpad(to_hex(n), 24, '0'))::uuid"
        )
        names = ", ".join(f'"{name}"' for name in columns)
        series = f"generate_series(1, {count}) n, (SELECT * FROM {table} LIMIT 1) pattern"
        cursor.execute(f"INSERT INTO {table} ({names}) SELECT {values} FROM {series}")
