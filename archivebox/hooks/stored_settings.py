"""Owns where settings are written: the database, where several machines share it, else ArchiveBox.conf."""

from collections.abc import Mapping

from archivebox.base_models.transactions import write_transaction
from archivebox.config.conffile import check_settings_text, read_conf, write_conf
from archivebox.config.settings import DATA_FOLDER
from archivebox.contract.schema import is_of_machine
from archivebox.hooks.registry import known_settings
from archivebox.machine.fleet_setting import change_fleet_settings, fleet_settings, refresh_fleet_settings
from archivebox.machine.machine_id import is_fleet

ALL_MACHINES = "the settings of all machines"


def write_settings(changes: Mapping[str, str | None]) -> list[str]:
    """Set or, with None, unset settings that were checked: all or nothing. Returns the places, for people.

    What is each machine's own stays in ArchiveBox.conf. Of the others the file of this machine loses what it says, as
    that would go before. ValueError for what the file cannot hold, wherever it goes.
    """
    check_settings_text(changes)
    file = str(DATA_FOLDER.conf)
    if not is_fleet():
        write_conf(DATA_FOLDER.conf, changes)
        return [file]
    own = {name: value for name, value in changes.items() if is_of_machine(name)}
    shared = {name: value for name, value in changes.items() if name not in own}
    overruling = read_conf(DATA_FOLDER.conf).keys() & shared.keys()
    with write_transaction():
        if shared:
            change_fleet_settings(shared, [name for name in shared if _is_secret(name)])
        if own or overruling:
            write_conf(DATA_FOLDER.conf, {**dict.fromkeys(sorted(overruling)), **own})
    refresh_fleet_settings()
    return [*([ALL_MACHINES] if shared else []), *([file] if own else [])]


def stored_settings() -> dict[str, str]:
    """What :func:`write_settings` has written, and people into the file of this machine, which goes before."""
    return {**(fleet_settings() if is_fleet() else {}), **read_conf(DATA_FOLDER.conf)}


def _is_secret(name: str) -> bool:
    spec = known_settings().get(name)
    return spec is not None and spec.sensitive
