"""Owns the rows of imported pages: sealed Snapshots of a sealed crawl, with results that no hook of ours has made."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any
from uuid import UUID

from django.contrib.auth.models import User
from django.db import IntegrityError

from archivebox.base_models.bulk_write import insert_rows
from archivebox.base_models.rows import new_id, time_of
from archivebox.config.page_storage import has_store
from archivebox.config.settings import DATA_FOLDER
from archivebox.contract.hooknames import LAST_STEP
from archivebox.contract.outcomes import Status
from archivebox.contract.reasons import Reason
from archivebox.core.archiveresult import ArchiveResult
from archivebox.core.note import LONGEST as LONGEST_NOTE
from archivebox.core.note import Note
from archivebox.core.page_storage.uploading import mark_unstored
from archivebox.core.snapshot import MOST_TAGS, PATCHED_TEXTS, Snapshot
from archivebox.core.tags.assign_tags import tag
from archivebox.crawls.crawl import Crawl
from archivebox.imports.batch import known_owner
from archivebox.imports.models import ImportedSnapshot
from archivebox.imports.page import ExportedRows, ImportedPage, NotReadableError, clean
from archivebox.imports.page_files import WrittenPage

LONGEST_KEY = 512
"""Characters of a page's key in its source."""


@dataclass(slots=True)
class PageImport:
    """One import: whose pages they become, and the crawls that they are in so far."""

    source: str
    label: str
    created_by: User
    visibility: str
    crawls: list[UUID] = field(default_factory=list)
    """More than one where the source has several captures of one URL: a crawl has each URL once."""

    def known(self, pages: Sequence[ImportedPage]) -> set[str]:
        """The keys of pages that were imported before, or are of this collection, exported where they are."""
        stored = {page.key: stored_key(page.key) for page in pages}
        exported = {page.key: page.rows.id for page in pages if page.rows is not None}
        rows = ImportedSnapshot.objects.filter(source=self.source, key__in=stored.values())
        origins = set(rows.values_list("key", flat=True))
        here = set(Snapshot.objects.filter(pk__in=exported.values()).values_list("pk", flat=True)) if exported else ()
        return {key for key in stored if stored[key] in origins or exported.get(key) in here}

    def write(self, pages: Sequence[WrittenPage]) -> None:
        """The rows of these pages, in the transaction of the caller."""
        if has_store():
            mark_unstored(page.key for page in pages)
        self._write_rows([page for page in pages if page.page.rows is None])
        write_exported([page for page in pages if page.page.rows is not None], self.created_by)
        insert_rows(ImportedSnapshot, ((new_id(), self._origin(page)) for page in pages))
        for name, keys in _tagged(pages).items():
            tag(keys, [name])

    def _origin(self, written: WrittenPage) -> dict[str, Any]:
        page = written.page
        key = stored_key(page.key)
        return {"snapshot_id": written.key, "source": self.source, "key": key, "former_id": page.former_id}

    def _write_rows(self, pages: Sequence[WrittenPage]) -> None:
        places = list(zip(self._crawls_for(pages), pages, strict=True))
        insert_rows(Snapshot, ((page.key, self._snapshot(page, crawl)) for crawl, page in places))
        insert_rows(ArchiveResult, (row for page in pages for row in _results(page)))
        noted = ((page.key, clean(page.page.note).strip()) for page in pages if page.page.note)
        Note.objects.bulk_create(
            Note(snapshot_id=key, author=self.created_by, text=text[at : at + LONGEST_NOTE])
            for key, text in noted
            for at in range(0, len(text), LONGEST_NOTE)
        )

    def _crawls_for(self, pages: Sequence[WrittenPage]) -> Iterator[UUID]:
        """The first crawl of the import that has not got the URL yet."""
        rows = Snapshot.objects.filter(crawl_id__in=self.crawls, url__in=[page.url for page in pages])
        taken = set(rows.values_list("crawl_id", "url"))
        for page in pages:
            crawl = next((one for one in self.crawls if (one, page.url) not in taken), None) or self._add_crawl()
            taken.add((crawl, page.url))
            yield crawl

    def _add_crawl(self) -> UUID:
        again = f" ({len(self.crawls) + 1})" if self.crawls else ""
        crawl = Crawl.plan(
            created_by=self.created_by, urls=[], label=f"{self.label[:240]}{again}", visibility=self.visibility,
            status=Crawl.StatusChoices.SEALED, retry_at=None,
        )  # fmt: skip
        crawl.save(force_insert=True)
        self.crawls.append(crawl.pk)
        return crawl.pk

    def _snapshot(self, written: WrittenPage, crawl: UUID) -> dict[str, Any]:
        """Sealed at the time of its capture, to the microsecond, and never measured: nobody saw its live page."""
        page = written.page
        texts = {name: " ".join(clean(getattr(page, name)).split())[:most] for name, most in PATCHED_TEXTS.items()}
        domain = written.folder.rsplit("/", 2)[1]
        return texts | {
            "crawl_id": crawl, "url": written.url, "domain": domain, "created_by_id": self.created_by.pk,
            "depth": page.depth, "visibility": self.visibility, "output_dir": written.folder,
            "status": Snapshot.StatusChoices.SEALED.value, "retry_at": None, "current_step": LAST_STEP,
            "http_status": page.http_status, "size": written.size, "bookmarked_at": page.bookmarked_at,
            "sealed_at": page.captured_at, "measured_at": page.captured_at,
        }  # fmt: skip


