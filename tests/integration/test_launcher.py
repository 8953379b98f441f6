"""The launcher's promises: one environment, made whole or not at all, by whoever comes first."""

import os
import re
import shutil
import signal
import stat
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import psutil
import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
FILES = (
    "bin/archivebox",
    "bin/environment",
    "bin/environment.py",
    "archivebox/__init__.py",
    "archivebox/__main__.py",
    "archivebox/lib/__init__.py",
    "archivebox/lib/startup.py",
)
MAKING = ": making the Python environment"
# What the launcher hands over to is seen best by a program that shows what reached it.
REPORTER = """
import os, signal, sys
print(sys.argv[1:], os.getcwd(), sys.stdin.read(), sep="|", flush=True)
if sys.argv[1:] == ["die"]:
    os.kill(os.getpid(), signal.SIGTERM)
sys.exit(7)
"""


def block(package: str) -> str:
    """The lines of one small pure-Python package in our own lock file, hashes included."""
    found = re.search(rf"^{package}==.*\n(?:    .*\n)+", (ROOT / "requirements-dev.lock").read_text(), re.MULTILINE)
    assert found is not None, package
    return found.group()


def make_checkout(root: Path) -> Path:
    for name in FILES:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, root / name)
    (root / "requirements.lock").write_text(block("mdurl"))
    return root


def run(
    root: Path,
    *arguments: str,
    cwd: Path | str | None = None,
    env: dict[str, str] | None = None,
    typed: str = "",
    user: str | None = None,
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [root / "bin/archivebox", *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=200,
        cwd=cwd,
        env=env,
        input=typed,
        user=user,
    )


def start(root: Path) -> subprocess.Popen[str]:
    command = [str(root / "bin/archivebox"), "version"]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, start_new_session=True)


