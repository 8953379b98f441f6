"""Chaos: crawls run while whoever takes part is killed at random moments, and trouble of other kinds is made.

``python -m tests.chaos.run [SECONDS]`` prints how often each kind happened and what came of it, and exits 1 if anything
was lost, done twice, wrongly recorded or left behind. ``CHAOS_SECONDS`` and ``CHAOS_SEED`` are read too.
"""

import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import pytest

from archivebox.contract.reasons import Reason
from archivebox.lib.processes import marked
from tests.chaos.ledger import HOOKS, PAGE_HOOKS, PLUGIN, Ledger, code_of, scripts, status_of
from tests.chaos.trouble import Trouble
from tests.chaos.verdicts import problem_of, story_of, story_of_runs
from tests.integration.engine.disks import Disk, small_disk
from tests.integration.engine.driver import FINAL, PATIENCE, REPOSITORY, USUAL, Collection, Row, collection, identity_of
from tests.site.serve import Site
from tests.suite.packages import missing
from tests.suite.postgres import Cluster
from tests.webserver.server import free_ports

KILLED = {"orchestrator": 1, "worker": 4, "forkserver": 3, "hook": 3, "cli": 1, "supervisord": 1, "chromium": 2}
"""Who is killed, and how often beside the others."""
TROUBLE = 0.15
"""The share of other trouble than a death."""
CHROMIUM = "chromium" not in missing()
ABSENT = {*(() if CHROMIUM else ("chromium",)), *(() if USUAL == "forked" else ("forkserver",))}
"""Who is not there to be killed."""
DISK_SIZE = 512
"""Megabytes of the disk that is filled."""
ADDERS = 2
URLS = 2
"""Pages of each crawl that is added."""
LONGEST_END = 600.0
SESSIONS = 3
"""How often a page is opened again in one worker's hands before its hooks are told that there is none."""
UNSEEN = 4
"""Ends that nobody may have seen (parent and worker died with them), beside one in fifty."""


