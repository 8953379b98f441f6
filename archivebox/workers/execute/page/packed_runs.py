"""What is left of a page's hook runs at its seal: one file, in place of two or three small ones for each hook."""

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from uuid import UUID

from archivebox.lib import jsonl
from archivebox.lib.files import atomic_write, read_regular
from archivebox.machine.logtail import TAIL
from archivebox.machine.process import Process
from archivebox.storage.layout import PACKED_RUNS

LARGEST = 16_000_000
"""Bytes of the file above which nothing is added to it."""
SUFFIXES = (".cmd.sh", ".stdout.log", ".stderr.log", ".pid")
ID = 36
"""Letters of a process id, which ends the name of a run."""
ANY = -1
"""Where no size is on record."""


def sizes_on_record(snapshot_id: UUID) -> dict[str, dict[str, int]]:
    """Process id → the bytes of its logs, of the hooks whose end is in the database.

    What of others was read is not on record yet: whoever resumes the page needs their logs.
    """
    rows = Process.objects.exited().of_type(Process.TypeChoices.HOOK).filter(snapshot_id=snapshot_id)
    return {
        str(pk): {"cmd.sh": ANY, "stdout.log": stdout, "stderr.log": stderr}
        for pk, stdout, stderr in rows.values_list("pk", "stdout_size", "stderr_size")
    }


def runs_in(folder: Path) -> set[str]:
    """Process ids of the runs that have files of their own here; those that are packed not among them."""
    try:
        names = os.listdir(folder)  # noqa: PTH208 - asked for every page, most of which have none
    except OSError:  # none has been here, or whoever starts the next one finds what is wrong
        return set()
    return {run[-ID:] for run, suffix in map(_parts, names) if suffix}


def pack(folder: Path, on_record: Mapping[str, Mapping[str, int]]) -> None:
    """Remove what says nothing, and put what is small of the runs on record into one file, a line a run.

    That is their command lines, and the logs that their rows have whole. Left as they are: longer logs, of which rows
    have the end alone, and what is no text. The file tells of a run when its row is long forgotten
    (``PROCESS_RETENTION_DAYS``).
    """
    runs: dict[str, dict[str, object]] = {}
    packed: list[str] = []
    with _opened(folder) as place:  # each path from the root would take longer than the rest
        for name in sorted(os.listdir(place)):  # noqa: PTH208 - of a descriptor
            run, suffix = _parts(name)
            data = _content(name, place) if suffix else None
            if suffix == "pid" or (data == b"" and suffix != "cmd.sh"):
                os.unlink(name, dir_fd=place)
            elif data and on_record.get(run[-ID:], {}).get(suffix) in {len(data), ANY}:
                with suppress(UnicodeDecodeError):
                    runs.setdefault(run, {"run": run})[suffix] = data.decode()
                    packed.append(name)
        if runs and _add(folder / PACKED_RUNS, runs.values()):
            for name in packed:
                os.unlink(name, dir_fd=place)


@contextmanager
def _opened(folder: Path) -> Iterator[int]:
    place = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        yield place
    finally:
        os.close(place)


def _parts(name: str) -> tuple[str, str]:
    """Which run a file belongs to, and what of it is in it, "" where it is none of ours."""
    for suffix in SUFFIXES:
        if name.endswith(suffix):
            return name[: -len(suffix)], suffix[1:]
    return name, ""


def _content(name: str, place: int) -> bytes | None:
    """What is in a file; None where that is long, or it cannot be read: the folder was in the hands of hooks."""
    try:
        descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=place)
    except OSError:
        return None
    try:
        data = os.read(descriptor, TAIL + 1)
    except OSError:
        return None
    finally:
        os.close(descriptor)
    return data if len(data) <= TAIL else None


def _add(file: Path, runs: Iterable[dict[str, object]]) -> bool:
    """Add a line each, unless a seal did that already which did not come to removing the files; False: it cannot be."""
    try:
        known = read_regular(file, LARGEST).splitlines(keepends=True)
    except FileNotFoundError:
        known = []
    except OSError:  # too long, or no plain file
        return False
    lines = dict.fromkeys([*known, *map(jsonl.dumps, runs)])
    atomic_write(file, b"".join(lines))
    return True
