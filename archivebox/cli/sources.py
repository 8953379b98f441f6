"""Owns what is given to `add`: arguments, files and stdin, read as streams, and kept under sources/."""

import io
import itertools
import os
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO

from archivebox.cli.errors import BadInputError
from archivebox.cli.output import Output
from archivebox.config.resolve import Resolved
from archivebox.contract.reasons import Reason
from archivebox.core.intake import Refusal, Seed, check_seeds
from archivebox.crawls.seedfiles import GivenUrl, Parser, SeedFileError, read_seeds
from archivebox.storage.layout import DataFolder

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
    kept: list[Path] = field(default_factory=list)
    """Files to keep, with arguments and stdin among them as temporary ones."""


class Reader:
    """Reads everything that was given to one `add`; its temporary files go with the stack."""

    def __init__(self, out: Output, settings: Resolved, parser: Parser, stack: ExitStack) -> None:
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
        path = self._keep(sys.stdin.buffer)
        with path.open("rb") as file:
            self._take(file, "stdin")

    def take_file(self, name: str) -> None:
        path = Path(name)
        if "://" in name:
            raise BadInputError(f"--file takes a file, not {name}. To archive that page, leave --file away.")
        try:
            with path.open("rb") as file:
                if not path.is_file():
                    raise BadInputError(f"{name} is no file that can be read twice; give it on stdin: add - < {name}")
                self._take(file, name)
        except OSError as error:
            raise BadInputError(f"{name} cannot be read: {error.strerror}.") from None
        self.given.kept.append(path)

    def _keep(self, file: BinaryIO) -> Path:
        descriptor, name = tempfile.mkstemp(prefix="archivebox-add-")
        self._stack.callback(lambda: Path(name).unlink(missing_ok=True))
        with os.fdopen(descriptor, "wb") as copy:
            shutil.copyfileobj(file, copy, 1 << 20)
        self.given.kept.append(Path(name))
        return Path(name)

    def _take(self, file: BinaryIO, name: str) -> None:
        try:
            for batch in _batches(read_seeds(file, self.parser)):
                self._take_batch(batch, name)
        except SeedFileError as error:
            raise BadInputError(f"{name} {error}.") from None

    def _take_batch(self, batch: list[GivenUrl], name: str) -> None:
        for entry in batch:
            if entry.problem:
                sentence = f"Line {entry.line} was not taken: {entry.problem}."
                self._refuse(Refusal(entry.line, entry.url, Reason.BAD_URL.value, sentence), name)
        urls = [entry for entry in batch if not entry.problem]
        seeds, refusals = check_seeds((Seed(entry.url, entry.title, entry.tags) for entry in urls), self.settings)
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


def _batches(entries: Iterable[GivenUrl]) -> Iterator[list[GivenUrl]]:
    rest = iter(entries)
    while batch := list(itertools.islice(rest, BATCH)):
        yield batch


def keep_sources(folder: DataFolder, kept: list[Path]) -> str:
    """Copy what was given into sources/, as one file; returns its place in the collection."""
    folder.sources.mkdir(parents=True, exist_ok=True)
    moment = datetime.now(tz=UTC).strftime("%Y%m%d-%H%M%S-%f")
    target = folder.sources / f"{moment}.{os.getpid()}.txt"
    with target.open("xb") as whole:
        for path in kept:
            with path.open("rb") as part:
                shutil.copyfileobj(part, whole, 1 << 20)
    return folder.relative(target)