@dataclass
class Chaos:
    """One run: its victims, its crawls, and the verdict."""

    made: Collection
    seed: int
    site: Site
    trouble: Trouble
    kills: Counter[str] = field(default_factory=Counter)
    """How often each kind happened, deaths and other trouble alike."""
    killed_hooks: set[str] = field(default_factory=set)
    adders: list["subprocess.Popen[bytes]"] = field(default_factory=list)
    server: "subprocess.Popen[bytes] | None" = None
    added: int = 0
    wrong: list[str] = field(default_factory=list)
    figures: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)
        self.victims = {kind: weight for kind, weight in KILLED.items() if kind not in ABSENT}
        self.kinds = (*self.victims, *self.trouble.kinds())
        self.made.plugin(
            PLUGIN,
            scripts(),
            config={"x-hooks": {f"on_Snapshot__{n}_turn.py": {"exclusive": ["turn"]} for n in (30, 31)}},
        )

    # --- while it lasts ---------------------------------------------------------------------------------------

    def rage(self, seconds: float) -> None:
        """Keep crawls coming, and kill."""
        end = time.monotonic() + seconds
        while time.monotonic() < end or not all(self.kills[kind] for kind in self.kinds):
            if time.monotonic() > end + PATIENCE:
                break
            self._keep_serving()
            self._keep_adding()
            time.sleep(self.random.uniform(0.2, 1.5))
            self._do_one()

    def _keep_serving(self) -> None:
        """A server, and another one soon after that has ended."""
        if self.server is None or self.server.poll() is not None:
            with (self.made.base / "server.log").open("ab") as log:
                command = [sys.executable, "-m", "archivebox", "server", "--bind", f"127.0.0.1:{free_ports()}"]
                self.server = subprocess.Popen(
                    command, cwd=REPOSITORY, env=self.made.env, stdout=log, stderr=subprocess.STDOUT
                )

    def _keep_adding(self) -> None:
        self.adders = [adder for adder in self.adders if adder.poll() is None]
        while len(self.adders) < ADDERS:
            urls = [f"http://h{self.random.randrange(8)}.test/{self.added}/{n}" for n in range(URLS)]
            plugins = PLUGIN
            if CHROMIUM and self.added % 4 == 0:
                urls, plugins = [f"{self.site.url}/?page={self.added}"], f"{PLUGIN},chrome"
            self.added += 1
            with self._output(self.added).open("wb") as log:
                command = [sys.executable, "-m", "archivebox", "add", "--plugins", plugins, *urls]
                self.adders.append(
                    subprocess.Popen(command, cwd=REPOSITORY, env=self.made.env, stdout=log, stderr=subprocess.STDOUT)
                )

    def _output(self, number: int) -> Path:
        return self.made.base / f"add-{number}.log"

    def _do_one(self) -> None:
        """Kill somebody, or make other trouble; what has not happened yet comes first."""
        others = self.trouble.kinds()
        missing = [kind for kind in self.kinds if not self.kills[kind]]
        if missing and self.random.random() < 0.5:
            kind = self.random.choice(missing)
        elif self.random.random() < TROUBLE:
            kind = self.random.choice(list(others))
        else:
            kind = self.random.choices(list(self.victims), list(self.victims.values()))[0]
        if kind not in others:
            self._kill_one(kind)
        elif others[kind]():
            self.kills[kind] += 1

    def _kill_one(self, kind: str) -> None:
        victims = [row for row in self._running(kind) if identity_of(row).is_alive()]
        if not victims:
            return
        victim = self.random.choice(victims)
        if identity_of(victim).signal(signal.SIGKILL):
            self.kills[kind] += 1
            if kind == "hook":
                self.killed_hooks.add(str(victim["pk"]))

    def _running(self, kind: str) -> list[Row]:
        if kind == "chromium":
            programs = self.made.processes(status="running", process_type="binary")
            return [row for row in programs if row["pid"] and "chrom" in str(row["cmd"])]
        where = {"worker_type": kind} if kind in {"worker", "forkserver"} else {"process_type": kind}
        rows = self.made.processes(status="running", **where)
        return [row for row in rows if row["pid"] and not (kind == "hook" and row["hook_name"].startswith("on_Crawl"))]

    def kill_everything(self) -> None:
        """The whole tree in one moment."""
        everything = list(self.made.live())
        self.killed_hooks |= set(marked(self.made.root).values())
        for identity in everything:
            identity.signal(signal.SIGKILL)
        self.end_commands()
        self.figures["killed in one moment"] = len(everything)

    def end_commands(self) -> None:
        for command in (*self.adders, self.server):
            if command is not None:
                command.kill()
                command.wait()
        self.adders.clear()
        self.server = None

    # --- afterwards -------------------------------------------------------------------------------------------

    def finish(self) -> None:
        """One start, and all is finished."""
        self.made.watch()
        self.made.wait("an orchestrator", self._is_orchestrated)  # which sweeps, even where all is sealed already
        self.made.wait_sealed(seconds=LONGEST_END)
        self.made.leave()

    def _is_orchestrated(self) -> bool:
        found = [identity_of(row) for row in self._running("orchestrator")]
        return any(identity.is_alive() and not identity.is_zombie() for identity in found)

    def judge(self) -> None:
        ledger = Ledger.read(self.made.root / "ledger")
        runs = {str(row["pk"]): row for row in self.made.processes(process_type="hook")}
        self.figures.update(ledger.counts())
        self._judge_urls()
        self._judge_results(runs)
        self._judge_processes(ledger, runs)
        self._judge_repeats(ledger, runs)
        if ledger.torn:
            self.wrong.append(f"{ledger.torn} torn lines in the ledger")
        for kind in self.kinds:
            if not self.kills[kind]:
                self.wrong.append(f"{kind}: it never happened, so that this run proves nothing about it")
        if (answer := self.made.actor.ask("is_intact")) != "ok":
            self.wrong.append(f"the database is damaged: {answer}")

    def _judge_urls(self) -> None:
        crawls = {str(row["pk"]) for row in self.made.rows("Crawl", "pk")}
        for number in range(1, self.added + 1):
            said = self._output(number).read_text(errors="replace")
            accepted = said.partition("as crawl ")[2].partition(".")[0].split("\n")[0]
            if accepted and accepted not in crawls:
                self.wrong.append(f"accepted, but not there: crawl {accepted}")
            if "locked" in said or "Traceback" in said:
                self.wrong.append(f"a command said: {said[-300:]}")
        pages = self.made.rows("Snapshot", "pk", "url", "status", "reason")
        self.figures["pages"] = len(pages)
        self.wrong += [f"{row['url']} is {row['status']}" for row in pages if row["status"] != "sealed"]
        self.figures["put aside"] = sum(row["reason"] == "worker_lost" for row in pages)

    def _judge_results(self, runs: dict[str, Row]) -> None:
        fields = ("hook_name", "snapshot_id", "status", "reason", "process_id", "attempts", "retry_at", "end_ts")
        rows = self.made.rows("ArchiveResult", *fields, plugin=PLUGIN)
        self.figures["results"] = len(rows)
        if len(rows) != len(HOOKS) * self.figures["pages"]:
            self.wrong.append(f"{len(rows)} results of {self.figures['pages']} pages")
        navigations = self.made.rows("ArchiveResult", "snapshot_id", "status", hook_name__contains="_navigate.")
        not_loaded = {row["snapshot_id"] for row in navigations if row["status"] == "failed"}
        for row in rows:
            if row["reason"] == Reason.NOTHING_CAME and row["snapshot_id"] in not_loaded:
                self.figures["without a page, which is loaded once here"] += 1
            elif row["reason"] == Reason.NO_SESSION and self._tabs(row["snapshot_id"]) >= SESSIONS:
                self.figures["without a page, opened as often as may be"] += 1
            elif row["reason"] == Reason.WORKER_LOST:
                self.figures["results put aside"] += 1
            elif problem := problem_of(row, runs.get(str(row["process_id"])), self.killed_hooks):
                story = story_of(row, self._runs_of(row))
                self.wrong.append(f"{row['snapshot_id']}/{row['hook_name']} {problem}\n{story}")
            elif row["status"] not in FINAL:
                self.figures["killed while memory was short, and tried again later"] += 1

    def _runs_of(self, result: Row) -> list[Row]:
        """All runs of its hook, the earliest first."""
        return self._processes(**{name: result[name] for name in ("snapshot_id", "hook_name")})

    def _tab_runs(self, snapshot_id: object) -> list[Row]:
        """All processes that held the live page of a Snapshot, the earliest first."""
        return self._processes(snapshot_id=snapshot_id, hook_name__contains="_chrome_tab.")

    def _processes(self, **where: object) -> list[Row]:
        fields = ("pk", "pid", "hook_name", "started_at", "ended_at", "end_reason", "exit_code")
        return sorted(self.made.rows("Process", *fields, **where), key=lambda run: str(run["pk"]))

    def _tabs(self, snapshot_id: object) -> int:
        """How often the live page of a Snapshot was opened; each that it lost was somebody's death."""
        return sum(tab["end_reason"] != "sealed" for tab in self._tab_runs(snapshot_id))

    def _judge_processes(self, ledger: Ledger, runs: dict[str, Row]) -> None:
        for (snapshot_id, hook), process_ids in ledger.ended.items():
            for process_id in process_ids:
                run = runs.get(process_id)
                if run is None:
                    self.wrong.append(f"{snapshot_id}/{hook}: no Process row of {process_id}, which came to its end")
                elif run["exit_code"] is None:
                    self.figures["ends nobody saw"] += 1
                elif run["exit_code"] >= 0 and run["exit_code"] != code_of(snapshot_id, hook):
                    self.wrong.append(f"{snapshot_id}/{hook}: exit code {run['exit_code']} on record")
        for key, process_ids in ledger.started.items():
            self.wrong += [
                f"{key}: no Process row of {process_id}" for process_id in process_ids if process_id not in runs
            ]
        ended = {process_id for ids in ledger.ended.values() for process_id in ids}
        for process_id, run in runs.items():
            if (run["exit_code"] or 0) > 0 and process_id not in ended and run["hook_name"] in HOOKS:
                self.wrong.append(f"{run['hook_name']} never came to its end, but has exit code {run['exit_code']}")

    def _judge_repeats(self, ledger: Ledger, runs: dict[str, Row]) -> None:
        """Twice only where rows say why: nobody could see its end, it was killed, or its page given back or gone."""
        for key, process_ids in ledger.twice():
            for process_id, next_id in pairwise(process_ids):
                run, following = runs.get(process_id), runs.get(next_id)
                if run is None or following is None:
                    continue  # reported above
                if run["end_reason"] == "lost":
                    self.figures["repeated: nobody saw its end"] += 1
                elif run["end_reason"] in {"sealed", "cancelled"}:
                    self.figures["repeated: given back as it ended"] += 1
                elif run["exit_code"] == -signal.SIGKILL:
                    self.figures["repeated: killed"] += 1
                elif self._lost_its_page(run, following):
                    self.figures["repeated: its page was gone"] += 1
                else:
                    story = story_of_runs([*self._runs_of(run), *self._tab_runs(run["snapshot_id"])])
                    self.wrong.append(f"{key} ran twice: {run['end_reason']} {run['exit_code']}, then again\n{story}")

        unseen = self.figures["ends nobody saw"]
        if USUAL != "portable" and unseen > UNSEEN + self.figures["ends"] // 50:  # nobody there sees a foster child's
            self.wrong.append(
                f"{unseen} ends nobody saw: that may happen in a moment between two deaths, not as a rule"
            )

    def _lost_its_page(self, run: Row, following: Row) -> bool:
        """Whether it failed without the live page, for which it ran again: whoever held that had ended before then.

        Not before its own end, by the rows: whoever held the page may have exited first, and be put on record later.
        """
        if run["hook_name"] not in PAGE_HOOKS or status_of(run["exit_code"]) != "failed":
            return False
        ended = self.made.rows("Process", "ended_at", pk=following["pk"])[0]["ended_at"]
        tabs = [tab for tab in self._tab_runs(run["snapshot_id"]) if tab["ended_at"] is not None]
        return any(tab["end_reason"] != "sealed" and tab["ended_at"] <= ended for tab in tabs)

    def report(self) -> str:
        kills = ", ".join(f"{self.kills[kind]} {kind}" for kind in self.kinds)
        lines = [f"{sum(self.kills.values())} times trouble: {kills} (seed {self.seed})"]
        lines += [f"{value:7} {name}" for name, value in self.figures.items()]
        lines += [f"WRONG: {text}" for text in self.wrong[:40]]
        return "\n".join(lines)


