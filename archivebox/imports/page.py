"""What every reader yields and the writer stores: one page that was archived elsewhere."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol
from uuid import UUID

from archivebox.contract.outcomes import Status


class NotReadableError(OSError):
    """Nothing that can be imported; the message is a sentence for people."""


@dataclass(frozen=True, slots=True)
class ImportedFile:
    """A regular file of the source, or one that its reader wrote, and its path below the plugin's folder."""

    name: str
    source: str
    sha256: str = ""
    """What the source says of its content; empty: nothing."""


@dataclass(frozen=True, slots=True)
class ImportedOutput:
    """What one plugin of ours would have kept: it becomes one ArchiveResult without a hook."""

    plugin: str
    status: Status
    files: tuple[ImportedFile, ...] = ()
    summary: str = ""
    started_at: datetime | None = None
    ended_at: datetime | None = None


Columns = dict[str, Any]


@dataclass(frozen=True, slots=True)
class ExportedRows:
    """The rows of one page in another ArchiveBox, as columns of ours; owners and authors by their user names."""

    id: UUID
    snapshot: Columns
    owner: str
    crawl_id: UUID
    crawl: Columns
    crawl_owner: str
    results: tuple[tuple[UUID, Columns], ...]
    notes: tuple[tuple[UUID, str, str], ...]
    """Key, author and text of each."""


def do_nothing() -> None:
    """The default of callbacks."""


@dataclass(frozen=True, slots=True)
class ImportedPage:
    """One capture of one URL.

    ``key`` names it within its source and is the same at each reading, so that nothing is imported twice;
    ``captured_at`` is aware, with microseconds where the source has them.
    """

    key: str
    url: str
    captured_at: datetime
    title: str = ""
    tags: tuple[str, ...] = ()
    bookmarked_at: datetime | None = None
    final_url: str = ""
    http_status: int = 0
    mime_type: str = ""
    outputs: tuple[ImportedOutput, ...] = ()
    done: Callable[[], object] = field(default=do_nothing, compare=False)
    """Called when its files have been taken, or will not be: those that its reader wrote for it are deleted."""
    former_id: UUID | None = None
    """Its key in an earlier ArchiveBox, whose addresses name it."""
    depth: int = 0
    note: str = ""
    rows: ExportedRows | None = None
    """Its rows as they were in another ArchiveBox; then these count, and of ``outputs`` the files alone."""


@dataclass(frozen=True, slots=True)
class NotImported:
    """An item of the source that becomes nothing here, and why, for people."""

    item: str
    reason: str
    key: str = ""
    """Of a page that the report of the source counts, as :class:`ImportedPage` has it; empty for anything else."""


@dataclass(frozen=True, slots=True)
class SourceReport:
    """What a reader found, before anything is written."""

    kind: str
    """What the source is, for people: "ArchiveBox 0.7 collection", "WARC file"."""
    pages: int
    files: int
    size: int
    """Bytes."""
    not_imported: tuple[NotImported, ...] = ()
    identity: str = ""
    """What names the source wherever it lies, so that nothing is imported twice; empty: what is in the file, or
    the path of a folder."""
    notes: tuple[str, ...] = ()
    """Sentences for people: what else would be taken over, or is not."""


Stop = Callable[[], None]
"""Called again and again by what takes long; it raises to end it."""


class InterruptibleReader:
    """A reader that may take long before its first page. It calls ``stop`` meanwhile, which raises to end it."""

    stop: Stop = staticmethod(do_nothing)


class Reader(Protocol):
    """Reads one source; the source is never modified."""

    def report(self) -> SourceReport: ...

    def pages(self, after: str = "") -> Iterator[ImportedPage | NotImported]:
        """All of them in one order, or those behind the one whose key is ``after``."""
        ...


def clean(text: str) -> str:
    """``text`` without what a database cannot keep: NUL, and halves of surrogate pairs."""
    return text.encode("utf-8", "replace").decode().replace("\0", "")
