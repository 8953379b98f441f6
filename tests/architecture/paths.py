"""`python -m tests.architecture.paths`: what of the package runs on the reading paths of docs/architecture.md.

Every file of which a function runs counts, in the command, the orchestrator and its workers: these are forked from the
command, and inherit its trace function. What hooks run in processes of their own does not. Lines of a function are
those from its first to its last; lines run are those of them that were executed.
"""

from __future__ import annotations

import ast
import inspect
import json
import mmap
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from tests.architecture import source
from tests.integration.engine.driver import Collection, wait_for

WAITING, RUNNING, OVER = range(3)
ONE = 'echo $$ >> "$DATA_DIR/ledger"\n'
PRINTS = """echo $$ >> "$DATA_DIR/ledger"
until [ -e "$DATA_DIR/go" ]; do sleep 0.1; done
echo '{"type": "Snapshot", "url": "http://found.test/"}'
until [ -e "$DATA_DIR/end" ]; do sleep 0.1; done
"""


@dataclass(frozen=True)
class Way:
    """One path: begins with a call of ``first`` once it is armed, ends with the return of ``last``."""

    title: str
    first: tuple[str, str]
    last: tuple[str, str]
    hook: str
    make_it_happen: Callable[[Collection], None] | None = None
    """Called when its hook runs; None: the command alone is the path."""
    through: tuple[str, str] | None = None
    """Is called before the last of it."""
    within: tuple[tuple[str, str], ...] = ()
    """What is not called by one of these is other work of the same moment; none: everything counts."""


def _print(made: Collection) -> None:
    (made.root / "go").touch()


def _kill_worker(made: Collection) -> None:
    (hook,) = made.processes(process_type="hook", status="running")
    (worker,) = made.processes(pk=hook["parent_id"])
    os.kill(int(worker["pid"]), signal.SIGKILL)


WAYS = (
    Way("`add` to sealed", ("cli/add/body.py", "run"), ("workers/execute/page/rows.py", "seal"), ONE),
    Way(
        "stdout to row", ("workers/execute/hooks/listener.py", "read"), ("workers/execute/journal.py", "commit"),
        PRINTS, _print, ("workers/execute/hooks/records.py", "keep_offset"),
        (("workers/execute/hooks/listener.py", "read"), ("workers/execute/journal.py", "commit")),
    ),
    Way(
        "kill to resumed", ("workers/supervise/orchestrator.py", "_reap"), ("workers/execute/steps/runs.py", "adopt"),
        PRINTS, _kill_worker,
    ),
)  # fmt: skip


# --- in the command and what is forked from it ------------------------------------------------------------------


class Tracer:
    """Writes down what runs while the path does; ``state``: two bytes that all processes share, phase and armed."""

    def __init__(self, way: Way, state: Path, found: Path) -> None:
        with state.open("r+b") as file:
            self.state = mmap.mmap(file.fileno(), 2)
        self._way, self._found = way, found
        self._seen: set[tuple[str, int, int]] = set()
        self._log: tuple[int, int] = (0, 0)
        self._is_through = way.through is None

    def called(self, frame: FrameType, event: str, _: Any) -> Callable[..., Any] | None:
        code = frame.f_code
        if event != "call" or not code.co_flags & inspect.CO_OPTIMIZED or (name := shown(code)) is None:
            return None
        if self.state[1] and self.state[0] == WAITING and (name, code.co_name) == self._way.first:
            self.state[0] = RUNNING
        if self.state[0] != RUNNING or not self._is_within(frame):
            return None
        if (name, code.co_name) == self._way.through:
            self._is_through = True
        self._note(name, code.co_firstlineno, 0)
        return self.ran

    def _is_within(self, frame: FrameType | None) -> bool:
        while self._way.within and frame is not None:
            if (shown(frame.f_code), frame.f_code.co_name) in self._way.within:
                return True
            frame = frame.f_back
        return not self._way.within

    def ran(self, frame: FrameType, event: str, _: Any) -> Callable[..., Any]:
        name = str(shown(frame.f_code))
        if self.state[0] == RUNNING and event == "line":
            self._note(name, frame.f_code.co_firstlineno, frame.f_lineno)
        elif self.state[0] == RUNNING and event == "return" and (name, frame.f_code.co_name) == self._way.last:
            self.state[0] = OVER if self._is_through else RUNNING
        return self.ran

    def _note(self, *what: Any) -> None:
        if what not in self._seen:
            self._seen.add(what)
            pid = os.getpid()
            if self._log[0] != pid:
                flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT
                self._log = (pid, os.open(self._found / str(pid), flags, 0o600))
            os.write(self._log[1], json.dumps(what).encode() + b"\n")


