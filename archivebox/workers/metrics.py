"""What Prometheus is told: the queue, failures, processes, disk, traffic, and the requests that this process answered.

Rows are counted by small indexes alone. Results that succeeded are not: that would read the largest table whole.
"""

import shutil
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from django.db import models
from django.db.models import Count
from prometheus_client import CollectorRegistry, Histogram
from prometheus_client.core import GaugeMetricFamily

from archivebox.base_models.literal import Literal, one_of
from archivebox.config.settings import DATA_FOLDER
from archivebox.core.archiveresult import ArchiveResult
from archivebox.core.snapshot import Snapshot
from archivebox.crawls.crawl import Crawl
from archivebox.jobs.models import Job
from archivebox.lib.egress import sum_totals
from archivebox.machine.process import Process
from archivebox.storage.layout import egress_dirs

RESTS = 50
"""A measurement that took a second is made again after so many: counting never takes more than 2 % of the time."""
MOST_CRAWLS = 500
"""Crawls whose traffic is added up, the newest: each has a file of its own."""

_OPEN = ("queued", "started")

Measure = Callable[[], Iterator[GaugeMetricFamily]]


class CachedMeasurement:
    """A measurement that is not made again at once; until then it says what it found the last time."""

    def __init__(self, measure: Measure) -> None:
        self._measure = measure
        self._found: list[GaugeMetricFamily] = []
        self._due = 0.0
        self._lock = threading.Lock()

    def collect(self) -> list[GaugeMetricFamily]:
        with self._lock:
            begun = time.monotonic()
            if begun >= self._due:
                self._found = list(self._measure())
                now = time.monotonic()
                self._due = now + RESTS * (now - begun)
            return self._found


def work() -> Iterator[GaugeMetricFamily]:
    """Pages, results, crawls, jobs and processes, by what they are at."""
    yield _by("archivebox_pages", "Pages by status; finished ones are sealed or cancelled", "status", _pages())
    yield _by("archivebox_results", "Results of hooks that wait, run or failed, by status", "status", _results())
    yield _by("archivebox_crawls", "Open crawls by status", "status", _counts(Crawl.objects.all(), *_OPEN))
    yield _by("archivebox_jobs", "Open jobs by status", "status", _counts(Job.objects.all(), *_OPEN))
    # Not grouped by the database, which would go through all that ever ran: hundreds run, of hundred thousands.
    running = Counter(Process.objects.running().order_by().values_list("process_type", flat=True))
    yield _by("archivebox_processes", "Processes that run, of all machines, by type", "type", running)


def traffic() -> Iterator[GaugeMetricFamily]:
    """What open crawls have sent and received so far, as it came over the wire."""
    totals = [sum_totals(egress_dirs(crawl.path)) for crawl in Crawl.objects.open().order_by("-pk")[:MOST_CRAWLS]]
    sums = {"received": sum(one.received for one in totals), "sent": sum(one.sent for one in totals)}
    yield _by("archivebox_egress_bytes", "Bytes that open crawls exchanged with sites", "direction", sums)


def disk() -> Iterator[GaugeMetricFamily]:
    """The disk of the data folder."""
    usage = shutil.disk_usage(DATA_FOLDER.root)
    yield GaugeMetricFamily("archivebox_disk_free_bytes", "Free bytes of the data folder's disk", usage.free)
    yield GaugeMetricFamily("archivebox_disk_size_bytes", "All bytes of the data folder's disk", usage.total)


def _pages() -> dict[str, int]:
    counts = _counts(Snapshot.objects.all(), *_OPEN, "paused")
    return {**counts, "finished": max(0, Snapshot.objects.count() - sum(counts.values()))}


def _results() -> dict[str, int]:
    rows = ArchiveResult.objects.all()
    other = {status: rows.filter(status=Literal(status)).count() for status in ("backoff", "failed")}
    return {**_counts(rows, *_OPEN), **other}


def _counts(rows: "models.QuerySet[Any]", *statuses: str) -> dict[str, int]:
    """How many there are of each status: also none, as a number that goes away looks like a server that does."""
    found = rows.filter(status__in=one_of(*statuses)).order_by().values_list("status").annotate(count=Count("pk"))
    return dict.fromkeys(statuses, 0) | dict(found)


def _by(name: str, what: str, label: str, counts: dict[str, int]) -> GaugeMetricFamily:
    family = GaugeMetricFamily(name, what, labels=[label])
    for value, count in counts.items():
        family.add_metric([value], count)
    return family


REGISTRY = CollectorRegistry()
REQUESTS = Histogram(
    "archivebox_http_request_seconds",
    "Seconds until a request to the app was answered, without streams of events",
    ["method", "status"],
    buckets=(0.01, 0.05, 0.1, 0.5, 1, 5, 30),
    registry=REGISTRY,
)
for measure in (work, traffic, disk):
    REGISTRY.register(CachedMeasurement(measure))
