"""A collection with tiny plugins and a warm engine, in which crawls are run and timed."""

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from archivebox.base_models.users import system_user
from archivebox.config.settings import DATA_FOLDER
from archivebox.core.intake.add_urls import create_crawl
from archivebox.core.intake.request import CrawlRequest, Seed
from archivebox.crawls.crawl import Crawl
from archivebox.hooks import forget_plugins
from archivebox.lib.jsonl import JSON
from archivebox.machine.process import Process
from archivebox.workers.supervise.watch import OrchestratorWatch
from benchmarks import trees

CORES = os.cpu_count() or 1
REST = 0.3
"""Seconds of silence before and after a measurement, in which the last rows are committed and hooks reaped."""


def write_plugin(name: str, scripts: Mapping[str, str]) -> list[Path]:
    """A plugin of the collection: file name → text of its hooks. Write it before the engine starts."""
    folder = DATA_FOLDER.plugins / name
    folder.mkdir(parents=True)
    paths = []
    for file_name, text in scripts.items():
        path = folder / file_name
        path.write_text(text)
        path.chmod(0o755)
        paths.append(path)
    return paths


@dataclass(slots=True)
class Room:
    """The warm engine of this process's collection."""

    watch: OrchestratorWatch
    config: dict[str, JSON]

    @property
    def root(self) -> int:
        """Pid of the orchestrator."""
        pid = self.watch.orchestrator.pid if self.watch.orchestrator is not None else None
        if pid is None:
            raise ProcessLookupError("no orchestrator of ours is at work")
        return pid

    def begin(self, urls: Sequence[str]) -> Crawl:
        return create_crawl([Seed(url) for url in urls], CrawlRequest(config=self.config), created_by=system_user())

    def wait(self, crawl: Crawl) -> None:
        """Until the crawl is sealed, and a moment longer."""

        def is_sealed() -> bool:
            crawl.refresh_from_db()
            return crawl.status == Crawl.StatusChoices.SEALED

        self.watch.wait(is_sealed)

    def run(self, urls: Sequence[str]) -> tuple[float, trees.Used]:
        """Seconds from the call that creates a crawl to its seal, and the CPU of the engine and its hooks."""
        time.sleep(REST)
        before, start = trees.cpu(self.root), time.time()
        crawl = self.begin(urls)
        self.wait(crawl)
        time.sleep(REST)
        return crawl.modified_at.timestamp() - start, trees.cpu(self.root).since(before)


def workers_are_up() -> bool:
    """Whether those are there as well that start when there is more than one page to do."""
    workers = Process.objects.here().running().filter(worker_type="worker")
    return workers.count() >= int(os.environ.get("WORKERS") or CORES)


@contextmanager
def room(plugins: Sequence[str], *, warm_up: int = 8) -> Iterator[Room]:
    """An engine whose workers and fork servers are up and idle, and which runs these plugins alone."""
    if warm_up:
        os.environ.setdefault("WORKERS", str(CORES))  # else others come only when the first does not keep up
        forget_plugins()  # and the environment with them
    with OrchestratorWatch() as watch:
        engine = Room(watch, {"PLUGINS": list(plugins)})
        if warm_up:
            engine.run([f"https://warm{number}.example/" for number in range(warm_up)])
            watch.wait(workers_are_up)
        yield engine
