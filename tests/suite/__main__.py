"""Runs the whole suite: on SQLite, then on a throw-away PostgreSQL; a run that executed no test has failed.

In parts that do not know of each other, two more at a time than there are cores, as a third of their time is waiting.
The few that failed beside others are tried once more in peace: what fails then has failed, what passes is named as
unsteady, for somebody to mend. Those that kill and race for a living have no second try: there an unsteady test is a
fault found.
"""

import compileall
import os
import re
import subprocess
import sys
import tempfile
import threading
import xml.etree.ElementTree as ET
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import nullcontext
from pathlib import Path
from types import MappingProxyType
from typing import BinaryIO, NamedTuple

from tests.empty import EMPTY
from tests.programs import SHARED
from tests.suite import memory, packages, path, postgres

ENGINE = "tests/integration/engine"
RACES = ("tests/chaos", "tests/fleet")
PLUGINS, BROWSER = "tests/plugins_bundled", "tests/plugins_bundled/browser"
PROVIDERS = ("tests/plugins_bundled/providers", "tests/plugins_bundled/search")
ACCEPTANCE, CLI, WEB = "tests/acceptance", "tests/acceptance/cli", "tests/acceptance/web"
LIB = "tests/unit/lib"
NO_SECOND_TRY = ("tests/integration/engine/", "tests/chaos/", "tests/fleet/", "tests/acceptance/cli/")
"""Folders whose tests fail when they fail once; of acceptance, pages and hooks of earlier ArchiveBoxes have time
limits of their own, which a busy machine exceeds."""
ROOT = Path(__file__).parents[2]
SLOWEST = ("--durations=30",)
"""What each part says of where its time went: the suite has half an hour on two cores."""
NOT_OF_TESTS = frozenset({"DATABASE_URL", "DATA_DIR", "PYTHONDONTWRITEBYTECODE"})
"""Variables that parts do not have; the last would make each rewrite the assertions of all tests: 7 s of CPU."""
MOST_UNSTEADY = 5
"""Failures of a part beyond which nothing is tried again: that many are no accident."""

WIDE = "200"
"""Columns of what pytest prints: its summary says of a failed test what there is room for."""


class Part(NamedTuple):
    """One run of pytest."""

    name: str
    arguments: tuple[str, ...]
    env: Mapping[str, str]


class Outcome(NamedTuple):
    """What one run of pytest did."""

    name: str
    exit_status: int
    passed: int
    failed: int
    skipped: int
    unsteady: Mapping[str, str] = MappingProxyType({})
    """Those that failed, and passed in peace, with what they said."""

    @property
    def green(self) -> bool:
        """Nothing failed in the end, and something ran."""
        return self.passed > 0 and (self.exit_status == 0 or len(self.unsteady) == self.failed > 0)

    def __str__(self) -> str:
        """The plain closing line, and what is to be mended."""
        line = f"{self.name}: {self.passed} passed, {self.failed} failed, {self.skipped} skipped"
        return "\n".join([line, *(f"  unsteady: {test}: {said}" for test, said in self.unsteady.items())])


class Runs:
    """The runs that are on; all are ended when this process is told to end."""

    def __init__(self) -> None:
        self._children: set[subprocess.Popen[bytes]] = set()
        self._lock = threading.Lock()
        self._ending = False

    def run(self, part: Part, *, aside: bool) -> tuple[Outcome, str]:
        """Run pytest once and count from its own report what was executed; ``aside``: return what it printed."""
        with tempfile.TemporaryDirectory() as folder:
            report, printed = Path(folder) / "report.xml", Path(folder) / "printed"
            command = [sys.executable, "-I", "-m", "pytest", f"--junitxml={report}", *part.arguments]
            with printed.open("wb") as out:
                stream = out if aside else None
                exit_status = self._wait(command, part.env, stream)
            total, failed, skipped = _count(report)
            outcome = Outcome(part.name, exit_status, total - failed - skipped, failed, skipped)
            return outcome, printed.read_text("utf-8", "replace")

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
        """Run the parts side by side, and print each as it ends; then the few that failed, one part after the other."""
        ended: list[tuple[Part, Outcome, str]] = []
        with ThreadPoolExecutor((os.cpu_count() or 1) + 2) as lanes:
            try:
                running = {lanes.submit(self.run, part, aside=True): part for part in parts}
                for done in as_completed(running):
                    outcome, printed = done.result()
                    print(f"\n=== {outcome.name} ===\n{printed}", flush=True)
                    ended.append((running[done], outcome, printed))
            except (SystemExit, KeyboardInterrupt):
                self.end()
                raise
        return [self._again(*one) for one in ended]

    def _again(self, part: Part, outcome: Outcome, printed: str) -> Outcome:
        """Try once more what failed, if that is little."""
        named = failed_in(printed)
        tests = tuple(test for test in named if not any(folder in test for folder in NO_SECOND_TRY))
        if not tests or len(named) != outcome.failed or outcome.failed > MOST_UNSTEADY:
            return outcome
        second, printed = self.run(Part(f"{part.name}, in peace", tests, part.env), aside=True)
        print(f"\n=== {second.name} ===\n{printed}", flush=True)
        still = failed_in(printed)
        passed = {test: named[test] for test in tests if test not in still} if second.passed else {}
        return outcome._replace(unsteady=passed)


