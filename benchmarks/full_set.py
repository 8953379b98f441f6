"""Crawls of ten and of sixty pages with all default plugins, against one process that has the same pages in two tabs.

The floor calls the code of the hooks as ``by_hand`` does, forked once for each tab, as that code has the working folder
and the environment to itself. Each from the start of its browser to its last page. What is our Python is the CPU of the
whole engine but that of Chromium and of hooks in another's environment; the notes tell what of it went where.
"""

import itertools
import os
import time
from collections import defaultdict
from collections.abc import Sequence

from django.db.models import Max, Min

from archivebox.core.snapshot import Snapshot
from archivebox.crawls.crawl import Crawl
from archivebox.machine.process import Process
from benchmarks import trees
from benchmarks.by_hand import Step, apart, at_a_browser, in_a_crawl, in_turn, of_others, plan_of
from benchmarks.commands import local_site
from benchmarks.finding import Bound, Finding
from benchmarks.pages import TABS, Seen, watched
from benchmarks.room import REST, Room, room

TOLD = 12
"""Hooks that the notes name, the costliest first."""


def run(rounds: int) -> list[Finding]:
    numbers = itertools.count()
    ten, sixty = (
        Finding(f"{count} pages, all default plugins", "s", Bound.RATIO, 1.25, [], floor_name="two tabs by hand")
        for count in (10, 60)
    )
    share = Finding("share of our Python in the CPU of all, 60 pages", "%", Bound.MOST, 25, [])
    with local_site() as site, room([], warm_up=0) as engine:

        def urls(count: int) -> list[str]:
            return [f"{site}article?n={number}" for number in itertools.islice(numbers, count)]

        plan = plan_of(in_a_crawl(engine, urls(4)))
        for _ in range(rounds):
            by_floor(ten, plan, urls(10))
            by_ours(ten, engine, urls(10))
            by_floor(sixty, plan, urls(60))
            by_ours(sixty, engine, urls(60), share)
    return [ten, sixty, share]


# --- ours -----------------------------------------------------------------------------------------------------


def by_ours(finding: Finding, engine: Room, urls: Sequence[str], share: Finding | None = None) -> None:
    seen, before, parts = Seen(), trees.cpu(engine.root), of_engine()
    with watched(engine.root, seen):
        crawl = in_a_crawl(engine, urls)
    time.sleep(REST)
    used = trees.cpu(engine.root).since(before).whole
    finding.ours.append(seconds(crawl))
    finding.ours_cpu.append(used)
    if share is not None:
        ours = used - seen.browser - of_others(crawl)
        share.ours.append(100 * ours / used)
        told = {"a page": ours, "hooks of another environment": of_others(crawl), "Chromium": seen.browser}
        told |= {name: spent - parts.get(name, 0.0) for name, spent in of_engine().items()}
        told |= dict(sorted(of_hooks(crawl).items(), key=lambda hook: -hook[1])[:TOLD])
        share.notes = {name: f"{1000 * spent / len(urls):.0f} ms" for name, spent in told.items()}


def seconds(crawl: Crawl) -> float:
    """From the start of the first hook to the seal of the last page."""
    last = Snapshot.objects.filter(crawl=crawl).aggregate(Max("sealed_at"))["sealed_at__max"]
    first = Process.objects.filter(crawl_id=crawl.pk).aggregate(Min("started_at"))["started_at__min"]
    return float((last - first).total_seconds())


def of_engine() -> dict[str, float]:
    """CPU seconds that the living processes of the engine have used, by what they are."""
    used: dict[str, float] = defaultdict(float)
    for process in Process.objects.here().running().exclude(worker_type=""):
        used[process.worker_type] += trees.own(process.pid or 0)
    return used


def of_hooks(crawl: Crawl) -> dict[str, float]:
    """CPU seconds of the crawl's pages by hook; the browser's own is another's."""
    used: dict[str, float] = defaultdict(float)
    for hook in Process.objects.filter(crawl_id=crawl.pk, process_type="hook", snapshot_id__isnull=False):
        script = hook.cmd[1].rpartition("/")[2].removeprefix("on_Snapshot__").partition(".")[0]
        used[script] += (hook.user_seconds or 0) + (hook.system_seconds or 0)
    return used


# --- the floor ------------------------------------------------------------------------------------------------


def by_floor(finding: Finding, plan: Sequence[Step], urls: Sequence[str]) -> None:
    took, used = apart(in_two_tabs, plan, urls)
    finding.floor.append(took)
    finding.floor_cpu.append(used)


def in_two_tabs(plan: Sequence[Step], urls: Sequence[str]) -> list[float]:
    """Seconds of all pages together, and their CPU; a hand for each tab has its share of them."""
    start = time.perf_counter()
    with at_a_browser(plan) as (folder, env):
        hands = []
        for tab in range(TABS):
            pid = os.fork()
            if pid == 0:
                try:
                    for number, url in enumerate(urls[tab::TABS]):
                        in_turn(plan, folder / f"{tab}-{number}", url, env)
                    os._exit(0)
                finally:
                    os._exit(1)
            hands.append(pid)
        ended = [os.waitpid(pid, 0)[1] for pid in hands]
        took, used = time.perf_counter() - start, trees.cpu(os.getpid()).whole  # Chromium's last are reaped by others
    if any(ended):
        raise LookupError("by hand a page lacks something")
    return [took, used]
