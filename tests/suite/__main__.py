"""Runs the whole suite: on SQLite, then on a throw-away PostgreSQL; a run that executed no test has failed."""

import os
import sys
import tempfile
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import NamedTuple

from tests.suite import packages, postgres


class Outcome(NamedTuple):
    """What one run of pytest did."""

    database: str
    exit_status: int
    passed: int
    failed: int
    skipped: int

    @property
    def green(self) -> bool:
        """Nothing failed, and something ran."""
        return self.exit_status == 0 and self.passed > 0

    def __str__(self) -> str:
        """The plain closing line."""
        return f"{self.database}: {self.passed} passed, {self.failed} failed, {self.skipped} skipped"


def run(database: str, arguments: list[str], env: dict[str, str]) -> Outcome:
    """Runs pytest once and counts from its own report what was executed."""
    print(f"\n=== {database} ===", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        command = [sys.executable, "-I", "-m", "pytest", f"--junitxml={report}", *arguments]
        exit_status = postgres.run_command(command, env)
        total, failed, skipped = _count(report)
    return Outcome(database, exit_status, total - failed - skipped, failed, skipped)


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
    """With arguments: one run, on the database that DATABASE_URL names (SQLite if none). Without: both."""
    os.chdir(Path(__file__).parents[2])
    postgres.end_on_signals()
    packages.ensure()
    env = {name: value for name, value in os.environ.items() if name not in {"DATABASE_URL", "DATA_DIR"}}
    if arguments:
        url = os.environ.get("DATABASE_URL")
        database = "PostgreSQL" if url else "SQLite"
        outcomes = [run(database, arguments, {**env, "DATABASE_URL": url} if url else env)]
    else:
        outcomes = [run("SQLite", [], env)]
        with postgres.throw_away_cluster() as url:
            outcomes.append(run("PostgreSQL", ["-m", "database and not once"], {**env, "DATABASE_URL": url}))
    print()
    for outcome in outcomes:
        print(outcome if outcome.passed or outcome.failed else f"{outcome}  (no test was executed)")
    return 0 if all(outcome.green for outcome in outcomes) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
