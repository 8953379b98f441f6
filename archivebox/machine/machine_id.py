"""Which machine this is: an id kept in the data folder, or with the user where a fleet shares a database."""

from pathlib import Path
from typing import NamedTuple
from uuid import UUID, uuid5

import platformdirs
from django.db import connection

from archivebox.base_models.rows import new_id
from archivebox.config.database import is_read_only
from archivebox.config.early import early_settings
from archivebox.config.settings import DATA_FOLDER
from archivebox.lib.files import atomic_write, locked
from archivebox.storage.folder_identity import FolderIdentity

_NAMES = UUID("6f0b1f4e-52a1-4b55-9c3e-0a6a1d6f9c11")
"""The namespace (RFC 9562, 5.5) of names that people give to machines."""


class KnownMachine(NamedTuple):
    """What the file of an id says."""

    key: UUID
    place: FolderIdentity


def is_fleet() -> bool:
    """Whether several machines may share the database; else it is on the disk of the one that works on it."""
    return connection.vendor == "postgresql"


def machine_id() -> UUID:
    """The id of this machine, made on first use."""
    if not is_fleet():
        return _kept_in(DATA_FOLDER.machine_id, FolderIdentity.of(DATA_FOLDER.root))
    if named := early_settings(DATA_FOLDER).get_text("MACHINE_ID"):
        return _id_of_name(named)
    return _kept_in(platformdirs.user_state_path("archivebox") / "machine-id", FolderIdentity())


def _id_of_name(name: str) -> UUID:
    """A UUID as it is; of any other name the same one each time."""
    try:
        return UUID(name)
    except ValueError:
        return uuid5(_NAMES, name)


def _kept_in(path: Path, here: FolderIdentity) -> UUID:
    known = _read(path)
    if is_read_only(DATA_FOLDER):
        return known.key if known else new_id()
    if known is None or known.place != here:
        path.parent.mkdir(parents=True, exist_ok=True)
        with locked(path.with_suffix(".lock")):  # several first uses at once agree on one id
            known = _known_here(_read(path), here)
            atomic_write(path, " ".join([str(known.key), *here]) + "\n")
    return known.key


def _known_here(known: KnownMachine | None, here: FolderIdentity) -> KnownMachine:
    """A copy made since the boot is a machine of its own: its rows speak of processes that run for the original.

    Of an earlier boot nothing runs any more, and a disk may have another number since.
    """
    if known is None or (known.place.boot == here.boot and known.place != here):
        return KnownMachine(new_id(), here)
    return KnownMachine(known.key, here)


def _read(path: Path) -> KnownMachine | None:
    try:
        key, *place = path.read_text().split()
    except FileNotFoundError:
        return None
    return KnownMachine(UUID(key), FolderIdentity(*place))
