"""What a crash costs: a SIGKILL, and the time until work goes on, or until nothing of the tree is left.

A worker dies while hooks of its pages run: counted is the time until others hold all of those pages. Then the process
that watches (a CLI) is killed, alone and together with its orchestrator, while hooks run that would last ten minutes:
counted is the time until no process of the collection lives any more.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from archivebox.base_models.users import system_user
from archivebox.config.settings import DATA_FOLDER
from archivebox.core.intake.add_urls import create_crawl
from archivebox.core.intake.request import CrawlRequest, Seed
from archivebox.core.snapshot import Snapshot
from archivebox.crawls.crawl import Crawl
from archivebox.lib.processes import marked
from archivebox.machine.process import Process
from benchmarks import trees
from benchmarks.finding import Bound, Finding, interleaved
from benchmarks.room import write_plugin

PATIENCE = 60.0
T = TypeVar("T")
HOOKS = {
    "on_Snapshot__10_short.sh": "#!/bin/bash\nsleep 0.3\n",
    "on_Snapshot__20_short.sh": "#!/bin/bash\nsleep 0.3\n",
    "on_Snapshot__30_long.sh": "#!/bin/bash\nsleep 600\n",
}
WATCH = """
from contextlib import suppress
import django
django.setup()
from archivebox.workers.supervise.watch import Interrupted, Watch
with suppress(Interrupted), Watch() as watch:
    print(watch.orchestrator.pid, flush=True)
    watch.wait(lambda: False)
"""


def run(rounds: int) -> list[Finding]:
    write_plugin("rest", HOOKS)
    worker = Finding("from SIGKILL of a worker until its work goes on", "s", Bound.MOST, 1, [])
    orchestrator = Finding("from SIGKILL of orchestrator and CLI until nothing is left", "s", Bound.MOST, 5, [])
    cli = Finding("from SIGKILL of the CLI until nothing is left", "s", Bound.MOST, 5, [])
    interleaved(
        rounds,
        lambda: worker.ours.append(kill_worker()),
        lambda: orchestrator.ours.append(kill_and_count(with_orchestrator=True)),
        lambda: cli.ours.append(kill_and_count(with_orchestrator=False)),
    )
    return [worker, orchestrator, cli]


class Watcher:
    """A process that watches, as ``archivebox add`` does, with an orchestrator beneath it."""

    def __init__(self) -> None:
        command = [sys.executable, "-c", WATCH]
        self.popen = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        self.orchestrator = int(self.popen.stdout.readline()) if self.popen.stdout else 0

    def kill(self) -> None:
        self.popen.kill()
        self.popen.wait()

    def end(self) -> None:
        self.popen.terminate()
        self.popen.wait()


def begin_pages() -> Crawl:
    crawl = create_crawl(
        [Seed(f"https://rest.example/{n}/{time.time()}") for n in range(2)],
        CrawlRequest(config={"PLUGINS": ["rest"]}),
        created_by=system_user(),
    )
    until(lambda: hooks_of(crawl, "on_Snapshot__10_short.sh"))
    return crawl


def hooks_of(crawl: Crawl, name: str) -> int:
    return Process.objects.filter(crawl_id=crawl.pk, hook_name=name).count()


def kill_worker() -> float:
    """Kill the worker that holds a page; the time until another holds it."""
    watcher = Watcher()
    crawl = begin_pages()
    owner = until(
        lambda: Snapshot.objects.filter(crawl=crawl, owner__isnull=False).values_list("owner", flat=True).first()
    )
    pages = Snapshot.objects.filter(crawl=crawl, owner=owner)
    keys = list(pages.values_list("pk", flat=True))
    os.kill(Process.objects.filter(pk=owner).values_list("pid", flat=True).get() or 0, signal.SIGKILL)
    killed = time.monotonic()
    taken_over = Snapshot.objects.filter(pk__in=keys, owner__isnull=False).exclude(owner=owner)
    until(lambda: taken_over.count() == len(keys))
    seconds = time.monotonic() - killed
    Crawl.objects.filter(pk=crawl.pk).update(request="cancel", status="cancelled", retry_at=None)
    watcher.end()
    until(lambda: not living())
    return seconds


def kill_and_count(*, with_orchestrator: bool) -> float:
    watcher = Watcher()
    crawl = begin_pages()
    until(lambda: hooks_of(crawl, "on_Snapshot__30_long.sh"))
    members = set(trees.members(watcher.orchestrator))
    if len(members) < 4:
        raise LookupError("an orchestrator, its workers and two hooks should be there to be ended")
    watcher.popen.kill()
    if with_orchestrator:
        os.kill(watcher.orchestrator, signal.SIGKILL)
    killed = time.monotonic()
    watcher.popen.wait()
    until(lambda: not living() and not any(Path(f"/proc/{pid}").exists() and is_live(pid) for pid in members))
    seconds = time.monotonic() - killed
    Crawl.objects.filter(pk=crawl.pk).update(status="cancelled", retry_at=None)
    return seconds


def is_live(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def living() -> bool:
    """Whether a process of this collection, other than this one, lives."""
    return any(identity.pid != os.getpid() and is_live(identity.pid) for identity in marked(DATA_FOLDER.root))


def until(condition: Callable[[], T | None]) -> T:
    """Ask every few milliseconds; TimeoutError after a minute."""
    deadline = time.monotonic() + PATIENCE
    while not (answer := condition()):
        if time.monotonic() > deadline:
            raise TimeoutError("it did not come true within a minute")
        time.sleep(0.005)
    return answer