def run(seconds: float, folder: Path, *, seed: int | None = None, server: Cluster | None = None) -> Chaos:
    """Rage, kill the whole tree, start once, judge. ``server``: of our own, to be restarted."""
    number = seed if seed is not None else int(os.environ.get("CHAOS_SEED") or random.randrange(10**6))
    with ExitStack() as held:
        disk = held.enter_context(a_disk(folder))
        site = held.enter_context(Site())
        limits = {"WORKERS": "2", "MAX_ATTEMPTS": "1", "DISK_FREE_MIN": "0"}
        made = held.enter_context(collection(folder, **limits))
        (made.root / "ledger").symlink_to(folder / "ledger")  # not on a disk that is filled
        chaos = Chaos(made, number, site, Trouble(made, random.Random(number), disk, server))
        held.callback(chaos.end_commands)
        print(f"CHAOS_SEED={number}")
        chaos.rage(seconds)
        chaos.kill_everything()
        chaos.finish()
        chaos.judge()
    return chaos


@contextmanager
def a_disk(folder: Path) -> Iterator[Disk | None]:
    """The data folder's own; None where none can be mounted."""
    try:
        with small_disk(folder / "data", DISK_SIZE) as disk:
            yield disk
    except pytest.skip.Exception as reason:
        print(f"without a full disk: {reason}")
        yield None


def main(arguments: list[str]) -> int:
    seconds = float(arguments[0] if arguments else os.environ.get("CHAOS_SECONDS") or 300)
    with tempfile.TemporaryDirectory(prefix="archivebox-chaos-") as folder:
        chaos = run(seconds, Path(folder))
    print(chaos.report())
    return 1 if chaos.wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
