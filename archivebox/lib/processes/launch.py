"""The order to start one process."""

import shlex
from pathlib import Path
from typing import NamedTuple

MARK = "ARCHIVEBOX_PROCESS_ID"
"""Environment variable that names the Process row of whoever carries it."""


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
