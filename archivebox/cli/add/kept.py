"""Owns the copies of what was given to `add`: a file in sources/ for each crawl that names one, and no other."""

import fcntl
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO

from archivebox.crawls.models import Crawl
from archivebox.lib.files import locked
from archivebox.storage.layout import DataFolder


@contextmanager
def kept_source(folder: DataFolder, given: Sequence[BinaryIO]) -> Iterator[str]:
    """Copy what was given, as one file; yields the place in the collection that the crawl is to name.

    It comes there when the crawl has been committed, and is removed where no crawl names it. A command that is killed
    before or after that leaves a copy behind which the next one finishes or removes, by what the rows say; its lock
    says that it is still wanted.
    """
    moment = datetime.now(tz=UTC).strftime("%Y%m%d-%H%M%S-%f")
    part = folder.incoming / f"{moment}.{os.getpid()}.txt"
    folder.make_folder(folder.incoming, 0o700)
    with locked(folder.incoming):
        _settle_abandoned(folder)
        whole = part.open("xb")
        fcntl.flock(whole, fcntl.LOCK_EX)
    with whole:
        for file in given:
            file.seek(0)
            shutil.copyfileobj(file, whole, 1 << 20)
        whole.flush()
        target = folder.sources / part.name
        yield folder.relative(target)
        _settle(part, folder)


def _settle_abandoned(folder: DataFolder) -> None:
    """Copies whose command was killed: those that a crawl names are put into place, the others go."""
    for part in folder.incoming.iterdir():
        with locked(part, blocking=False) as free:
            if free is not None:
                _settle(part, folder)


def _settle(part: Path, folder: DataFolder) -> None:
    target = folder.sources / part.name
    if Crawl.objects.filter(source=folder.relative(target)).exists():
        part.replace(target)
    else:
        part.unlink()
