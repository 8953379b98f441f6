"""Owns the start of supervisord, which ends with its starter: ``python -m … <pid of its starter> …``."""

import io
import os
import signal
import sys
from typing import Any

from supervisor import supervisord

from archivebox.lib.processes.exits import NO_ROOM
from archivebox.lib.processes.linux import set_parent_death_signal
from archivebox.lib.processes.platform import PORTABLE


class LossyFile(io.FileIO):
    """What finds no room on the disk is dropped: supervisord says on stderr what it could not log, and dies of that."""

    def write(self, data: Any) -> int:
        try:
            return super().write(data)
        except OSError as error:
            if error.errno not in NO_ROOM:
                raise
            return memoryview(data).nbytes


def lossy(descriptor: int) -> io.TextIOWrapper:
    return io.TextIOWrapper(LossyFile(descriptor, "w", closefd=False), write_through=True)


def main() -> int:
    """Arrange for SIGTERM when the cli dies by whatever means, then be supervisord.

    prctl(2) needs no watcher that could die itself, and no ``preexec_fn``; a starter that died before we asked is seen
    by its pid. Where there is no prctl, the web server watches for us (:mod:`archivebox.web.server.listeners`).
    """
    starter, arguments = int(sys.argv[1]), sys.argv[2:]
    if not PORTABLE:
        set_parent_death_signal(signal.SIGTERM)
    if os.getppid() != starter:
        return 1
    sys.stdout, sys.stderr = lossy(1), lossy(2)
    supervisord.main(arguments)
    return 0


if __name__ == "__main__":
    sys.exit(main())
