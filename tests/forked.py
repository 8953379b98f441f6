"""Owns the fork server of tests, which has ArchiveBox in memory (`tests.loaded`), and commands that it carries out."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from importlib import import_module
from multiprocessing import Pipe, get_context, set_forkserver_preload
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerContext
from pathlib import Path
from typing import NamedTuple

from archivebox.cli import handover

LOADED = "tests.loaded"
CHECKOUT = str(Path(__file__).parents[1])
STARTED_ANEW = frozenset(
    {"", "backup", "doctor", "help", "manage", "mcp", "orchestrator", "restore", "server", "version"}
)
"""Commands that want the settings of pages, or no Django at all."""


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


def fork_server() -> ForkServerContext:
    """Where processes are forked that have ArchiveBox in memory."""
    set_forkserver_preload([LOADED])
    return get_context("forkserver")


def run_command(command: CommandLine, stdin: bytes | int, timeout: float) -> CommandOutput:
    """Run a command; forked, or started as ``python -m archivebox`` where that is something else.

    ``stdin``: what it reads from a pipe, or a descriptor.
    """
    (reading, typing), (out, printing), (err, warning) = Pipe(duplex=False), Pipe(duplex=False), Pipe(duplex=False)
    if isinstance(stdin, int):
        os.dup2(stdin, reading.fileno(), inheritable=False)
    with typing, out, err, ThreadPoolExecutor(3) as threads:
        with reading, printing, warning:
            streams = (reading, printing, warning)
            process = fork_server().Process(target=_carry_out, args=(command, *streams), daemon=True)
            process.start()
        threads.submit(_write, typing, b"" if isinstance(stdin, int) else stdin)
        printed, warned = threads.submit(_read, out), threads.submit(_read, err)
        process.join(timeout)
        if process.exitcode is None:
            process.kill()
            raise subprocess.TimeoutExpired(list(command.words), timeout)
        return CommandOutput(process.exitcode, printed.result(), warned.result())


def _write(stream: Connection, data: bytes) -> None:
    with suppress(BrokenPipeError), stream, open(stream.fileno(), "wb", closefd=False) as file:
        file.write(data)


def _read(stream: Connection) -> bytes:
    with open(stream.fileno(), "rb", closefd=False) as file:
        return file.read()


# --- in the process that was forked -------------------------------------------------------------------------------


def _carry_out(command: CommandLine, *streams: Connection) -> None:
    """Become what ``python -m archivebox`` in that folder would be, and do it."""
    for number, stream in enumerate(streams):
        os.dup2(stream.fileno(), number)
        stream.close()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.chdir(command.folder)
    os.environ.clear()
    os.environ.update(command.env)
    typed = [sys.executable, "-m", "archivebox", *command.words]
    if not _choose_collection(command):
        os.execv(sys.executable, typed)
    main = import_module("archivebox.__main__")
    server = import_module("archivebox.cli.command_server")
    import_module("archivebox.machine.process_current").set_command_line(typed)
    import_module("archivebox.lib.processes").set_title(" ".join(typed))
    sys.argv[:] = [str(main.__file__), *command.words]
    sys.orig_argv[:] = typed
    sys.stdin, sys.stdout, sys.stderr = server.open_streams()
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
    try:
        import_module(LOADED).use(collection.choose_data_dir(handover.data_dir_of(words)))
    except problems:
        return False
    finally:
        os.environ.clear()
        os.environ.update(command.env)
    return True
