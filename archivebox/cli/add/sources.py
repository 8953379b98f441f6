"""Owns what is given to `add`: arguments, files and stdin, opened as lists, and kept under sources/."""

import fcntl
import io
import os
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO, cast

from archivebox.cli.errors import BadInputError
from archivebox.cli.output import Output
from archivebox.core.intake.batches import AddingEndedError
from archivebox.core.intake.request import Refusal, RequestRefusedError, UrlList
from archivebox.crawls.models import Crawl
from archivebox.lib.files import locked
from archivebox.storage.layout import DataFolder

REPORTED = 50
"""Refusals shown on a terminal; a pipe gets every one."""


class Sources:
    """Everything that was given to one `add`; its files are closed with the stack."""

    def __init__(self, stack: ExitStack) -> None:
        self.lists: list[UrlList] = []
        self.kept: list[BinaryIO] = []
        """Open files to keep, with arguments and stdin among them as temporary ones that have no name."""
        self._stack = stack

    def keep_arguments(self, urls: tuple[str, ...]) -> None:
        if urls:
            self._keep(io.BytesIO("".join(f"{url}\n" for url in urls).encode()))

    def open_file(self, name: str) -> None:
        """BadInputError where it cannot be read."""
        path = Path(name)
        if "://" in name:
            raise BadInputError(f"--file expects a file, not {name}. To archive that page, leave out --file.")
        try:
            file = self._stack.enter_context(path.open("rb"))
        except OSError as error:
            raise BadInputError(f"{name} cannot be read: {error.strerror}.") from None
        if not path.is_file():
            raise BadInputError(f"{name} is not a file that can be read twice; give it on stdin: add - < {name}")
        self.lists.append(UrlList(file, name))
        self.kept.append(file)

    def open_lines(self, lines: Iterable[bytes], name: str) -> None:
        """A list that is made up of these; one without any is none."""
        copy = cast("BinaryIO", tempfile.TemporaryFile())  # noqa: SIM115 - closed with the stack
        self._stack.enter_context(copy)
        copy.writelines(lines)
        if copy.tell():
            copy.seek(0)
            self.lists.append(UrlList(copy, name))
            self.kept.append(copy)

    def open_stdin(self) -> None:
        """Standard input is spooled to disk first: what was given is kept, and is read from there."""
        self.lists.append(UrlList(self._keep(sys.stdin.buffer), "stdin"))

    def _keep(self, file: BinaryIO) -> BinaryIO:
        copy = cast("BinaryIO", tempfile.TemporaryFile())  # noqa: SIM115 - closed with the stack
        self._stack.enter_context(copy)
        shutil.copyfileobj(file, copy, 1 << 20)
        copy.seek(0)
        self.kept.append(copy)
        return copy


class RefusalReport:
    """Reports every line that is refused; a terminal gets the first 50 of them."""

    def __init__(self, out: Output) -> None:
        self._out = out
        self._count = 0

    def __call__(self, refusal: Refusal, name: str) -> None:
        self._count += 1
        if self._out.is_for_people and self._count > REPORTED:
            return
        record = {
            "type": "Refusal",
            "source": name,
            "line": refusal.line,
            "text": refusal.text,
            "code": refusal.code,
            "error": refusal.sentence,
        }
        place = "" if not name else f"{name}, line {refusal.line}: " if refusal.line else f"{name}: "
        self._out.event(record, place + refusal.sentence)


@contextmanager
def refused_as_bad_input() -> Iterator[None]:
    """A request that the intake refuses is what was typed wrong."""
    try:
        yield
    except (RequestRefusedError, AddingEndedError) as error:
        raise BadInputError(str(error)) from None


# --- their copies: a file in sources/ for each crawl that names one, and no other ------------------------------------


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
