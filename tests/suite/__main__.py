"""Runs the suite: the default, or with ``--all`` everything; a run that executed no test has failed.

In parts that do not know of each other, two more at a time than there are cores, as a third of their time is waiting.
A test that fails once has failed. How long each test took is kept in :data:`DURATIONS`.
"""

import argparse
import compileall
import json
import os
import subprocess
import sys
import tempfile
import threading
import xml.etree.ElementTree as ET
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from tests.empty import EMPTY
from tests.programs import SHARED
from tests.suite import memory, packages, path, postgres

ROOT = Path(__file__).parents[2]
DURATIONS = ROOT / "build" / "test-durations.json"
"""Test → seconds, of the last run of each; of the database as well where that is PostgreSQL."""
NOT_OF_TESTS = frozenset({"DATABASE_URL", "DATA_DIR", "PYTHONDONTWRITEBYTECODE"})
"""Variables that parts do not have; the last would make each rewrite the assertions of all tests: 7 s of CPU."""
WIDE = "200"
"""Columns of what pytest prints: its summary says of a failed test what there is room for."""

ENGINE, CHAOS, FLEET = "tests/integration/engine", "tests/chaos", "tests/fleet"
PLUGINS, BROWSER = "tests/plugins_bundled", "tests/plugins_bundled/browser"
ACCEPTANCE, CLI, WEB = "tests/acceptance", "tests/acceptance/cli", "tests/acceptance/web"
INTEGRATION, LIB = "tests/integration", "tests/unit/lib"
ENTRANCES = (f"{INTEGRATION}/api", f"{INTEGRATION}/web")
ON_POSTGRESQL = (
    "tests/unit/base_models", "tests/unit/workers/queue", "tests/unit/core/test_batches.py",
    "tests/unit/core/test_tag_races.py", "tests/unit/machine/test_periodic.py", "tests/unit/webhooks",
    f"{INTEGRATION}/models", f"{INTEGRATION}/search",
)  # fmt: skip
"""Tests of locks, claims, notifications, full text, JSON and migrations: the default runs them on PostgreSQL too."""


@dataclass(frozen=True)
class Part:
    """One run of pytest."""

    name: str
    arguments: tuple[str, ...]
    env: Mapping[str, str]


@dataclass(frozen=True)
class Outcome:
    """What one run of pytest did; ``durations``: test → seconds."""

    name: str
    exit_status: int
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    durations: Mapping[str, float] = field(default_factory=dict)

    @property
    def green(self) -> bool:
        """Nothing failed, and something ran."""
        return self.exit_status == 0 and self.passed > 0

    def __str__(self) -> str:
        """The plain closing line."""
        line = f"{self.name}: {self.passed} passed, {self.failed} failed, {self.skipped} skipped"
        return line if self.passed or self.failed else f"{line}  (no test was executed)"


class Runs:
    """The runs that are on; all are ended when this process is told to end."""

    def __init__(self) -> None:
        self._children: set[subprocess.Popen[bytes]] = set()
        self._lock = threading.Lock()
        self._ending = False

    def run(self, part: Part, *, aside: bool) -> tuple[Outcome, str]:
        """Run pytest once and read from its own report what was executed; ``aside``: return what it printed."""
        with tempfile.TemporaryDirectory() as folder:
            report, printed = Path(folder) / "report.xml", Path(folder) / "printed"
            command = [sys.executable, "-I", "-m", "pytest", f"--junitxml={report}", *part.arguments]
            with printed.open("wb") as out:
                exit_status = self._wait(command, part.env, out if aside else None)
            return read_report(part.name, exit_status, report), printed.read_text("utf-8", "replace")

    def _wait(self, command: list[str], env: Mapping[str, str], out: BinaryIO | None) -> int:
        with self._lock:
            if self._ending:
                return 1
            child = subprocess.Popen(command, env=env, stdout=out, stderr=out)
            self._children.add(child)
        try:
            return child.wait()
        except (SystemExit, KeyboardInterrupt):
            self.end()
            raise
        finally:
            self._children.discard(child)

    def end(self) -> None:
        """Tell all of them to end, and wait until they have."""
        with self._lock:
            self._ending = True
        for child in list(self._children):
            child.terminate()
            child.wait()

    def run_all(self, parts: Sequence[Part]) -> list[Outcome]:
        """Run the parts side by side, and print each as it ends."""
        outcomes: list[Outcome] = []
        with ThreadPoolExecutor((os.cpu_count() or 1) + 2) as lanes:
            try:
                for done in as_completed([lanes.submit(self.run, part, aside=True) for part in parts]):
                    outcome, printed = done.result()
                    print(f"\n=== {outcome.name} ===\n{printed}", flush=True)
                    outcomes.append(outcome)
            except (SystemExit, KeyboardInterrupt):
                self.end()
                raise
        return outcomes


def read_report(name: str, exit_status: int, report: Path) -> Outcome:
    """What a JUnit report says; nothing was executed where pytest never got as far as writing one."""
    if not report.exists():
        return Outcome(name, exit_status)
    suites = list(ET.parse(report).getroot().iter("testsuite"))
    total, failures, errors, skipped = (
        sum(int(suite.get(attribute, "0")) for suite in suites)
        for attribute in ("tests", "failures", "errors", "skipped")
    )
    failed = failures + errors
    durations = {
        f"{case.get('classname', '').replace('.', '/')}.py::{case.get('name')}": float(case.get("time", "0"))
        for suite in suites
        for case in suite.iter("testcase")
    }
    return Outcome(name, exit_status, total - failed - skipped, failed, skipped, durations)


