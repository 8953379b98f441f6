"""Whether pages can be archived now: the database answers, there is room on the disk, orchestrator and worker live."""

from collections.abc import Iterator

from django.db import DatabaseError, connection

from archivebox.config.collection import schema_problem
from archivebox.config.conffile import ConfError
from archivebox.config.early import own_conf
from archivebox.config.settings import DATA_FOLDER
from archivebox.hooks import base_layers, resolve_settings
from archivebox.lib.processes import ProcessIdentity
from archivebox.machine.host import Machine
from archivebox.machine.process import Process
from archivebox.workers.queue.disk_space import DiskSpaceGuard
from archivebox.workers.queue.readiness_check import drain_problem, orchestrator_is_running, settings_problem


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