def shown(code: CodeType) -> str | None:
    """The file of the package that code is of; None for others, and for plugins."""
    path = code.co_filename.removeprefix(f"{source.PACKAGE}/")
    return None if path == code.co_filename or path.startswith("plugins/") else path


def traced(number: int, folder: Path, arguments: list[str]) -> int:
    """Be the command."""
    from archivebox.cli.main import main as run_command  # as `archivebox` does

    tracer = Tracer(WAYS[number], folder / "state", folder / "found")
    threading.settrace(tracer.called)
    sys.settrace(tracer.called)
    return run_command(arguments)


# --- in the process that measures -------------------------------------------------------------------------------


@dataclass
class Counted:
    """What ran."""

    functions: set[tuple[str, int]] = field(default_factory=set)
    lines: set[tuple[str, int]] = field(default_factory=set)

    @property
    def files(self) -> set[str]:
        return {file for file, _ in self.functions}

    def lines_of_functions(self) -> int:
        return sum(spans(file).get(first, 0) for file, first in self.functions)


def spans(file: str) -> dict[int, int]:
    """First line → number of lines, of the functions of a file that are in no other one."""
    found: dict[int, int] = {}
    for node in ast.walk(source.parse(source.PACKAGE / file)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            first = min([node.lineno, *(one.lineno for one in node.decorator_list)])
            last = node.end_lineno or first
            found[first] = last - first + 1
    return found


def measure(number: int) -> Counted:
    way = WAYS[number]
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        made = Collection(folder, settings={"WORKERS": "2", "CHECK_SSL_VALIDITY": "false"})
        made.plugin("one", {"on_Snapshot__10_one.sh": way.hook})
        (folder / "found").mkdir()
        state = folder / "state"
        state.write_bytes(bytes([WAITING, way.make_it_happen is None]))
        command = [sys.executable, "-m", __spec__.name, str(number), str(folder)]
        command += ["add", "--plugins=one", "http://one.test/"]
        adding = subprocess.Popen(command, env=made.env, stdout=subprocess.DEVNULL)
        try:
            if way.make_it_happen is not None:
                wait_for("the hook runs", lambda: made.ledger)
                arm(state)
                way.make_it_happen(made)
            wait_for("the path is over", lambda: state.read_bytes()[0] == OVER)
            (made.root / "go").touch()
            (made.root / "end").touch()
            adding.wait()
        finally:
            made.end()
        return collect(folder / "found")


def arm(state: Path) -> None:
    with state.open("r+b") as file:  # in place: who has it in memory must not find it cut
        file.seek(1)
        file.write(b"\1")


def collect(found: Path) -> Counted:
    counted = Counted()
    for log in found.iterdir():
        for file, first, line in map(json.loads, log.read_text().splitlines()):
            counted.functions.add((file, first))
            if line:
                counted.lines.add((file, line))
    return counted


def main() -> None:
    for number, way in enumerate(WAYS):
        counted = measure(number)
        workers = sum(file.startswith("workers/") for file in counted.files)
        print(f"{way.title}: {len(counted.files)} files, {workers} of them in workers")
        print(f"    functions of {counted.lines_of_functions()} lines, of which {len(counted.lines)} ran")
        parts = sorted((Path(file).parent, Path(file).name) for file in counted.files)
        for folder, names in groupby(parts, lambda part: part[0]):
            print(f"    {folder}: {', '.join(name for _, name in names)}")


if __name__ == "__main__":
    if sys.argv[1:]:
        sys.exit(traced(int(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:]))
    main()
