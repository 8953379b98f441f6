"""Owns what is given to `add`: arguments, files and stdin, opened as lists, and kept under sources/."""

import io
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import BinaryIO, cast

from archivebox.cli.errors import BadInputError
from archivebox.cli.output import Output
from archivebox.core.intake.batches import AddingEndedError
from archivebox.core.intake.request import Refusal, RequestRefusedError, UrlList

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
