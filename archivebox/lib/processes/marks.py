"""The marks by which a process is known to be one of a data folder's, whoever its parent is."""

import os
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

from archivebox.lib.processes.identity import ProcessIdentity
from archivebox.lib.processes.launch import MARK
from archivebox.lib.processes.platform import PORTABLE

if PORTABLE:
    from archivebox.lib.processes.portable import all_pids, children_of, environment_of
else:
    from archivebox.lib.processes.procfs import all_pids, children_of, environment_of

NOBODY = "00000000-0000-0000-0000-000000000000"
"""Mark of a process that belongs to no row: a fork server started without one."""

_MARK = os.fsencode(f"{MARK}=")
_FOLDER = b"DATA_DIR="


def mark_environment(process_id: str, data_dir: Path) -> dict[str, str]:
    """The two variables that mark a process; the folder too, else a scan would end another collection's processes."""
    return {MARK: process_id, "DATA_DIR": str(data_dir)}


def marked(data_dir: Path) -> dict[ProcessIdentity, str]:
    """Live processes that bear a mark of this data folder, and the process id each names: one scan of all there are."""
    return _marked_among(all_pids(), data_dir)


def marked_children(parent: int, data_dir: Path) -> dict[ProcessIdentity, str]:
    """Those of ``marked`` that are direct children of ``parent``."""
    return _marked_among(children_of(parent), data_dir)


def _marked_among(pids: Iterable[int], data_dir: Path) -> dict[ProcessIdentity, str]:
    folder = os.path.realpath(data_dir)
    found: dict[ProcessIdentity, str] = {}
    for pid in pids:
        process_id = _mark_in(environment_of(pid), folder)
        if process_id is not None and (identity := _same(pid, process_id, folder)) is not None:
            found[identity] = process_id
    return found


def mark_of(pid: int, data_dir: Path) -> str | None:
    """The process id that ``pid`` is marked with, if the mark is of this data folder."""
    return _mark_in(environment_of(pid), _real(str(data_dir)))


def _same(pid: int, process_id: str, folder: str) -> ProcessIdentity | None:
    """Identity of the process whose mark was read: it, not a successor in its pid, still bears the mark afterwards."""
    identity = ProcessIdentity.of(pid)
    return identity if _mark_in(environment_of(pid), folder) == process_id else None


def _mark_in(block: bytes | None, folder: str) -> str | None:
    if block is None or _MARK not in block:
        return None
    process_id = _value(block, _MARK)
    data_dir = _value(block, _FOLDER)
    if not process_id or data_dir is None or process_id == NOBODY:
        return None
    return process_id if _real(data_dir) == folder else None


def _value(block: bytes, prefix: bytes) -> str | None:
    at = 0 if block.startswith(prefix) else block.find(b"\0" + prefix) + 1
    if at == 0 and not block.startswith(prefix):
        return None
    start = at + len(prefix)
    end = block.find(b"\0", start)
    return os.fsdecode(block[start : end if end >= 0 else len(block)])


@lru_cache(maxsize=64)
def _real(path: str) -> str:
    return os.path.realpath(path)