def failed_in(printed: str) -> dict[str, str]:
    """The tests that pytest's summary names as failed, with what each said."""
    return dict(re.findall(r"^(?:FAILED|ERROR) (\S.*?)(?: - (.*))?$", printed, re.MULTILINE))


def _count(report: Path) -> tuple[int, int, int]:
    """Tests, failures with errors, and skipped ones of a JUnit report; zeros when pytest never got that far."""
    if not report.exists():
        return 0, 0, 0
    suites = list(ET.parse(report).getroot().iter("testsuite"))
    total, failures, errors, skipped = (
        sum(int(suite.get(name, "0")) for suite in suites) for name in ("tests", "failures", "errors", "skipped")
    )
    return total, failures + errors, skipped


def main(arguments: list[str]) -> int:
    """With arguments: one run, on the database that DATABASE_URL names (SQLite if none). Without: the whole suite."""
    os.chdir(ROOT)
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
        outcomes = run({SHARED: lib, EMPTY: empty, **env, "PATH": path.restricted(Path(programs))}, arguments)
    print()
    for outcome in outcomes:
        print(outcome if outcome.passed or outcome.failed else f"{outcome}  (no test was executed)")
    if unsteady := sum(len(outcome.unsteady) for outcome in outcomes):
        print(f"{unsteady} passed at the second try alone: the next machine is slower.")
    return 0 if all(outcome.green for outcome in outcomes) else 1


def run(env: dict[str, str], arguments: list[str]) -> list[Outcome]:
    """One run with these arguments, or without any all parts of the suite."""
    runs = Runs()
    if arguments:
        url = os.environ.get("DATABASE_URL")
        given = Part("PostgreSQL" if url else "SQLite", tuple(arguments), {**env, "DATABASE_URL": url} if url else env)
        return [runs.run(given, aside=False)[0]]
    with postgres.throw_away_cluster() as url:
        on_postgresql = Part("PostgreSQL", (*SLOWEST, "-m", "database and not once"), {**env, "DATABASE_URL": url})
        on_sqlite = [Part(f"SQLite, {name}", (*SLOWEST, *what), env) for name, what in parts_on_sqlite().items()]
        return runs.run_all([on_postgresql, *on_sqlite])


def parts_on_sqlite() -> dict[str, Sequence[str]]:
    """What each part runs, those that take longest first: a long one that is left alone at the end idles a core."""
    engine = sorted(map(str, Path(ENGINE).glob("test_*.py")))
    separate = (PLUGINS, ACCEPTANCE, "tests/integration", *RACES, LIB)
    return {
        **{f"engine {third + 1}": engine[third::3] for third in range(3)},
        "commands": [CLI],
        "integration": ["tests/integration", f"--ignore={ENGINE}"],
        "browser": [BROWSER],
        "pages": [WEB],
        "acceptance": [ACCEPTANCE, f"--ignore={CLI}", f"--ignore={WEB}"],
        "races": RACES,
        "providers": PROVIDERS,
        "lib": [LIB],
        "all else": [f"--ignore={folder}" for folder in separate],
        "plugins": [PLUGINS, *(f"--ignore={folder}" for folder in (BROWSER, *PROVIDERS))],
    }


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
