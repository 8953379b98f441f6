"""Whether work may begin here: not in a drain, nor with unusable settings, or an unknown database; and who does it."""

import fcntl
import logging
import os
from collections.abc import Callable

from archivebox.config.collection import schema_problem
from archivebox.config.conffile import ConfError
from archivebox.config.resolve import SettingError
from archivebox.config.settings import DATA_FOLDER
from archivebox.config.shared_secrets import SharedSecretError
from archivebox.hooks import base_layers, resolve_settings
from archivebox.machine.fleet_setting import refresh_fleet_settings
from archivebox.machine.host import Machine

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
