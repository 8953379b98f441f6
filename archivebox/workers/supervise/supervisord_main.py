"""Owns the start of supervisord, which ends with its starter: ``python -m … <pid of its starter> …``."""

import os
import signal
import sys

from supervisor import supervisord

from archivebox.lib.processes.linux import set_parent_death_signal
from archivebox.lib.processes.platform import PORTABLE


def main() -> int:
    """Arrange for SIGTERM when the cli dies by whatever means, then be supervisord.

    prctl(2) needs no watcher that could die itself, and no ``preexec_fn``; a starter that died before we asked is seen
    by its pid. Where there is no prctl, the web server watches for us (:mod:`archivebox.web.listeners`).
    """
    starter, arguments = int(sys.argv[1]), sys.argv[2:]
    if not PORTABLE:
        set_parent_death_signal(signal.SIGTERM)
    if os.getppid() != starter:
        return 1
    supervisord.main(arguments)
    return 0


if __name__ == "__main__":
    sys.exit(main())
