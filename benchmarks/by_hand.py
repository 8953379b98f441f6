"""A page of all default plugins in a warm crawl, one page at a time, against its hooks without an engine.

The floor is one warm process that calls the very code of the hooks, one after the other, as a page of ours had them:
no row, no process of a hook's own, no log, no waiting for anybody. What holds a tab or records it runs beside it, as it
has to, and a program of another's environment is a process as well.
"""

import contextlib
import itertools
import multiprocessing
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import NamedTuple

from django.db import connections
from django.db.models import Max

from archivebox.contract.discovery import BUNDLED
from archivebox.core.archiveresult import ArchiveResult
from archivebox.core.snapshot import Snapshot
from archivebox.crawls.crawl import Crawl
from archivebox.hooks import base_layers, resolve_settings, script_environment
from archivebox.lib.processes.forkserver_main import compile_script, fresh_main
from archivebox.machine.binary import binary_paths
from archivebox.machine.host import Machine
from archivebox.machine.process import Process
from benchmarks import trees
from benchmarks.commands import local_site
from benchmarks.finding import Bound, Finding, interleaved
from benchmarks.pages import Seen, watched
from benchmarks.room import REST, Room, room

PAGES = 3
"""Of each way in a round, after two that do not count."""
WARM_UP = 2
MADE: tuple[str, ...] = (
    "singlefile/singlefile.html",
    "pdf/output.pdf",
    "screenshot/thumbnail.webp",
    "article/article.html",
)
MADE += ("dom/output.html", "warc/index.cdxj", "hashes/hashes.json")
"""Some of what each page has to have."""
BROWSER = BUNDLED / "chrome" / "on_Crawl__01_chrome.daemon.bg.py"


Work = Callable[[Sequence["Step"], Sequence[str]], list[float]]
"""Does pages by hand: seconds of what it did."""


class Step(NamedTuple):
    """One hook of the page: its command line without the page's own words, and its environment."""

    plugin: str
    interpreter: str
    script: str
    env: dict[str, str]
    is_derived: bool
    """Whether it comes after the recorder's end."""

    @property
    def is_beside(self) -> bool:
        return ".bg." in self.script


def run(rounds: int) -> list[Finding]:
    finding = Finding("page with all default plugins", "s", Bound.RATIO, 1.25, [], floor_name="hooks by hand")
    share = Finding("share of our Python in the CPU of all", "%", Bound.MOST, 25, [])
    numbers = itertools.count()
    with local_site() as site, room([], warm_up=0) as engine:

        def urls() -> list[str]:
            return [f"{site}article?n={next(numbers)}" for _ in range(WARM_UP + PAGES)]

        plan = plan_of(in_a_crawl(engine, urls()))

        def ours() -> None:
            before, seen = trees.cpu(engine.root), Seen()
            with watched(engine.root, seen):
                crawl = in_a_crawl(engine, urls())
            time.sleep(REST)
            used = trees.cpu(engine.root).since(before).whole
            finding.ours.extend(between_seals(crawl))
            share.ours.append(100 * (used - seen.browser - of_others(crawl)) / used)

        interleaved(rounds, lambda: finding.floor.extend(by_hand(plan, urls())), ours)
    finding.notes = {"hooks": str(len(plan))}
    return [finding, share]


# --- ours -----------------------------------------------------------------------------------------------------


def in_a_crawl(engine: Room, urls: Sequence[str]) -> Crawl:
    crawl = engine.begin(urls)
    engine.wait(crawl)
    failed = ArchiveResult.objects.filter(snapshot__crawl=crawl, status="failed")
    if said := list(failed.values_list("plugin", "output_str")[:5]):
        raise LookupError(f"not every hook did its work: {said}")
    return crawl


def between_seals(crawl: Crawl) -> list[float]:
    seals = Snapshot.objects.filter(crawl=crawl).order_by("sealed_at").values_list("sealed_at", flat=True)
    moments = [seal.timestamp() for seal in seals if seal is not None]
    return [later - earlier for earlier, later in itertools.pairwise(moments)][WARM_UP - 1 :]


def of_others(crawl: Crawl) -> float:
    """CPU seconds of the hooks that run in another's environment."""
    hooks = Process.objects.filter(crawl_id=crawl.pk, process_type="hook")
    theirs = [hook for hook in hooks if hook.cmd[0] != sys.executable]
    return sum((hook.user_seconds or 0) + (hook.system_seconds or 0) for hook in theirs)


def plan_of(crawl: Crawl) -> list[Step]:
    """The hooks of the crawl's last page, in the order of their starts."""
    last = Snapshot.objects.filter(crawl=crawl).order_by("-sealed_at")[0]
    hooks = Process.objects.filter(snapshot_id=last.pk, process_type="hook")
    recorded = hooks.filter(plugin="responses").aggregate(Max("ended_at"))["ended_at__max"]
    derived = set(hooks.filter(started_at__gt=recorded).values_list("pk", flat=True))
    settings, programs = resolve_settings(base_layers()), binary_paths(Machine.current().pk)
    plan = []
    for hook in hooks.order_by("started_at"):
        env = script_environment(hook.plugin, settings, programs)
        plan.append(Step(hook.plugin, hook.cmd[0], hook.cmd[1], env, is_derived=hook.pk in derived))
    return plan


