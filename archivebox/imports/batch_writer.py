"""Owns the order in which pages are brought into the collection: some begin while those before them are committed."""

import logging
from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from typing import Any

from archivebox.config.settings import DATA_FOLDER
from archivebox.imports.batch import BegunBatch, Item, KnownPages, PageBatch, SourceItems
from archivebox.imports.write import PagePlanner
from archivebox.imports.writing_pool import WritingPool

log = logging.getLogger(__name__)

LOOK_EVERY = 0.02
"""Seconds between two looks whether there is more to begin of the next batch."""


class BatchWriter:
    """Writes the pages of a source, one batch after the other; while one is synced, compared and committed, the next.

    ``pages_behind``: reads the source from behind the page of this key. ``may_discard``: whether nobody else can be at
    work on the same pages, which would lose their files.
    """

    def __init__(
        self, pages_behind: Callable[[str], Iterator[Item]], pool: WritingPool, may_discard: Callable[[], bool]
    ) -> None:
        self._pages_behind, self._pool, self._may_discard = pages_behind, pool, may_discard
        self._source: SourceItems | None = None
        self._behind = ""
        """The key of the last page that is not of the next batch."""
        self._ahead: BegunBatch | None = None
        """The next batch, of which some pages are begun."""
        self._may_read_ahead = True

    def write(self, after: str, most: int, most_next: int, known: KnownPages, planner: PagePlanner) -> PageBatch:
        """Write the files of ``most`` pages behind ``after``, see that they are on the disk, and compare them.

        Fewer pages, where these are large or it takes long. ``most_next``: how many the next batch has; 0: none comes,
        and the source is read to its end. Whatever ``pool.stop`` raises; OSError where the collection cannot be written
        to: then nothing of it stays. The rows of the batch have to be committed, or this be closed, before the next.
        """
        begun = self._begin(after, known, planner)
        try:
            begun.read(most, to_end=not most_next)
            rest = 0 if begun.batch.is_over else most - begun.batch.pages or most_next
            if rest and self._source is not None:
                self._ahead = BegunBatch(self._source, known, planner, self._pool)
            self._wait(self._pool.sync(DATA_FOLDER.root), begun, rest)
            for future in begun.begin_comparing():
                self._wait(future, begun, rest)
            batch = begun.end_comparing()
        except BaseException:  # raised again
            self._end(begun)
            raise
        self._behind = batch.last or after
        if not self._may_read_ahead:
            self._end()
        return batch

    def close(self) -> None:
        """Delete what was begun of a next batch."""
        if self._ahead is not None:
            self._end()

    def _begin(self, after: str, known: KnownPages, planner: PagePlanner) -> BegunBatch:
        """The batch behind ``after``, some of which may be written."""
        if self._source is None or self._behind != after:
            self.close()
            self._source = SourceItems(self._pages_behind(after))
        begun, self._ahead = self._ahead, None
        return begun or BegunBatch(self._source, known, planner, self._pool)

    def _wait(self, future: "Future[Any]", begun: BegunBatch, most: int) -> None:
        """Go on with the next batch until this has ended."""
        while not future.done():
            self._pool.stop()
            if not self._read_ahead(begun, most):
                wait([future], LOOK_EVERY)
        future.result()

    def _read_ahead(self, begun: BegunBatch, most: int) -> bool:
        """Whether there was something to do. What fails is begun anew when it is its turn."""
        if self._ahead is None or not self._may_read_ahead or self._pool.asks_singly:
            return False
        try:
            return self._ahead.read_one(most, begun)
        except Exception as problem:  # noqa: BLE001 - whatever it is, it is raised when it is its turn
            self._pool.stop()
            log.info("Pages ahead are not begun: %s action=not_begun_ahead", problem)
            self._may_read_ahead = False
            return False

    def _end(self, *begun: BegunBatch) -> None:
        """Delete the files of these, and of the next batch."""
        self._pool.cancel()
        all_begun = [*begun, *([self._ahead] if self._ahead is not None else [])]
        self._source, self._ahead, self._may_read_ahead = None, None, True
        may_discard = self._may_discard()
        for one in all_begun:
            one.end(may_discard=may_discard)
