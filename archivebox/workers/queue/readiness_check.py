"""Whether pages can be archived now: usable database and settings, room, no drain, orchestrator and worker live."""

import fcntl
import logging
import os
from collections.abc import Callable, Iterator

from django.db import DatabaseError, connection

from archivebox.config.collection import schema_problem
from archivebox.config.conffile import ConfError
from archivebox.config.early import own_conf
from archivebox.config.resolve import SettingError
from archivebox.config.settings import DATA_FOLDER
from archivebox.config.shared_secrets import SharedSecretError
from archivebox.hooks import base_layers, resolve_settings
from archivebox.lib.processes import ProcessIdentity
from archivebox.machine.fleet_setting import refresh_fleet_settings
from archivebox.machine.host import Machine
from archivebox.machine.process import Process
from archivebox.workers.queue.disk_space import DiskSpaceGuard

log = logging.getLogger(__name__)


class ReadinessCheck:
    """Asks anew each time: people change settings, drain machines and upgrade others while work goes on.

    ``tell`` is told once of each problem.
    """

    def __init__(self, tell: Callable[[str], object] = log.warning) -> None:
        self._tell = tell
        self._told = ""

    def may_begin(self) -> bool:
        """Whether new work may begin."""
        Machine.refresh_settings()
        problem = schema_problem(DATA_FOLDER) or settings_problem() or drain_problem()
        if problem != self._told:
            self._tell(
                f"No work begins: {problem.removesuffix('.')}." if problem else "The problem is solved: work continues."
            )
            self._told = problem
        return not problem


def orchestrator_is_running() -> bool:
    """Whether somebody holds the orchestrator's lock."""
    try:  # not for writing: watchers take the end of that for a release
        descriptor = os.open(DATA_FOLDER.orchestrator_lock, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def drain_problem() -> str:
    """Why this machine takes no work, and how that ends; empty where it does."""
    machine = Machine.current()
    if machine.drain_by is None:
        return ""
    return f"this machine is draining; `archivebox machine resume {machine.pk}` lets it work again"


def settings_problem() -> str:
    """What is not allowed among the settings of this machine, and where it was set; empty where all can be used."""
    try:
        refresh_fleet_settings()
        resolve_settings(base_layers()).check()
    except (ConfError, SettingError, SharedSecretError) as error:
        return str(error)
    return ""


# --- what /ready/ says ----------------------------------------------------------------------------------------------


def problems() -> dict[str, str]:
    """What is in the way, a sentence for each part; nothing while all is well. Says nothing of what is archived."""
    try:
        own_conf(DATA_FOLDER)
    except (ConfError, OSError):
        return {"settings": "ArchiveBox.conf cannot be read: its last settings hold. `archivebox doctor` says why."}
    if away := _database():
        return {"database": away}  # where the settings of this machine are
    if unusable := _settings():
        return {"settings": unusable}  # among them how much room there has to be
    found = {"machine": _machine(), "disk": _disk(), "orchestrator": _orchestrator()}
    return {part: sentence for part, sentence in found.items() if sentence}


def _database() -> str:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except DatabaseError:
        return "The database does not answer."
    return "A newer version of ArchiveBox has changed the database." if schema_problem(DATA_FOLDER) else ""


def _settings() -> str:
    Machine.refresh_settings()
    return "A setting is not allowed, so no work begins; `archivebox doctor` names it." if settings_problem() else ""


def _machine() -> str:
    return "This machine is draining: it takes no new work." if drain_problem() else ""


def _disk() -> str:
    return DiskSpaceGuard(DATA_FOLDER.root, resolve_settings(base_layers()).get_int("DISK_FREE_MIN")).problem()


def _orchestrator() -> str:
    if not orchestrator_is_running():
        return "No orchestrator is at work on this machine: nothing is archived."
    if not any(identity is not None and identity.is_alive() for identity in _workers()):
        return "Its workers have ended, and it is starting others. If this continues, see logs/orchestrator.log."
    return ""


def _workers() -> Iterator[ProcessIdentity | None]:
    rows = Process.objects.here().running().of_type(Process.TypeChoices.WORKER).filter(worker_type="worker")
    return (row.identity for row in rows)
