"""Owns where an imported page lies in the collection, and what its rows are told of its files."""

import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any
from uuid import UUID

from django.contrib.auth.models import User
from django.utils import timezone

from archivebox.accounts.permission import viewer_scope
from archivebox.config.settings import DATA_FOLDER
from archivebox.contract.outcomes import Status
from archivebox.core.evidence.verification import Finding
from archivebox.imports.page import ImportedOutput, ImportedPage, NotImported
from archivebox.imports.page_files import HASHES, PageNotImportedError, PlannedFiles, WrittenFiles, discard_folder
from archivebox.imports.transfer import remove_source
from archivebox.lib.urls import BadUrl, parse_url, path_domain_of

_SCHEMES = frozenset({"http", "https", "ftp", "file"})
"""What pages may have been archived from: all lists link to their URLs."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(slots=True)
class WrittenPage:
    """A page whose files are in the collection, and not its rows yet."""

    key: UUID
    page: ImportedPage
    url: str
    folder: str
    results: list[tuple[ImportedOutput, Mapping[str, Any]]] = field(default_factory=list)
    """Each output with the columns that tell of its files."""
    left_out: list[NotImported] = field(default_factory=list)
    hashes: Mapping[str, tuple[str, int]] = field(default_factory=dict)
    """SHA-256 and size of each file that was transferred, as it was read."""
    files: int = 0
    size: int = 0

    @property
    def whole_path(self) -> str:
        """Its folder, from the root of the file system."""
        return f"{DATA_FOLDER.root}/{self.folder}"

    def planned_files(self) -> PlannedFiles:
        """What is to be written of it."""
        outputs = [
            (one.plugin, [(file.name, file.source, file.sha256) for file in one.files]) for one in self.page.outputs
        ]
        return PlannedFiles(self.whole_path, str(self.key), self.url, self.page.rows is not None, outputs)

    def learn(self, written: WrittenFiles) -> None:
        """Take over what became of its files; PageNotImportedError where it cannot be kept."""
        if written.problem:
            raise PageNotImportedError(written.problem)
        self.hashes = written.hashes
        self.files, self.size = len(self.hashes), sum(size for _, size in self.hashes.values())
        self.left_out = [NotImported(f"{self.url} {name}", reason) for name, reason in written.left_out]
        self.results = list(zip(self.page.outputs, written.columns, strict=True))
        if written.hashes_columns:
            now = timezone.now()
            output = ImportedOutput(HASHES, Status.SUCCEEDED, summary="hashes.json", started_at=now, ended_at=now)
            self.results.append((output, written.hashes_columns))


class PagePlanner:
    """Decides where pages of one source lie for one owner. ``stop`` is called again and again, and may raise."""

    def __init__(self, source: str, username: str, stop: Callable[[], None] = lambda: None) -> None:
        self._source, self._username, self._stop = source, username, stop

    def remove_sources(self, page: ImportedPage) -> None:
        """Delete what was imported from the source."""
        folder = DATA_FOLDER.root / self.plan(page).folder
        for output in page.outputs:
            for file in output.files:
                self._stop()
                remove_source(Path(file.source), folder / output.plugin / file.name)

    def plan(self, page: ImportedPage) -> WrittenPage:
        """Where it will lie; PageNotImportedError where it cannot be kept."""
        try:
            parsed = parse_url(page.url)
        except BadUrl as error:
            raise PageNotImportedError(f"Its URL cannot be used: {error}.") from None
        if parsed.scheme not in _SCHEMES:
            raise PageNotImportedError(f"{parsed.scheme} URLs are not archived.")
        url = parsed.href
        key, username = snapshot_id(self._source, page), self._username
        if page.rows is not None:
            key, username = page.rows.id, known_owner(page.rows.owner, username)
        folder = DATA_FOLDER.snapshot_place(username, page.captured_at.date(), path_domain_of(url), key)
        return WrittenPage(key, page, url, folder)


def discard(written: WrittenPage) -> None:
    """Delete the files of a page that gets no row."""
    discard_folder(written.whole_path)


def difference(missing: list[str], changed: list[str]) -> str:
    """The sentence for people about files that are not what was read; empty where all are."""
    finding = Finding(missing=missing, changed=changed)
    return "" if finding.is_whole else f"Its files differ from the source. {' '.join(finding.problems)}"


def known_owner(name: str, importer_name: str) -> str:
    """The user of this name here, where an administrator imports; else whoever imports."""
    importer = User.objects.filter(username=importer_name).first()
    may_choose = importer is not None and viewer_scope(importer).is_whole
    return name if may_choose and User.objects.filter(username=name).exists() else importer_name


def snapshot_id(source: str, page: ImportedPage) -> UUID:
    """The same for the same page of the same source: a UUIDv7 of the time of its capture.

    All lists are in the order of these keys, and show their time. The 12 bits behind the milliseconds hold the fraction
    of one (RFC 9562, 6.2, method 3), the last 62 are of a hash.
    """
    milliseconds, rest = divmod((page.captured_at - _EPOCH) // timedelta(microseconds=1), 1000)
    if milliseconds < 0 or page.captured_at > timezone.now() + timedelta(days=1):
        raise PageNotImportedError(f"Its date cannot be right: {page.captured_at.isoformat()}.")
    digest = int.from_bytes(sha256(f"{source}\n{page.key}".encode("utf-8", "surrogateescape")).digest()[:8])
    fields = milliseconds << 80 | 7 << 76 | (rest * 4096 // 1000) << 64 | 0b10 << 62 | digest >> 2
    return uuid.UUID(int=fields)
