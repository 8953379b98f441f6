"""Whether the settings of this machine can be used: while one of them cannot, no work begins."""

import logging
from collections.abc import Callable

from archivebox.config.conffile import ConfError
from archivebox.config.resolve import SettingError
from archivebox.hooks import base_layers, resolve_settings
from archivebox.machine.host import Machine

log = logging.getLogger(__name__)


class SettingsCheck:
    """Asks anew each time: people change ArchiveBox.conf while work goes on. ``tell`` is told once of each problem."""

    def __init__(self, tell: Callable[[str], object] = log.warning) -> None:
        self._tell = tell
        self._told = ""

    def is_valid(self) -> bool:
        """Whether new work may begin."""
        Machine.refresh_settings()
        problem = settings_problem()
        if problem != self._told:
            self._tell(f"No work begins: {problem}." if problem else "The settings can be used: the work goes on.")
            self._told = problem
        return not problem


def settings_problem() -> str:
    """What is not allowed among the settings of this machine, and where it was set; empty where all can be used."""
    try:
        resolve_settings(base_layers()).check()
    except (ConfError, SettingError) as error:
        return str(error)
    return ""
