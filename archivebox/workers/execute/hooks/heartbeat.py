"""Tells hooks of the newer dialect that a crawl or a page with a browser is at work.

When a crawl begins, one of them ends the browsers, and the hooks that hold them, of whatever has no file
``.heartbeat.json`` of a living process: of other crawls, and of other collections on the machine.
"""

import json
import logging
import os
import time
from pathlib import Path

from archivebox.config.settings import DATA_FOLDER
from archivebox.contract.hook import Hook
from archivebox.lib.files import atomic_write

log = logging.getLogger(__name__)

FILE_NAME = ".heartbeat.json"
ALWAYS = 10 * 365 * 86_400
"""Seconds for which the file counts: longer than any process lives, so that it is written once."""


def needs_heartbeat(hook: Hook) -> bool:
    """Whether a hook may be of the newer dialect, and hold a browser: a daemon that x-hooks says nothing of."""
    return hook.name.daemon and not hook.described


def write_heartbeat(folder: Path) -> None:
    """Say that the orchestrator of this worker looks after it: the hooks live on after a worker's death."""
    body = {"owner_pid": os.getppid(), "last_alive_at": time.time(), "kill_after_seconds": ALWAYS}
    try:
        DATA_FOLDER.make_folder(folder)
        atomic_write(folder / FILE_NAME, json.dumps(body), 0o644)
    except OSError as error:  # its hooks run all the same, and will say what is wrong with the folder
        log.warning("No heartbeat in %s: %s action=heartbeat_failed", folder, error)


def remove_heartbeat(folder: Path) -> None:
    """No such hook runs there any more: what is kept of a page has no such file."""
    try:
        (folder / FILE_NAME).unlink(missing_ok=True)
    except OSError as error:
        log.warning("A heartbeat stays in %s: %s action=heartbeat_stays", folder, error)
