"""Starts the command line: answers `version` at once, hands everything else to the cli."""

import signal
import sys
from typing import TYPE_CHECKING, NoReturn

from archivebox import __version__
from archivebox.lib.startup import fast_exit

if TYPE_CHECKING:
    from socket import socket
    from uuid import UUID


def main() -> int:
    """Returns the exit status. `version` is answered before Django or click are imported, and leaves no trace."""
    if sys.argv[1:] in (["version"], ["--version"]):
        sys.stdout.write(f"archivebox {__version__}\n")
        return 0
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C while modules are imported is no traceback
    if sys.argv[1:2] == ["orchestrator"]:
        from archivebox.workers.supervise import entry  # the first of every crawl waits for it: no click, no rich

        return entry.orchestrate(sys.argv[2:], commands=_serve_commands)
    from archivebox.cli.handover import hand_over  # sockets and JSON: what `version` need not pay

    if (code := hand_over(sys.argv[1:])) is not None:
        return code
    from archivebox.lib.startup import paused_gc  # contextlib: what `version` need not pay

    with paused_gc():
        from archivebox.cli.main import main as run_command  # Django and click: what `version` need not pay

    return run_command()


def _serve_commands(process_id: "UUID", orchestrator_id: "UUID", pulse: "socket") -> int:
    from archivebox.cli import command_server  # only the process that the orchestrator forks for it

    return command_server.main(process_id, orchestrator_id, pulse)


def main_and_leave() -> NoReturn:
    fast_exit(main())


if __name__ == "__main__":
    main_and_leave()