def stored_key(key: str) -> str:
    """A key as its column has it: one that is too long by its hash."""
    text = clean(key)
    return text if text == key and len(text) <= LONGEST_KEY else sha256(key.encode("utf-8", "replace")).hexdigest()


def _results(written: WrittenPage) -> Iterator[tuple[UUID, dict[str, Any]]]:
    for output, files in written.results:
        is_said = output.status in {Status.FAILED, Status.SKIPPED}
        yield new_id(), {
            **files,
            "snapshot_id": written.key, "plugin": output.plugin, "hook_name": None, "status": output.status.value,
            "reason": Reason.DECLARED.value if is_said else "", "retry_at": None, "output_str": clean(output.summary),
            "start_ts": output.started_at, "end_ts": output.ended_at,
        }  # fmt: skip


def _tagged(pages: Sequence[WrittenPage]) -> dict[str, list[UUID]]:
    tagged: dict[str, list[UUID]] = {}
    for written in pages:
        for name in written.page.tags[:MOST_TAGS]:
            tagged.setdefault(clean(name), []).append(written.key)
    return tagged


# --- rows of another ArchiveBox ---------------------------------------------------------------------------------------
def write_exported(pages: Sequence[WrittenPage], importer: User) -> None:
    """NotReadableError where the rows contradict others."""
    try:
        _write_exported(pages, importer)
    except IntegrityError:
        raise NotReadableError("The export has rows that contradict each other, or those that are here.") from None


def _write_exported(pages: Sequence[WrittenPage], importer: User) -> None:
    for page in pages:
        rows = page.page.rows
        assert rows is not None  # noqa: S101 - those pages are given
        owner = _user(rows.owner, importer)
        _write_crawl(rows, importer)
        own = {"crawl_id": rows.crawl_id, "created_by_id": owner.pk, "output_dir": page.folder, "retry_at": None}
        domain = page.folder.rsplit("/", 2)[1]
        insert_rows(Snapshot, [(rows.id, rows.snapshot | own | {"url": page.url, "domain": domain})])
        folder = DATA_FOLDER.root / page.folder
        more = {"snapshot_id": rows.id, "retry_at": None}
        insert_rows(
            ArchiveResult, ((key, one | more | {"pwd": f"{folder}/{one['plugin']}"}) for key, one in rows.results)
        )
        authors = {name: _author(name, importer) for _, name, _ in rows.notes}
        Note.objects.bulk_create(
            Note(id=key, snapshot_id=rows.id, author=authors[name], text=text) for key, name, text in rows.notes
        )


def _write_crawl(rows: ExportedRows, importer: User) -> None:
    """Once for all of its pages."""
    if Crawl.objects.filter(pk=rows.crawl_id).exists():
        return
    owner = _user(rows.crawl_owner, importer)
    folder = DATA_FOLDER.crawl_dir(owner.username, time_of(rows.crawl_id).date(), rows.crawl_id)
    own = {"created_by_id": owner.pk, "output_dir": DATA_FOLDER.relative(folder), "retry_at": None}
    insert_rows(Crawl, [(rows.crawl_id, rows.crawl | own)])


def _author(name: str, importer: User) -> User | None:
    """Nobody, where the author is not known here, or another than whoever imports may speak for."""
    return _user(name, importer) if known_owner(name, importer.username) == name else None


def _user(name: str, importer: User) -> User:
    return User.objects.get(username=known_owner(name, importer.username))
