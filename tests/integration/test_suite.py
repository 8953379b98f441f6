"""The promises of what runs the tests: its cluster ends with it, and an empty run is a failed one."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import psutil
import pytest

from tests.suite.__main__ import DEFAULT, EVERYTHING
from tests.suite.packages import NEEDS, missing
from tests.suite.path import STATUS, restricted

pytestmark = pytest.mark.skipif("postgresql" in missing(), reason="needs PostgreSQL's programs")

ROOT = Path(__file__).parents[2]


def with_postgres(*command: str) -> subprocess.Popen[str]:
    line = [sys.executable, "-m", "tests.suite.postgres", *command]
    return subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT)


def started_cluster() -> tuple[subprocess.Popen[str], Path, psutil.Process]:
    """A command that waits beside its cluster: the runner, the cluster's folder, and its server."""
    runner = with_postgres("sh", "-c", 'echo "$DATABASE_URL"; exec sleep 300')
    assert runner.stdout is not None
    folder = Path(parse_qs(urlsplit(runner.stdout.readline().strip()).query)["host"][0])
    server = psutil.Process(int((folder / "data/postmaster.pid").read_text().split()[0]))
    return runner, folder, server


def test_exit_status_of_the_command_comes_back_and_the_database_answers() -> None:
    ask = "import os, psycopg; print(psycopg.connect(os.environ['DATABASE_URL']).execute('select 6 * 7').fetchone())"
    answer = with_postgres(sys.executable, "-c", ask)
    assert answer.communicate(timeout=60)[0] == "(42,)\n"
    assert answer.returncode == 0
    assert with_postgres("sh", "-c", "exit 7").wait(60) == 7


def test_a_stopped_run_leaves_neither_server_nor_folder() -> None:
    runner, folder, server = started_cluster()
    children = psutil.Process(runner.pid).children(recursive=True)
    runner.send_signal(signal.SIGTERM)
    runner.communicate(timeout=60)
    assert runner.returncode != 0
    assert not folder.exists()
    assert not server.is_running()
    assert [child for child in children if child.is_running()] == []


def test_a_run_that_executes_no_test_has_failed() -> None:
    command = [sys.executable, "-m", "tests.suite", "tests/architecture/test_reasons.py", "-k", "no_test_has_this_name"]
    env = {name: value for name, value in os.environ.items() if name != "DATABASE_URL"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT, env=env)
    assert done.returncode == 1
    assert "SQLite: 0 passed, 0 failed, 0 skipped  (no test was executed)" in done.stdout


@pytest.mark.skipif(not STATUS.exists(), reason="needs dpkg")
def test_tests_see_only_programs_that_every_debian_machine_would_have(tmp_path: Path) -> None:
    path = restricted(tmp_path)
    programs = {"sh", "awk", "python3", "apt-get", "node", "npm", "chromium", "curl", "wget", "git", "rg"}
    assert {name for name in programs if not shutil.which(name, path=path)} == set()
    assert "curl" in {need.package for need in NEEDS}
    assert not shutil.which("gcc", path=path)


def test_every_file_of_tests_is_in_one_part_of_each_suite() -> None:
    for file in (ROOT / "tests").rglob("test_*.py"):
        name = str(file.relative_to(ROOT))
        for parts in (DEFAULT, EVERYTHING):
            assert len([part for part, what in parts.items() if is_in(name, what)]) == 1, name


def is_in(name: str, arguments: Sequence[str]) -> bool:
    """Whether pytest finds this file in what a part names and does not leave out."""
    named = [argument for argument in arguments if not argument.startswith("--")]
    left_out = [argument.removeprefix("--ignore=") for argument in arguments if argument.startswith("--")]
    below = [any(name == path or name.startswith(f"{path}/") for path in paths) for paths in (named, left_out)]
    return below == [True, False]