# --- the floor ------------------------------------------------------------------------------------------------


def by_hand(plan: Sequence[Step], urls: Sequence[str]) -> list[float]:
    """Seconds of each page that counts, in a process of its own."""
    return apart(one_after_the_other, plan, urls)[WARM_UP:]


def apart(work: Work, plan: Sequence[Step], urls: Sequence[str]) -> list[float]:
    """What it measures in a process of its own; raises LookupError where a page lacks something."""
    connections.close_all()
    here, there = multiprocessing.Pipe()
    hand = multiprocessing.get_context("fork").Process(target=report, args=(work, plan, urls, there))
    hand.start()
    there.close()
    seconds: list[float] | LookupError = here.recv()
    hand.join()
    if isinstance(seconds, LookupError):
        raise seconds
    return seconds


def report(work: Work, plan: Sequence[Step], urls: Sequence[str], there: Connection) -> None:
    try:
        there.send(work(plan, urls))
    except LookupError as error:
        there.send(error)
    os._exit(0)


def one_after_the_other(plan: Sequence[Step], urls: Sequence[str]) -> list[float]:
    """Seconds of each page, in one tab."""
    with at_a_browser(plan) as (folder, env):
        return [in_turn(plan, folder / str(number), url, env) for number, url in enumerate(urls)]


@contextlib.contextmanager
def at_a_browser(plan: Sequence[Step]) -> Iterator[tuple[Path, dict[str, str]]]:
    """A folder, and the environment that leads hooks to the browser which runs meanwhile. Silences this process."""
    with tempfile.TemporaryDirectory(prefix="bench-hand-") as name:
        folder = Path(name)
        with open(folder / "said", "wb") as said:  # noqa: PTH123 - records are of no use here
            os.dup2(said.fileno(), 1)
            os.dup2(said.fileno(), 2)
        env = {"CRAWL_DIR": name, "CRAWL_OUTPUT_DIR": name, "TMPDIR": name}
        holder = next(step for step in plan if step.plugin == "chrome")
        with beside(holder._replace(script=str(BROWSER)), folder, [], env):
            yield folder, env


def in_turn(plan: Sequence[Step], folder: Path, url: str, env: dict[str, str]) -> float:
    """Seconds of one page; LookupError where it lacks something."""
    start = time.perf_counter()
    archive(plan, folder, url, env)
    if lacking := [name for name in MADE if not (folder / name).exists()]:
        raise LookupError(f"by hand nothing came of {', '.join(lacking)}")
    return time.perf_counter() - start


def archive(plan: Sequence[Step], folder: Path, url: str, env: dict[str, str]) -> None:
    arguments = [f"--url={url}", "--snapshot-id=s", "--crawl-id=c", "--depth=0"]
    env = env | {"SNAP_DIR": str(folder), "DATA_DIR": str(folder)}
    with contextlib.ExitStack() as running:
        for step in plan:
            if step.is_derived:
                running.close()
            if step.is_beside:
                running.enter_context(beside(step, folder, arguments, env))
            else:
                call(step, folder, arguments, env)


@contextlib.contextmanager
def beside(step: Step, folder: Path, arguments: Sequence[str], env: dict[str, str]) -> Iterator[None]:
    """A hook that runs until it is told to stop, or until it has done its work."""
    said = folder / f"{Path(step.script).name}.said"
    folder.mkdir(exist_ok=True)
    said.touch()
    pid = os.fork()
    if pid == 0:
        os.dup2(os.open(said, os.O_WRONLY | os.O_APPEND), 1)
        call(step, folder, arguments, env)
        os._exit(0)
    while "daemon" in step.script and b'"Ready"' not in said.read_bytes():
        time.sleep(0.001)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGTERM)
        os.waitpid(pid, 0)


def call(step: Step, folder: Path, arguments: Sequence[str], env: dict[str, str]) -> None:
    """Have a hook do its work: by its code where it is of our environment."""
    place = folder / step.plugin
    place.mkdir(parents=True, exist_ok=True)
    if step.interpreter != sys.executable:
        command = [step.interpreter, step.script, *arguments]
        subprocess.run(command, cwd=place, env=step.env | env, stdout=subprocess.DEVNULL, check=True)
        return
    os.chdir(place)
    os.environ.clear()
    os.environ.update(step.env | env)
    sys.argv[:] = [step.script, *arguments]
    sys.path.insert(0, str(Path(step.script).parent))
    try:
        exec(compile_script(step.script), fresh_main(step.script).__dict__)
    except SystemExit:
        signal.setitimer(signal.ITIMER_REAL, 0)
    finally:
        forget(sys.path.pop(0))


def forget(folder: str) -> None:
    """Modules of one plugin, whose names another may have as well."""
    for name, module in list(sys.modules.items()):
        if str(getattr(module, "__file__", "") or "").startswith(f"{folder}/"):
            del sys.modules[name]
