"""Owns keeping a page that somebody's browser has saved and sent: its file becomes a Snapshot."""

import hashlib
import logging
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from django.contrib.auth.models import User
from django.utils import timezone

from archivebox.base_models.transactions import write_transaction
from archivebox.core.intake.add_urls import default_visibility
from archivebox.core.snapshot import Snapshot
from archivebox.imports.batch import BatchWriter, Item, PageBatch, PagePlanner
from archivebox.imports.import_folder import Scratch
from archivebox.imports.models import ImportedSnapshot
from archivebox.imports.page import ImportedPage, NotReadableError, do_nothing
from archivebox.imports.page_files import PageNotImportedError, Transfer
from archivebox.imports.readers.saved_pages import SingleFilePage, date_in, read_comment
from archivebox.imports.rows import PageImport
from archivebox.search.backend import SearchUnavailableError, learn

log = logging.getLogger(__name__)
LABEL = "Saved with SingleFile"
Noting = Callable[[Snapshot], object]


@dataclass(frozen=True, slots=True)
class KeptUpload:
    """The Snapshot of a page that was sent; ``is_new``: False where the same file was kept before."""

    snapshot: Snapshot
    is_new: bool


def keep_upload(content: Iterable[bytes], url: str, created_by: User, noting: Noting) -> KeptUpload:
    """Keep the HTML of one page. ``url``: where it is on the web; empty: what the file says.

    ``noting`` is called with a new Snapshot, in the transaction that writes it. NotReadableError where it cannot be
    kept. Sent again, it is not kept again.
    """
    path = _receive(content, url, scratch := Scratch())
    importing = PageImport(f"upload of {created_by.pk}", LABEL, created_by, default_visibility({}).value)
    page = SingleFilePage(path, url, date_in(read_comment(path)) or timezone.now())
    # Two requests with the same file may be here at once: each writes a folder of its own.
    planner = PagePlanner(scratch.path.name, created_by.username)
    with BatchWriter(
        lambda _: _noted(page.pages(), planner, scratch), Transfer.COPY, do_nothing, lambda: True
    ) as writer:
        batch = writer.write("", 1, importing.known, planner, to_end=True)
    is_new = not batch.known and _write_rows(batch, importing, noting)
    snapshot = ImportedSnapshot.objects.select_related("snapshot").get(source=importing.source, key=path.name).snapshot
    if not Snapshot.objects.kept().filter(pk=snapshot.pk).exists():
        raise NotReadableError("It was saved before, and was removed since. Restore it, or save the page again.")
    _index(snapshot)
    return KeptUpload(snapshot, is_new)


def _noted(items: Iterable[Item], planner: PagePlanner, scratch: Scratch) -> Iterator[Item]:
    """Each item; where the files of a page will lie is noted first."""
    for item in items:
        if isinstance(item, ImportedPage):
            with suppress(PageNotImportedError):  # the planner says so
                scratch.note_page(planner.plan(item).folder)
        yield item


def _receive(content: Iterable[bytes], url: str, scratch: Scratch) -> Path:
    """A file that is named after what is in it, and of which page it is."""
    digest = hashlib.sha256(f"{url}\n".encode("utf-8", "replace"))
    received = scratch.path / "received"
    with received.open("wb") as file:
        for piece in content:
            digest.update(piece)
            file.write(piece)
    if not received.stat().st_size:
        raise NotReadableError("The file is empty.")
    return received.rename(scratch.path / f"{digest.hexdigest()}.html")


def _write_rows(batch: PageBatch, importing: PageImport, noting: Noting) -> bool:
    """Whether they are new: of two requests at once with the same file one writes them, and the other finds them."""
    is_new = False
    try:
        for problem in (*batch.failed, *batch.left_out):
            raise NotReadableError(problem.reason)
        with write_transaction():
            User.objects.select_for_update().get(pk=importing.created_by.pk)
            is_new = not importing.known([batch.written[0].page])
            if is_new:
                importing.write(batch.written)
                noting(Snapshot.objects.get(pk=batch.written[0].key))
    finally:
        if not is_new:
            for written in batch.written:
                written.discard()
    return is_new


def _index(snapshot: Snapshot) -> None:
    try:
        learn([snapshot])
    except SearchUnavailableError as problem:
        log.warning("%s is not found by its words yet: %s action=not_indexed", snapshot.pk, problem)
