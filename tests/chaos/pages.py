"""Kills at each moment of opening a page, with all default plugins and a real Chromium.

``python -m tests.chaos.pages [--kills N] [CELL ...]`` kills N times (20) in each cell, prints a table and the seed, and
exits 1 if a page was lost, sealed without what an undisturbed page has, or something was left running.
A cell is a victim and a moment: ``recorder/tab is ready``. ``CHAOS_SEED`` is read.
"""

import argparse
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from tests.acceptance.archive.conftest import Home
from tests.chaos import kept
from tests.chaos.opening import MOMENTS, Page
from tests.chaos.victims import VICTIMS, kill, move, small_memory
from tests.integration.engine.disks import Disk, read_only, small_disk
from tests.programs import SHARED
from tests.site.serve import Site

EVERYTHING, MEMORY = "everything", "renderers out of memory"
FULL_DISK, READ_ONLY = "full disk", "read-only outputs"
"""What comes of a place to write to, for 0.3 to 2 s each time; nobody is killed."""
OF_ENVIRONMENT = "environment's fork server"
"""It starts the hooks of plugins that have a Python environment of their own; of the default ones none has."""
AFTER = tuple(MOMENTS)
CELLS: tuple[tuple[str, str], ...] = (
    *((EVERYTHING, moment) for moment in AFTER),
    *(("recorder", moment) for moment in AFTER[2:]),
    *(("renderers", moment) for moment in AFTER[1:]),
    (MEMORY, "navigation has begun"),
    (MEMORY, "outputs are being saved"),
    ("tab holder", "listeners are attached"),
    ("browser", "listeners are attached"),
    ("browser", "outputs are being saved"),
    ("relay", "first body has come"),
    ("egress proxy", "navigation has begun"),
    ("egress proxy", "first body has come"),
    ("fork server", "tab is ready"),
    ("fork server", "outputs are being saved"),
    (OF_ENVIRONMENT, "outputs are being saved"),
    ("worker", "tab is ready"),
    ("worker", "first body has come"),
    ("orchestrator", "listeners are attached"),
    (FULL_DISK, "tab is ready"),
    (FULL_DISK, "first body has come"),
    (READ_ONLY, "tab is being made"),
    (READ_ONLY, "outputs are being saved"),
)
KILLS = 20
SPARE = 1.5
"""Pages for each kill: some are past the moment before anybody has looked."""
LONGEST = 60.0
"""Seconds for each page of a cell, many times what a loaded machine needs."""
DISK_SIZE = 128
"""Megabytes of the disk that is filled."""
LOOK = 0.003
JITTER = 0.03
"""Seconds at most between a moment and the kill, so that it falls at different instructions."""


@dataclass
class Cell:
    """One collection, its pages, and what came of killing one kind of process at one moment."""

    victim: str
    moment: str
    home: Home
    site: Site
    random: random.Random
    kills: int = 0
    processes: int = 0
    """How many processes these kills ended, or how often writing was refused."""
    pages: list[Page] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    disk: Disk | None = None
    _running: "subprocess.Popen[str] | None" = None

    def accept(self, count: int) -> None:
        """Add so many pages, which nothing works on yet."""
        urls = [self.site.url_for(f"/loads?page={number}") for number in range(1, count + 1)]
        code, lines = self.home.type("add", "--bg", *urls)
        assert code == 0, lines
        rows = self.home.rows("SELECT id, url, output_dir FROM core_snapshot")
        by_url = {row["url"]: row for row in rows}
        for number, url in enumerate(urls, 1):
            row = by_url[url]
            self.pages.append(Page(number, row["id"], self.home.data / row["output_dir"], self.site))

    def rage(self, wanted: int) -> None:
        """Work, and kill once for each page that comes to the moment, up to ``wanted`` times."""
        untouched = list(self.pages)
        deadline = time.monotonic() + LONGEST * len(self.pages)
        self._start()
        while untouched and self.kills < wanted and (not self._has_ended() or self._resume()):
            if time.monotonic() > deadline:
                self.wrong.append("it did not get on")
                break
            page = next(filter(MOMENTS[self.moment], untouched), None)
            if page is None:
                time.sleep(LOOK)
                continue
            self._kill_at(page)
            untouched.remove(page)

    def _kill_at(self, page: Page) -> None:
        """Kill, unless the victim has just ended: then this page does not count."""
        time.sleep(self.random.uniform(0, JITTER))
        killed = self._kill(page)
        self.processes += killed
        self.kills += bool(killed)

    def _kill(self, page: Page) -> int:
        if self.victim == EVERYTHING:
            return self._kill_everything()
        if self.victim == MEMORY:
            return self._exhaust(page)
        if self.victim in (FULL_DISK, READ_ONLY):
            return self._refuse_writes()
        return kill(VICTIMS[self.victim](self.home, page))

    def _kill_everything(self) -> int:
        count = len(self.home.running())
        if self._running is not None:
            kill([self._running.pid])
            self._running.wait()
        self.home.kill_everything()
        for page in self.pages:
            page.start_anew()
        self._start()
        return count

    def _exhaust(self, page: Page) -> int:
        with small_memory(f"archivebox-chaos-{os.getpid()}") as group:
            if group is None:
                return 0
            moved = move(VICTIMS["renderers"](self.home, page), group)
            until = time.monotonic() + 2.0
            while (group / "cgroup.procs").read_text().split() and time.monotonic() < until:
                time.sleep(LOOK)
            return moved

    def _refuse_writes(self) -> int:
        """Let writing fail for a while; nobody is ended by that, so it counts as one."""
        seconds = self.random.uniform(0.3, 2.0)
        if self.disk is not None:
            self.disk.fill()
            time.sleep(seconds)
            self.disk.free()
        else:
            with read_only(self.home.data / "users"):
                time.sleep(seconds)
        return 1

    def _start(self) -> "subprocess.Popen[str]":
        with (self.home.folder / "run.log").open("ab") as log:
            command = [sys.executable, "-I", "-m", "archivebox", "run"]
            self._running = subprocess.Popen(
                command,
                cwd=self.home.folder,
                env=self.home.env,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                text=True,
            )
        return self._running

    def _has_ended(self) -> bool:
        return self._running is not None and self._running.poll() is not None

    def _resume(self) -> bool:
        """Start anew if the crawl was paused because worker after worker ended with it; say whether it was."""
        paused = self.home.rows("SELECT id FROM crawls_crawl WHERE status = 'paused' AND reason = 'worker_lost'")
        if paused:
            code, lines = self.home.type("crawl", "resume", *(row["id"] for row in paused))
            assert code == 0, lines
            self._start()
        return bool(paused)

    def finish(self, expected: dict[str, str]) -> None:
        """Let it end, see what failed by then, and try again what waits for that, as a person with ``update --all``."""
        if self._running is not None:
            self._running.wait(LONGEST * len(self.pages))
            if self._resume():
                self._running.wait(LONGEST * len(self.pages))
        self.wrong += kept.final_failures(self.home, self.pages, expected)
        code, lines = self.home.type("update", "--all")
        if code not in (0, 3):
            self.wrong.append(f"update ended with {code}: {lines[-1:]}")
        if left := self.home.wait_until_nothing_runs():
            self.wrong.append(f"left running: {sorted(identity.pid for identity in left)}")

    def end(self) -> None:
        """Whatever has happened, nothing of it runs on."""
        if self._running is not None:
            kill([self._running.pid])
            self._running.wait()
        if self.home.data.exists():
            self.home.kill_everything()