def wait_for(condition: Callable[[], bool], seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def has_package(root: Path, name: str) -> bool:
    python = root / ".venv/bin/python"
    return subprocess.run([python, "-I", "-c", f"import {name}"], capture_output=True, check=False).returncode == 0


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    return make_checkout(tmp_path / "checkout of mine")


class FirstStart(NamedTuple):
    """A checkout, and what its first start said."""

    root: Path
    done: subprocess.CompletedProcess[str]


@pytest.fixture(scope="module")
def first_start(tmp_path_factory: pytest.TempPathFactory) -> FirstStart:
    root = make_checkout(tmp_path_factory.mktemp("ready") / "checkout of mine")
    return FirstStart(root, run(root, "version", cwd="/"))


@pytest.fixture(scope="module")
def ready(first_start: FirstStart) -> Path:
    """A checkout whose environment is there."""
    assert first_start.done.returncode == 0
    return first_start.root


@pytest.fixture
def copied(ready: Path, tmp_path: Path) -> Path:
    """A checkout of the test's own with its environment: to make that takes 6 s of CPU."""
    root = tmp_path / "a copy of mine"
    shutil.copytree(ready, root, symlinks=True)
    for named in (root / ".venv/archivebox.stamp", *root.glob(".venv/lib/python3*/site-packages/*.pth")):
        named.write_text(named.read_text().replace(str(ready), str(root)))
    assert run(root, "version").stderr == ""
    return root


def test_first_start_makes_the_environment_and_says_one_line_when_not_on_a_terminal(first_start: FirstStart) -> None:
    root, done = first_start
    assert done.returncode == 0, done.stderr
    assert re.fullmatch(r"archivebox \d+\.\d+\.\d+\n", done.stdout)
    assert MAKING in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert has_package(root, "mdurl")
    left = {path.name for path in root.glob(".venv*")}
    assert left == {".venv", ".venv.lock"}


def test_scripts_of_the_environment_name_its_final_place(ready: Path) -> None:
    done = subprocess.run([ready / ".venv/bin/pip", "--version"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert str(ready / ".venv") in done.stdout


def test_symlinks_from_elsewhere_lead_to_the_checkout(ready: Path, tmp_path: Path) -> None:
    (tmp_path / "inner").symlink_to(ready / "bin/archivebox")
    (tmp_path / "outer").symlink_to("inner")
    done = subprocess.run([tmp_path / "outer", "version"], capture_output=True, text=True, check=False, cwd="/")
    assert done.stdout.startswith("archivebox ")
    path = {**os.environ, "PATH": f"{ready / 'bin'}:{os.environ['PATH']}"}
    by_name = subprocess.run(["archivebox", "version"], capture_output=True, text=True, check=False, cwd="/", env=path)
    assert by_name.stdout == done.stdout


def test_arguments_stdin_folder_and_exit_status_pass_through(copied: Path, tmp_path: Path) -> None:
    (copied / "archivebox/__main__.py").write_text(REPORTER)
    done = run(copied, "a b", "", "*", typed="typed", cwd=tmp_path)
    assert done.stdout == f"['a b', '', '*']|{tmp_path}|typed\n"
    assert done.returncode == 7
    assert run(copied, "die").returncode == -signal.SIGTERM


def test_modules_in_the_current_folder_are_not_imported(ready: Path, tmp_path: Path) -> None:
    (tmp_path / "sys.py").write_text("raise SystemExit(9)")
    (tmp_path / "archivebox.py").write_text("raise SystemExit(9)")
    strange = {**os.environ, "PYTHONPATH": str(tmp_path), "PYTHONHOME": "/nowhere"}
    assert run(ready, "version", cwd=tmp_path, env=strange).returncode == 0


def test_eight_first_starts_at_once_make_one_environment(checkout: Path) -> None:
    starts = [start(checkout) for _ in range(8)]
    outputs = [one.communicate(timeout=200) for one in starts]
    assert [one.returncode for one in starts] == [0] * 8, outputs
    assert len({out for out, _ in outputs}) == 1
    assert sum(MAKING in err for _, err in outputs) == 1


def test_what_a_killed_first_start_left_is_not_taken_for_whole(checkout: Path) -> None:
    first = start(checkout)
    wait_for((checkout / ".venv.building/bin/python").exists)
    os.killpg(first.pid, signal.SIGKILL)
    first.communicate()
    assert not (checkout / ".venv").exists()
    assert (checkout / ".venv.building").exists()
    (checkout / ".venv.retired").symlink_to(checkout)  # an environment may have been a link
    done = run(checkout, "version")
    assert done.returncode == 0, done.stderr
    assert MAKING in done.stderr
    assert has_package(checkout, "mdurl")
    assert not (checkout / ".venv.building").exists()
    assert not (checkout / ".venv.retired").is_symlink()


def test_a_start_waits_for_the_pip_that_a_killed_builder_left_behind(checkout: Path) -> None:
    first = start(checkout)
    wait_for((checkout / ".venv.building/bin/python").exists)
    builder = next(one for one in psutil.Process(first.pid).children() if "environment.py" in " ".join(one.cmdline()))
    orphans = builder.children()
    builder.kill()
    done = run(checkout, "version")
    assert done.returncode == 0, done.stderr
    assert not any(orphan.is_running() and orphan.status() != psutil.STATUS_ZOMBIE for orphan in orphans)
    assert has_package(checkout, "mdurl")
    first.communicate()


def test_a_changed_lock_file_makes_a_new_environment(copied: Path) -> None:
    assert not has_package(copied, "six")
    (copied / "requirements.lock").write_text(block("mdurl") + block("six"))
    done = run(copied, "version")
    assert done.returncode == 0, done.stderr
    assert MAKING in done.stderr
    assert has_package(copied, "six")
    (copied / "requirements.lock").write_text(block("mdurl"))
    os.utime(copied / "requirements.lock", (0, 0))  # an older file put in its place is a change, too
    assert MAKING in run(copied, "version").stderr
    assert not has_package(copied, "six")


def test_a_lock_file_that_was_only_touched_keeps_the_environment(ready: Path) -> None:
    before = (ready / ".venv").stat().st_ino
    os.utime(ready / "requirements.lock")
    assert run(ready, "version").stderr == ""
    assert (ready / ".venv").stat().st_ino == before
    stamp, lock = ready / ".venv/archivebox.stamp", ready / "requirements.lock"
    assert stamp.stat().st_mtime_ns == lock.stat().st_mtime_ns


def test_a_python_that_has_gone_makes_a_new_environment(copied: Path) -> None:
    for link in (copied / ".venv/bin").glob("python*"):
        link.unlink()
        link.symlink_to("/nowhere/python3")
    assert run(copied, "version").returncode == 0


def test_a_moved_checkout_makes_its_own_environment(copied: Path, tmp_path: Path) -> None:
    moved = copied.rename(tmp_path / "moved")
    assert MAKING in run(moved, "version").stderr
    assert str(moved) in (moved / ".venv/archivebox.stamp").read_text()


def test_a_package_with_another_hash_is_refused_and_nothing_is_left(checkout: Path) -> None:
    wrong = re.sub(r"sha256:[0-9a-f]{64}", f"sha256:{'0' * 64}", block("mdurl"))
    (checkout / "requirements.lock").write_text(wrong)
    done = run(checkout, "version")
    assert done.returncode == 1
    assert "could not be installed" in done.stderr
    assert {path.name for path in checkout.glob(".venv*")} == {".venv.lock"}


def test_an_incomplete_checkout_is_said_in_a_sentence(checkout: Path) -> None:
    (checkout / "requirements.lock").unlink()
    done = run(checkout, "version")
    assert done.returncode == 1
    assert done.stderr.strip().endswith("the checkout is not complete")


@pytest.fixture
def read_only_checkout() -> Iterator[Path]:
    """A checkout that neither we nor `nobody` may write in; outside of tmp_path, which others may not enter."""
    folder = Path(tempfile.mkdtemp(prefix="archivebox-launcher-"))
    folder.chmod(0o755)
    root = make_checkout(folder / "checkout")
    for path in [*root.rglob("*"), root]:
        path.chmod(stat.S_IMODE(path.stat().st_mode) & ~0o222 | 0o444)
    (folder / "home").mkdir()
    if os.geteuid() == 0:
        shutil.chown(folder / "home", "nobody")
    yield root
    for path in [*root.rglob("*"), root]:
        path.chmod(0o755)
    shutil.rmtree(folder)


def test_a_checkout_that_is_not_ours_to_write_gets_its_environment_in_the_data_home(read_only_checkout: Path) -> None:
    home = read_only_checkout.parent / "home"
    # The system's own Python, as `nobody` cannot enter root's home, where another one may be.
    env = {**os.environ, "HOME": str(home), "XDG_DATA_HOME": str(home / "my data"), "PATH": "/usr/bin:/bin"}
    user = "nobody" if os.geteuid() == 0 else None
    first = run(read_only_checkout, "version", env=env, cwd="/", user=user)
    assert first.returncode == 0, first.stderr
    place = home / "my data/archivebox/env" / str(read_only_checkout).strip("/").replace("/", "-")
    assert (place / "archivebox.stamp").exists()
    assert not list(read_only_checkout.glob(".venv*"))
    assert run(read_only_checkout, "version", env=env, cwd="/", user=user).stderr == ""
