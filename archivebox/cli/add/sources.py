"""Owns what is given to `add`: arguments, files and stdin, read as streams, and kept under sources/."""

import io
import shutil
import sys
import tempfile
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, cast

from archivebox.cli.errors import BadInputError
from archivebox.cli.output import Output
from archivebox.config.resolve import Resolved
from archivebox.contract.reasons import Reason
from archivebox.core.intake.add_urls import Refusal, Seed, check_seeds
from archivebox.lib.batches import batches
from archivebox.lib.links.formats import ListFormat
from archivebox.lib.links.given import read_given
from archivebox.lib.links.link import Link, LinkFileError

BATCH = 5_000
MOST_URLS = 1_000_000
"""URLs of one `add`: all of them are in memory for the one transaction that writes them (300 MB)."""
REPORTED = 50
"""Refusals shown on a terminal; a pipe gets every one."""


@dataclass(slots=True)
class Given:
    """What was given: the valid URLs, each once, and how many lines were refused."""

    seeds: dict[str, Seed] = field(default_factory=dict)
    refused: int = 0
    kept: list[BinaryIO] = field(default_factory=list)
    """Open files to keep, with arguments and stdin among them as temporary ones that have no name."""


class Reader:
    """Reads everything that was given to one `add`; its files are closed with the stack."""

    def __init__(self, out: Output, settings: Resolved, parser: ListFormat, stack: ExitStack) -> None:
        self.out = out
        self.settings = settings
        self.parser = parser
        self.given = Given()
        self._stack = stack

    def take_arguments(self, urls: tuple[str, ...]) -> None:
        """All or nothing: BadInputError if any is wrong."""
        seeds, refusals = check_seeds(urls, self.settings)
        if refusals:
            wrong = " ".join(refusal.sentence for refusal in refusals[:10])
            raise BadInputError(f"{wrong} Nothing was added.")
        self.given.seeds.update((seed.url, seed) for seed in seeds)
        if urls:
            self._keep(io.BytesIO("".join(f"{url}\n" for url in urls).encode()))

    def take_stdin(self) -> None:
        """Standard input is spooled to disk first: what was given is kept, and is read from there."""
        self._take(self._keep(sys.stdin.buffer), "stdin")

    def take_file(self, name: str) -> None:
        path = Path(name)
        if "://" in name:
            raise BadInputError(f"--file takes a file, not {name}. To archive that page, leave --file away.")
        try:
            file = self._stack.enter_context(path.open("rb"))
            if not path.is_file():
                raise BadInputError(f"{name} is no file that can be read twice; give it on stdin: add - < {name}")
            self._take(file, name)
        except OSError as error:
            raise BadInputError(f"{name} cannot be read: {error.strerror}.") from None
        self.given.kept.append(file)

    def _keep(self, file: BinaryIO) -> BinaryIO:
        copy = cast("BinaryIO", tempfile.TemporaryFile())  # noqa: SIM115 - closed with the stack
        self._stack.enter_context(copy)
        shutil.copyfileobj(file, copy, 1 << 20)
        copy.seek(0)
        self.given.kept.append(copy)
        return copy

    def _take(self, file: BinaryIO, name: str) -> None:
        try:
            for batch in batches(read_given(file, self.parser), BATCH):
                self._take_batch(batch, name)
        except LinkFileError as error:
            raise BadInputError(f"{name} {error}. --parser txt takes the URLs out of any text.") from None

    def _take_batch(self, batch: list[Link], name: str) -> None:
        for entry in batch:
            if entry.problem:
                sentence = f"Line {entry.line} was not taken: {entry.problem}."
                self._refuse(Refusal(entry.line, entry.url, Reason.BAD_URL.value, sentence), name)
        urls = [entry for entry in batch if not entry.problem]
        seeds, refusals = check_seeds(map(Seed.of_link, urls), self.settings)
        for refusal in refusals:
            entry = urls[refusal.line - 1]
            self._refuse(Refusal(entry.line, refusal.text, refusal.code, refusal.sentence), name)
        for seed in seeds:
            self.given.seeds.setdefault(seed.url, seed)
        if len(self.given.seeds) > MOST_URLS:
            raise BadInputError(f"{name} has more than {MOST_URLS:,} URLs: split it, and add the parts one by one.")

    def _refuse(self, refusal: Refusal, name: str) -> None:
        """Every line that is not taken is reported; a terminal gets the first 50 of them."""
        self.given.refused += 1
        if self.out.is_for_people and self.given.refused > REPORTED:
            return
        record = {
            "type": "Refusal",
            "source": name,
            "line": refusal.line,
            "text": refusal.text,
            "code": refusal.code,
            "error": refusal.sentence,
        }
        place = f"{name}, line {refusal.line}: " if refusal.line else f"{name}: "
        self.out.event(record, place + refusal.sentence)