def undisturbed(home: Home) -> dict[str, str]:
    """Hook → status of a page that nobody disturbs; it also installs what the plugins need."""
    with Site() as site:
        cell = Cell("", "", home, site, random.Random(0))
        cell.accept(1)
        cell.rage(0)
        cell.finish({})
        found = kept.statuses(home, cell.pages[0])
        assert not kept.problems(home, cell.pages, found), kept.problems(home, cell.pages, found)
    return found


def run(cells: Sequence[tuple[str, str]], kills: int, seed: int, told: Callable[[Cell], None]) -> list[Cell]:
    """Each cell in a collection of its own; the programs that plugins need are installed once for all."""
    done: list[Cell] = []
    expected: dict[bool, dict[str, str]] = {}
    with ExitStack() as held:
        folder = Path(held.enter_context(tempfile.TemporaryDirectory(prefix="chaos-pages-")))
        lib = os.environ.get(SHARED) or str(folder / "lib")
        for number, (victim, moment) in enumerate(cells):
            more = victim == OF_ENVIRONMENT
            if more not in expected:
                expected[more] = undisturbed(_home(folder / f"undisturbed-{number}", lib, more=more))
            with Site() as site, ExitStack() as mounted:
                home = _home(folder / str(number), lib, more=more)
                cell = Cell(victim, moment, home, site, random.Random(f"{seed} {victim} {moment}"))
                if victim == FULL_DISK:
                    home.env["DISK_FREE_MIN"] = "0"
                    cell.disk = mounted.enter_context(small_disk(home.data, DISK_SIZE))
                try:
                    cell.accept(int(kills * SPARE) + 1)
                    cell.rage(kills)
                    cell.finish(expected[more])
                    cell.wrong += kept.problems(home, cell.pages, expected[more])
                finally:
                    cell.end()
                told(cell)
                done.append(cell)
                if not cell.wrong:  # else it stays to be looked at until the run ends
                    shutil.rmtree(home.folder, ignore_errors=True)
    return done


def _home(folder: Path, lib: str, *, more: bool) -> Home:
    """A collection with the default plugins; ``more``: and one that has an environment of its own."""
    folder.mkdir()
    home = Home(folder)
    home.env |= {"LIB_DIR": lib, "TRAFILATURA_ENABLED": str(more)}
    return home


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--kills", type=int, default=KILLS, help="kills in each cell")
    parser.add_argument("cells", nargs="*", help="victim/moment, or a victim alone; all, if none is named")
    options = parser.parse_args(arguments)
    seed = int(os.environ.get("CHAOS_SEED") or random.randrange(10**6))
    wanted = [cell for cell in CELLS if not options.cells or {"/".join(cell), cell[0]} & set(options.cells)]
    print(f"CHAOS_SEED={seed}\n{'kills':>6} {'ended':>6} {'pages':>6} {'wrong':>6}  cell", flush=True)
    done = run(wanted, options.kills, seed, _tell)
    kills, pages, wrong = (sum(counts) for counts in zip(*map(_counts, done), strict=True))
    print(f"{kills:6} kills, {pages} pages, {wrong} cells with something wrong")
    return 1 if any(cell.wrong for cell in done) else 0


def _counts(cell: Cell) -> tuple[int, int, int]:
    """Kills, pages, and 1 where something is wrong."""
    return cell.kills, len(cell.pages), bool(cell.wrong)


def _tell(cell: Cell) -> None:
    print(f"{cell.kills:6} {cell.processes:6} {len(cell.pages):6} {len(cell.wrong):6}  {cell.victim}/{cell.moment}")
    for problem in cell.wrong[:20]:
        print(f"         {problem}")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