def keep_durations(outcomes: Sequence[Outcome]) -> None:
    """Put what was measured in the place of what was measured before."""
    known = read_durations()
    for outcome in outcomes:
        on = " (PostgreSQL)" if outcome.name == "PostgreSQL" else ""
        known.update({f"{test}{on}": seconds for test, seconds in outcome.durations.items()})
    DURATIONS.parent.mkdir(exist_ok=True)
    DURATIONS.write_text(json.dumps(known, indent=0, sort_keys=True))


def read_durations() -> dict[str, float]:
    """Test → seconds; empty before the first run."""
    known: dict[str, float] = json.loads(DURATIONS.read_text()) if DURATIONS.exists() else {}
    return known


def print_slowest(count: int) -> None:
    """The tests that took longest when they last ran, and what all took together."""
    known = read_durations()
    for test, seconds in sorted(known.items(), key=lambda item: -item[1])[:count]:
        print(f"{seconds:8.2f} s  {test}")
    print(f"{sum(known.values()):8.2f} s  {len(known)} tests that were measured (build/test-durations.json)")


def main(words: list[str]) -> int:
    """``--all``: everything; other words go to pytest, for one run on the database that DATABASE_URL names."""
    parser = argparse.ArgumentParser(
        prog="bin/test", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    parser.add_argument("--all", action="store_true", help="everything (40 minutes on two cores), not the default (10)")
    parser.add_argument("--slowest", nargs="?", type=int, const=30, metavar="N", help="print the N slowest tests")
    chosen, arguments = parser.parse_known_args(words)
    os.chdir(ROOT)
    if chosen.slowest is not None:
        print_slowest(chosen.slowest)
        return 0
    for folder in ("archivebox", "tests"):  # else hundreds of processes do, where Python is told to write no bytecode
        compileall.compile_dir(folder, quiet=2)
    postgres.end_on_signals()
    packages.ensure()
    with (
        nullcontext() if arguments else memory.temporary_folders_in_memory(),
        tempfile.TemporaryDirectory(prefix="programs-") as lib,
        tempfile.TemporaryDirectory(prefix="empty-") as empty,
        tempfile.TemporaryDirectory(prefix="path-") as programs,
    ):
        env = {name: value for name, value in os.environ.items() if name not in NOT_OF_TESTS} | {"COLUMNS": WIDE}
        env = {SHARED: lib, EMPTY: empty, **env, "PATH": path.restricted(Path(programs))}
        outcomes = run_given(env, arguments) if arguments else run_suite(env, everything=chosen.all)
    keep_durations(outcomes)
    print()
    for outcome in outcomes:
        print(outcome)
    return 0 if all(outcome.green for outcome in outcomes) else 1


def run_given(env: dict[str, str], arguments: Sequence[str]) -> list[Outcome]:
    """One run with these arguments."""
    url = os.environ.get("DATABASE_URL")
    given = Part("PostgreSQL" if url else "SQLite", tuple(arguments), {**env, "DATABASE_URL": url} if url else env)
    return [Runs().run(given, aside=False)[0]]


def run_suite(env: dict[str, str], *, everything: bool) -> list[Outcome]:
    """All parts: on SQLite what is not ``slow``, and on PostgreSQL what has to do with it; or ``everything``."""
    with postgres.throw_away_cluster() as url:
        marked = "database and not once"
        what = ("-m", marked) if everything else (*ON_POSTGRESQL, "-m", f"{marked} and not slow")
        on_postgresql = Part("PostgreSQL", what, {**env, "DATABASE_URL": url})
        parts = EVERYTHING if everything else DEFAULT
        chosen = () if everything else ("-m", "not slow")
        return Runs().run_all(
            [on_postgresql, *(Part(f"SQLite, {name}", (*which, *chosen), env) for name, which in parts.items())]
        )


def _all_but(folder: str, *others: str) -> tuple[str, ...]:
    return (folder, *(f"--ignore={other}" for other in others))


def _thirds_of(folder: str) -> dict[str, tuple[str, ...]]:
    files = sorted(str(file.relative_to(ROOT)) for file in (ROOT / folder).glob("test_*.py"))
    return {f"{Path(folder).name} {third + 1}": tuple(files[third::3]) for third in range(3)}


EVERYTHING = {
    **_thirds_of(ENGINE),
    "commands": (CLI,),
    "integration": _all_but(INTEGRATION, ENGINE),
    "browser": (BROWSER,),
    "pages": (WEB,),
    "acceptance": _all_but(ACCEPTANCE, CLI, WEB),
    "races": (CHAOS, FLEET),
    "providers": (f"{PLUGINS}/providers", f"{PLUGINS}/search"),
    "lib": (LIB,),
    "all else": _all_but("tests", PLUGINS, ACCEPTANCE, INTEGRATION, CHAOS, FLEET, LIB),
    "plugins": _all_but(PLUGINS, BROWSER, f"{PLUGINS}/providers", f"{PLUGINS}/search"),
}
"""What each part runs, those that take longest first: a long one that is left alone at the end idles a core."""
DEFAULT = {
    "engine": (ENGINE, CHAOS, FLEET),
    "all else": _all_but("tests", PLUGINS, ACCEPTANCE, INTEGRATION, CHAOS, FLEET, LIB),
    "entrances": ENTRANCES,
    "integration": _all_but(INTEGRATION, ENGINE, *ENTRANCES),
    "plugins": _all_but(PLUGINS, BROWSER),
    "commands": (CLI,),
    "browser": (*_all_but(ACCEPTANCE, CLI), BROWSER),
    "lib": (LIB,),
}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
