"""Collections of their own for tests of the engine: tiny plugins, a watcher, rows, and a check that nothing is left."""

import contextlib
import fcntl
import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from multiprocessing import Pipe
from pathlib import Path
from typing import Any, TypeVar

from archivebox.lib.processes import ProcessIdentity, marked
from archivebox.plugins.base.programs import descendants
from tests.databases import database_of, drop_database_of
from tests.empty import make_empty
from tests.integration.engine.tools import Tool

REPOSITORY = Path(__file__).parents[3]
TINY = REPOSITORY / "tests" / "plugins"
"""The tiny plugins that tests of several kinds share."""
PATIENCE = 120.0
"""Seconds after which a condition is given up: many times what a loaded machine needs."""
LOOK = 0.05
MODES: dict[str, dict[str, str]] = {
    "forked": {},
    "cold": {"ARCHIVEBOX_FORK": "0"},
    "portable": {"ARCHIVEBOX_PORTABLE": "1"},
}
USUAL = os.environ.get("ENGINE_MODE", "forked")
"""How hooks are started in tests that do not care."""
FINAL = {"succeeded", "noresults", "failed", "skipped"}

Row = dict[str, Any]
T = TypeVar("T")


class NotReachedError(AssertionError):
    """A condition that did not come true in time."""


def wait_for(what: str, look: Callable[[], T], *, seconds: float = PATIENCE) -> T:
    """The first true answer of ``look``; NotReachedError after ``seconds``."""
    deadline = time.monotonic() + seconds
    while not (answer := look()):
        if time.monotonic() > deadline:
            raise NotReachedError(f"not within {seconds} s: {what}")
        time.sleep(LOOK)
    return answer


class Actor:
    """The collection's rows, asked of a process that has the ORM open on it."""

    def __init__(self, env: Mapping[str, str]) -> None:
        self._pipe, theirs = Pipe()
        with theirs:
            self._process = Tool("actor", env, theirs)

    def ask(self, command: str, **arguments: object) -> Any:
        try:
            self._pipe.send((command, arguments))
            answer = self._pipe.recv()
        except (BrokenPipeError, ConnectionResetError, EOFError):
            raise AssertionError(f"the actor ended with {self._process.wait(PATIENCE)}") from None
        if "error" in answer:
            raise AssertionError(f"{command}: {answer['error']}")
        return answer["value"]

    def close(self) -> None:
        """Let it end; one that has ended, has."""
        with self._pipe, contextlib.suppress(BrokenPipeError):
            self._pipe.send(None)
        self._process.wait(PATIENCE)


