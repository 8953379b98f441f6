"""The order to start one process."""

import errno
import os
import shlex
import shutil
from pathlib import Path
from typing import NamedTuple

MARK = "ARCHIVEBOX_PROCESS_ID"
"""Environment variable that names the Process row of whoever carries it."""

_ULIMIT_BLOCK = 512
"""Bytes per unit of ``ulimit -f`` (POSIX)."""


class Launch(NamedTuple):
    """Everything a start needs; nothing is looked up later.

    ``argv`` has the absolute interpreter or program first. ``script`` names a Python hook in ``argv`` that may be
    forked from a warm interpreter; None: always started cold. ``file_size_limit`` is in bytes (RLIMIT_FSIZE). No
    dataclass, as a frozen one sets each field by a call, for every hook.
    """

    process_id: str
    argv: tuple[str, ...]
    cwd: Path
    env: dict[str, str]
    stdout: str | Path
    stderr: str | Path
    script: Path | None = None
    file_size_limit: int | None = None
    pass_fds: tuple[int, ...] = ()

    def as_script(self) -> str:
        """The same for a person to run, without the environment: ``cmd.sh``."""
        return f"#!/bin/sh\ncd {shlex.quote(str(self.cwd))}\n{shlex.join(self.argv)}\n"

    def marked_environment(self) -> dict[str, str]:
        """``env`` with the mark of this process in it."""
        if self.env.get(MARK) == self.process_id:
            return self.env
        return {**self.env, MARK: self.process_id}


def limited_argv(launch: Launch) -> tuple[str, ...]:
    """``argv`` behind a shell that sets the file size limit.

    Set from outside (prlimit) it would not hold for what the program had started, or opened, by then. A millisecond.
    """
    if launch.file_size_limit is None:
        return launch.argv
    _refuse_missing(Path(launch.argv[0]), launch.env.get("PATH"))
    blocks = max(1, launch.file_size_limit // _ULIMIT_BLOCK)
    return ("/bin/sh", "-c", f'ulimit -f {blocks}; exec "$@"', "sh", *launch.argv)


def _refuse_missing(program: Path, path: str | None) -> None:
    """Raise what execve(2) would: behind a shell a missing program, or interpreter of a script, is only exit 127."""
    if not program.is_absolute():
        if os.sep not in str(program) and shutil.which(program, path=path) is None:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(program))
        return
    if not os.access(program, os.X_OK):
        number = errno.EACCES if program.exists() else errno.ENOENT
        raise OSError(number, os.strerror(number), str(program))
    if missing := missing_interpreter(program):
        raise OSError(errno.ENOENT, f"{program.name} names an interpreter that is not there", missing)


def missing_interpreter(script: Path) -> str:
    """The program that the first line of a script names, where there is none; else nothing."""
    with script.open("rb") as file:
        first = file.readline(256)
    named = first[2:].split()[:1] if first.startswith(b"#!") else []
    return next((os.fsdecode(one) for one in named if not os.path.exists(one)), "")  # noqa: PTH110 - bytes as they are
