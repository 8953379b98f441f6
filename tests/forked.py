"""Owns the fork servers of tests, which have ArchiveBox in memory (`tests.loaded`), and commands they carry out."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cache
from importlib import import_module
from multiprocessing import Pipe, forkserver, get_context
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from types import FrameType
from typing import BinaryIO, NamedTuple

from archivebox.cli import handover
from archivebox.lib.processes import linux
from archivebox.storage.layout import DataFolder

LOADED, LOADED_PAGES = "tests.loaded", "tests.loaded_pages"
"""What fork servers import: all of commands; and of web servers, with their pages."""
CHECKOUT = str(Path(__file__).parents[1])
STARTED_ANEW = frozenset({"", "backup", "help", "mcp", "orchestrator", "restore", "server", "version"})
"""Commands that want no Django at all, or are servers themselves."""
WITH_PAGES = frozenset({"manage"})
"""Commands that want the settings and tables of pages."""


READ_WHEN_IMPORTED = ("ARCHIVEBOX_LEASE_SECONDS", "ARCHIVEBOX_PORTABLE")
"""Variables that modules of ArchiveBox read while they are imported: each choice of them has a fork server."""
READ_BY_PAGES = tuple(re.findall(r'\.get_\w+\("(\w+)"\)', Path(CHECKOUT, "archivebox/web/settings.py").read_text()))
"""Settings that modules of pages may read while they are imported."""

_STARTING = threading.Lock()

Variables = tuple[tuple[str, str], ...]


class CommandLine(NamedTuple):
    """A command as it is typed: the words behind ``archivebox``, the environment and the folder."""

    words: Sequence[str]
    env: Mapping[str, str]
    folder: Path
    may_be_forked: bool = True
    """Else Python is started for it in any case."""


class CommandOutput(NamedTuple):
    """How a command ended, and what it printed."""

    code: int
    out: bytes
    err: bytes


class Preload(NamedTuple):
    """What a fork server imports, and the variables that are read meanwhile: each choice of them has one."""

    module: str
    names: Sequence[str]


OF_COMMANDS = Preload(LOADED, READ_WHEN_IMPORTED)
OF_PAGES = Preload(LOADED_PAGES, READ_WHEN_IMPORTED + READ_BY_PAGES)


class LoadedForkServer(forkserver.ForkServer):
    """One that has ArchiveBox in memory, which was imported with these variables."""

    def __init__(self, variables: Variables, module: str) -> None:
        super().__init__()
        self._variables = dict(variables)
        self.set_forkserver_preload([module])

    def ensure_running(self) -> None:
        before = dict(os.environ)
        os.environ.update(self._variables)
        try:
            super().ensure_running()
        finally:
            os.environ.clear()
            os.environ.update(before)


@cache
def fork_server(variables: Variables, module: str) -> LoadedForkServer:
    """The one of this process, for each module and choice of variables."""
    return LoadedForkServer(variables, module)


def _start(
    target: Callable[..., None], env: Mapping[str, str], *given: object, preload: Preload = OF_COMMANDS
) -> BaseProcess:
    """Fork a process that ends with this one, with ArchiveBox as it is imported in this environment."""
    variables = tuple((name, env[name]) for name in preload.names if name in env)
    process = get_context("forkserver").Process(target=target, args=given, daemon=True)
    with _STARTING:
        server = fork_server(variables, preload.module)
        forkserver.connect_to_new_process = server.connect_to_new_process  # it knows of one server
        process.start()
    return process


def run_command(command: CommandLine, stdin: bytes | int, timeout: float) -> CommandOutput:
    """Run a command; forked, or started as ``python -m archivebox`` where that is something else.

    ``stdin``: what it reads from a pipe, or a descriptor.
    """
    preload = OF_PAGES if _wants_pages(command) else OF_COMMANDS
    return _run(_carry_out, command, stdin, timeout, preload)


def _wants_pages(command: CommandLine) -> bool:
    return handover.command_of(list(command.words)) in WITH_PAGES


def run_code(code: CommandLine, timeout: float) -> CommandOutput:
    """Run Python code in a process of the collection that its environment names; ``words``: the code, its arguments."""
    return _run(_execute, code, b"", timeout, OF_COMMANDS)


def _run(
    target: Callable[..., None], command: CommandLine, stdin: bytes | int, timeout: float, preload: Preload
) -> CommandOutput:
    (reading, typing), (out, printing), (err, warning) = Pipe(duplex=False), Pipe(duplex=False), Pipe(duplex=False)
    if isinstance(stdin, int):
        os.dup2(stdin, reading.fileno(), inheritable=False)
    with typing, out, err, ThreadPoolExecutor(3) as threads:
        with reading, printing, warning:
            streams = (reading, printing, warning)
            process = _start(target, command.env, command, *streams, preload=preload)
        threads.submit(_write, typing, b"" if isinstance(stdin, int) else stdin)
        printed, warned = threads.submit(_read, out), threads.submit(_read, err)
        process.join(timeout)
        if process.exitcode is None:
            process.kill()
            raise subprocess.TimeoutExpired(list(command.words), timeout)
        return CommandOutput(process.exitcode, printed.result(), warned.result())


class ForkedProcess:
    """One that goes on beside the tests, and ends with them; the methods are those of ``subprocess.Popen``."""

    def __init__(
        self, target: Callable[..., None], env: Mapping[str, str], *given: object, preload: Preload = OF_COMMANDS
    ) -> None:
        self._process = _start(target, env, env, *given, preload=preload)

    @property
    def pid(self) -> int:
        return self._process.pid or 0

    def poll(self) -> int | None:
        return self._process.exitcode

    def wait(self, timeout: float | None = None) -> int:
        self._process.join(timeout)
        if self._process.exitcode is None:
            raise subprocess.TimeoutExpired(str(self._process.name), timeout or 0)
        return self._process.exitcode

    def send_signal(self, signum: int) -> None:
        if self.poll() is None:
            with suppress(ProcessLookupError):  # ended, and its fork server has yet to say so
                os.kill(self.pid, signum)

    def terminate(self) -> None:
        self._process.terminate()

    def kill(self) -> None:
        self._process.kill()


def _write(stream: Connection, data: bytes) -> None:
    with suppress(BrokenPipeError), stream, open(stream.fileno(), "wb", closefd=False) as file:
        file.write(data)


def _read(stream: Connection) -> bytes:
    with open(stream.fileno(), "rb", closefd=False) as file:
        return file.read()


# --- in the process that was forked -------------------------------------------------------------------------------


def _end_with_fork_server() -> None:
    """That ends with the tests, also where these were killed, once no child of it has the other end of its pipe."""
    os.close(forkserver._forkserver._forkserver_alive_fd)  # type: ignore[attr-defined]  # typeshed lacks it
    if sys.platform == "linux":
        linux.set_parent_death_signal(signal.SIGTERM)


def serve(env: Mapping[str, str], bind: str, log: Path) -> None:
    """Become ``archivebox server`` of the collection that the environment names; it prints into ``log``."""
    _end_with_fork_server()
    with log.open("wb") as out, Path(os.devnull).open("rb") as nothing:
        _become(CommandLine([], env, Path(CHECKOUT)), nothing, out, out)
    import_module(LOADED).use(import_module("archivebox.config.collection").choose_data_dir(None))
    sys.exit(import_module("archivebox.workers.supervise.supervisord_util").serve(bind))


class KillPoint(NamedTuple):
    """When a process kills itself: once a function is called, or has returned (``event``)."""

    file: str
    """How the name of its file ends."""
    function: str
    event: str

    def set(self) -> None:
        """In all threads that are begun from now on."""
        threading.setprofile(self._kill)

    def _kill(self, frame: FrameType, event: str, argument: object) -> None:
        del argument
        code = frame.f_code
        if event == self.event and code.co_name == self.function and code.co_filename.endswith(self.file):
            os.kill(os.getpid(), signal.SIGKILL)


def serve_pages(env: Mapping[str, str], bind: str, replay: str, log: Path, kill_point: KillPoint | None) -> None:
    """Become the web server of that collection, without a supervisor and an orchestrator."""
    _end_with_fork_server()
    if kill_point is not None:
        kill_point.set()
    with log.open("ab") as out, Path(os.devnull).open("rb") as nothing:
        _become(CommandLine([], env, Path(CHECKOUT)), nothing, out, out)
    os.environ["ARCHIVEBOX_REPLAY_PORT"] = replay.rpartition(":")[2]
    import_module(LOADED_PAGES).use(import_module("archivebox.config.collection").choose_data_dir(None))
    sys.exit(import_module("archivebox.web.server.__main__").main(["--bind", bind, "--replay", replay]))


def _execute(code: CommandLine, *streams: Connection) -> None:
    """Do what ``python -c`` would with Django set up."""
    _become(code, *streams)
    import_module(LOADED).use(Path(code.env["DATA_DIR"]))
    exec(compile(code.words[0], "<code of a test>", "exec"), {"__name__": "__main__"})


def _become(command: CommandLine, *streams: Connection | BinaryIO) -> None:
    """Have these streams, this folder and this environment, as a program that is started in them."""
    for number, stream in enumerate(streams):
        os.dup2(stream.fileno(), number)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.chdir(command.folder)
    os.environ.clear()
    os.environ.update(command.env)
    sys.argv[:] = ["-c", *command.words[1:]]
    sys.stdin, sys.stdout, sys.stderr = import_module("archivebox.cli.command_server").open_streams()


def _carry_out(command: CommandLine, *streams: Connection) -> None:
    """Become what ``python -m archivebox`` in that folder would be, and do it."""
    _become(command, *streams)
    typed = [sys.executable, "-m", "archivebox", *command.words]
    if not _choose_collection(command):
        os.execv(sys.executable, typed)
    main = import_module("archivebox.__main__")
    import_module("archivebox.machine.process_current").set_command_line(typed)
    import_module("archivebox.lib.processes").set_title(" ".join(typed))
    sys.argv[:] = [str(main.__file__), *command.words]
    sys.orig_argv[:] = typed
    main.main_and_leave()


def _choose_collection(command: CommandLine) -> bool:
    """Whether a forked process can do what a started one does; then it is one of the collection that is meant."""
    words = list(command.words)
    if (
        not command.may_be_forked
        or handover.command_of(words) in STARTED_ANEW
        or handover.start_variables(os.environ) != handover.PRESET
        or os.environ.get("PYTHONPATH", CHECKOUT) != CHECKOUT
    ):
        return False
    collection = import_module("archivebox.config.collection")
    problems = (
        import_module("archivebox.config.conffile").ConfError,
        import_module("archivebox.config.resolve").SettingError,
    )
    wants_pages = _wants_pages(command)
    try:
        folder = collection.choose_data_dir(handover.data_dir_of(words))
        if wants_pages and not collection.is_collection(DataFolder(folder)):
            return False  # the key that its pages are signed with would be made in it
        import_module(LOADED_PAGES if wants_pages else LOADED).use(folder)
    except problems:
        return False
    finally:
        os.environ.clear()
        os.environ.update(command.env)
    return True