@dataclass
class Collection:
    """One data folder, everything it needs beside it, and whoever watches it."""

    base: Path
    mode: str = USUAL
    settings: dict[str, str] = field(default_factory=dict)
    is_made: bool = True
    names: list[str] = field(default_factory=list)
    watchers: list["Tool | subprocess.Popen[bytes]"] = field(default_factory=list)
    _actor: Actor | None = None

    def __post_init__(self) -> None:
        self.root = self.base / "data"
        self.home = self.base / "home"
        if self.is_made:
            make_empty(self.root)
        (self.root / "plugins").mkdir(parents=True, exist_ok=True)
        self.home.mkdir()

    # --- what it is made of -----------------------------------------------------------------------------------

    @property
    def env(self) -> dict[str, str]:
        """Nothing of the caller's environment but what programs need to start."""
        wanted = ("PATH", "LANG", "TMPDIR", "PRIVATE_NETWORK_ALLOWLIST")
        kept = {name: os.environ[name] for name in wanted if name in os.environ}
        own = {
            "DATA_DIR": str(self.root),
            "HOME": str(self.home),
            "XDG_DATA_HOME": str(self.home),
            "LIB_DIR": str(self.base / "lib"),
            "PYTHONPATH": str(REPOSITORY),
            "PYTHONDONTWRITEBYTECODE": "1",
            "WORKERS": "1",
            "STOP_GRACE": "1",
            "SEAL_GRACE": "2",
        }
        return kept | own | database_of(self.root) | MODES[self.mode] | self.settings

    def plugin(
        self,
        name: str,
        hooks: Mapping[str, str],
        *,
        config: Mapping[str, object] | None = None,
        binaries: Sequence[Mapping[str, object]] = (),
    ) -> None:
        """A plugin of a few lines; ``hooks`` by file name: shell or Python, as the extension says."""
        folder = self.root / "plugins" / name
        folder.mkdir()
        for file_name, body in hooks.items():
            (folder / file_name).write_text(body)
            if body.startswith("#!"):
                (folder / file_name).chmod(0o755)
        if config is not None:
            (folder / "config.json").write_text(json.dumps(config))
        if binaries:
            (folder / "binaries.jsonl").write_text("".join(json.dumps(line) + "\n" for line in binaries))
        self.names.append(name)

    def tiny(self, *names: str) -> None:
        """Plugins of ``tests/plugins``."""
        for name in names:
            shutil.copytree(TINY / name, self.root / "plugins" / name)
            self.names.append(name)

    # --- rows -------------------------------------------------------------------------------------------------

    @property
    def actor(self) -> Actor:
        if self._actor is None:
            self._actor = Actor(self.env)
        return self._actor

    def forget_rows(self) -> None:
        """Let go of the database; whoever asks for rows next opens it again."""
        if self._actor is not None:
            self._actor.close()
            self._actor = None

    def add(self, *urls: str, max_depth: int = 0, **config: object) -> str:
        """Accept URLs for this collection's own plugins; returns the crawl's id."""
        wanted = {"PLUGINS": self.names, **config}
        crawl: str = self.actor.ask("add", urls=urls or ("http://one.test/",), config=wanted, max_depth=max_depth)
        return crawl

    def kill(self) -> None:
        """End every process of this collection at once, as a failure of power does."""
        identities = self.live()
        unmarked = [child for identity in identities for child in descendants(identity.pid)]  # not exec'ed yet
        for identity in identities:
            identity.signal(signal.SIGKILL)
        for child in unmarked:
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
        for watcher in self.watchers:
            watcher.kill()
            watcher.wait()
        self.watchers.clear()
        while left := self.live():
            for identity in left:
                identity.signal(signal.SIGKILL)
            time.sleep(LOOK)

    def rows(self, model: str, *fields: str, **where: object) -> list[Row]:
        found: list[Row] = self.actor.ask("rows", model=model, where=where, fields=fields)
        return found

    def row(self, model: str, *fields: str, **where: object) -> Row:
        found = self.rows(model, *fields, **where)
        assert len(found) == 1, f"{len(found)} rows of {model} where {where}"
        return found[0]

    def results(self, **where: object) -> dict[str, Row]:
        """What became of the hooks of our own plugins, by the ``what`` of their name."""
        fields = ("pk", "hook_name", "plugin", "status", "reason", "attempts", "retry_at", "output_str", "process_id")
        found = self.rows("ArchiveResult", *fields, "output_files", "snapshot_id", plugin__in=self.names, **where)
        return {what(str(row["hook_name"])): row for row in found}

    def processes(self, **where: object) -> list[Row]:
        fields = ("pk", "hook_name", "status", "exit_code", "end_reason", "pid", "process_type", "worker_type")
        more = ("parent_id", "stdout", "stderr", "stdout_size", "output_cut", "snapshot_id", "start_ticks", "boot_id")
        return self.rows("Process", *fields, *more, "pid_ns", "archiveresult_id", "cmd", **where)

    def hooks(self, name: str, **where: object) -> list[Row]:
        """Every run of a hook, the earliest first."""
        return [row for row in self.processes(process_type="hook", **where) if what(row["hook_name"]) == name]

    # --- the ledger, which hooks write themselves -------------------------------------------------------------

    @property
    def ledger(self) -> list[str]:
        with contextlib.suppress(FileNotFoundError):
            return (self.root / "ledger").read_text().splitlines()
        return []

    def position(self, line: str) -> int:
        return self.ledger.index(line)

    # --- running ----------------------------------------------------------------------------------------------

    def watch(self, **settings: str) -> Tool:
        """Start somebody who watches, and so an orchestrator and its workers."""
        log = self.base / "watcher.log"
        log.touch()  # tests read it before the watcher has begun
        watcher = Tool("watcher", self.env | settings, log=log)
        self.watchers.append(watcher)
        return watcher

    def watch_with(self, workers: int) -> None:
        """The same, and wait until so many workers are at work: a few pages without hooks bring the others."""
        self.settings["WORKERS"] = str(workers)
        self.plugin("warm_up", {"on_Snapshot__10_warm_up.sh": "exit 0\n"})
        self.names.remove("warm_up")
        self.actor.ask(
            "add", urls=["http://warm1.test/", "http://warm2.test/"], config={"PLUGINS": ["warm_up"]}, max_depth=0
        )
        self.watch()
        running = {"worker_type": "worker", "status": "running"}
        self.wait(f"{workers} workers", lambda: len(self.rows("Process", "pk", **running)) == workers)

    def wait(self, what: str, look: Callable[[], T], *, seconds: float = PATIENCE) -> T:
        try:
            return wait_for(what, look, seconds=seconds)
        except NotReachedError as error:
            raise NotReachedError(f"{error}\n{self.describe()}") from None

    def wait_sealed(self, *crawls: str, seconds: float = PATIENCE) -> None:
        self.wait("every crawl sealed", lambda: self.is_sealed(*crawls), seconds=seconds)

    def is_sealed(self, *crawls: str) -> bool:
        """Whether these (or all) crawls have no work left but what waits for its time."""
        return bool(self.actor.ask("is_settled", crawls=crawls))

    def wait_ledger(self, line: str) -> None:
        self.wait(f"{line!r} in the ledger", lambda: line in self.ledger)

    def run(self, *crawls: str, seconds: float = PATIENCE) -> None:
        """Watch until all is sealed, then leave, and see that nothing of it is left."""
        self.watch()
        self.wait_sealed(*crawls, seconds=seconds)
        self.leave()

    def run_until(self, what: str, look: Callable[[], object]) -> None:
        """The same, but until something has happened first, as a retry for which what is sealed is begun again."""
        self.watch()
        self.wait(what, look)
        self.wait_sealed()
        self.leave()

    def leave(self, signum: int = signal.SIGTERM) -> None:
        """The watchers go; when the last one has gone, nothing of ours runs any more."""
        for watcher in self.watchers:
            if watcher.poll() is None:
                watcher.send_signal(signum)
        for watcher in self.watchers:
            watcher.wait(PATIENCE)
        self.watchers.clear()
        self.wait_until_gone()
        self.check_nothing_left()

    def wait_until_gone(self) -> None:
        """Wait until nothing of this collection runs any more."""
        self.wait("nothing of this collection runs", lambda: not self.live())
        self.wait("nobody orchestrates", lambda: not is_locked(self.root / "run" / "orchestrator.lock"))

    def live(self) -> set[ProcessIdentity]:
        """Processes that bear a mark of this collection, and those whose row says RUNNING and that do run."""
        rows = [identity_of(row) for row in self.processes(status="running") if row["pid"] and row["start_ticks"]]
        return {
            *marked(self.root),
            *(identity for identity in rows if identity.is_alive() and not identity.is_zombie()),
        }

    def check_nothing_left(self) -> None:
        """No process with our mark, no RUNNING row, no lease, no lock held, no lock of a worker or watcher."""
        assert not self.live()
        running = self.processes(status="running")
        assert not running, f"RUNNING rows: {running}\n{self.describe()}"
        for model in ("Crawl", "CrawlRun", "Snapshot", "Binary", "Job", "Delivery"):
            assert not self.rows(model, "owner", owner__isnull=False), f"a {model} is still leased"
        assert not self.rows("ArchiveResult", "status", status="started")
        for name in ("orchestrator.lock", "init.lock"):
            assert not is_locked(self.root / "run" / name), f"{name} is held"
        for folder in ("workers", "watchers"):
            assert not list((self.root / "run" / folder).iterdir()), f"something is left in run/{folder}"

    def describe(self) -> str:
        """What there is, for the message of a failure."""
        lines = [f"crawl {row}" for row in self.rows("Crawl", "status", "retry_at", "request")]
        lines += [f"run {row}" for row in self.rows("CrawlRun", "status", "retry_at", "owner", "ready_at")]
        lines += [
            f"snapshot {row}"
            for row in self.rows("Snapshot", "url", "status", "retry_at", "owner", "current_step", "request")[:20]
        ]
        open_results = [r for r in self.results().values() if r["status"] not in FINAL][:20]
        lines += [f"result {row['hook_name']} {row['status']} {row['reason']}" for row in open_results]
        lines += [f"alive {identity.pid}" for identity in self.live()]
        for row in self.processes(status="running"):
            lines += [f"process {row['process_type']} {row['hook_name']} {row['pid']}", *self._runs_beside(row)]
        for log in (self.root / "logs" / "orchestrator.log", self.base / "watcher.log"):
            if log.exists():
                lines += [f"--- {log.name}", *log.read_text(errors="replace").splitlines()[-15:]]
        return "\n".join(lines)

    def _runs_beside(self, row: Row) -> list[str]:
        """All runs of that hook for that page or crawl: which should have ended, or been adopted."""
        work = ("crawl_id", "snapshot_id", "hook_name")
        fields = ("pk", "parent_id", "pid", "status", "end_reason", "started_at", "ended_at")
        where = self.rows("Process", *work, pk=row["pk"])[0]
        return [f"  {run}" for run in self.rows("Process", *fields, **where)] if row["hook_name"] else []

    def end(self) -> None:
        """Whatever happened in the test: end every process of this collection, and its rows' reader."""
        self.kill()
        self.forget_rows()
        drop_database_of(self.root)


def what(hook_name: str) -> str:
    """``on_Snapshot__51_screenshot.py`` → ``screenshot``."""
    return hook_name.partition("__")[2].partition("_")[2].partition(".")[0]


def identity_of(row: Row) -> ProcessIdentity:
    """Who a row speaks of, as the operating system knows it here: the portable path keeps other start times."""
    if row["pid_ns"] == 0:
        return ProcessIdentity.of(row["pid"]) or ProcessIdentity.current()._replace(pid=row["pid"], start_ticks=0)
    return ProcessIdentity(row["boot_id"], row["pid_ns"], row["pid"], row["start_ticks"])


def is_locked(path: Path) -> bool:
    try:
        descriptor = os.open(path, os.O_RDWR)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


@contextlib.contextmanager
def collection(base: Path, mode: str = USUAL, **settings: str) -> Iterator[Collection]:
    made = Collection(base, mode, settings)
    try:
        yield made
    finally:
        made.end()
