"""Owns where an imported page lies in the collection."""

import uuid
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from uuid import UUID

from django.contrib.auth.models import User
from django.utils import timezone

from archivebox.accounts.permission import viewer_scope
from archivebox.config.settings import DATA_FOLDER
from archivebox.imports.page import ImportedPage
from archivebox.imports.page_files import PageNotImportedError, WrittenPage
from archivebox.imports.transfer import remove_source
from archivebox.lib.urls import BadUrl, parse_url, path_domain_of

_SCHEMES = frozenset({"http", "https", "ftp", "file"})
"""What pages may have been archived from: all lists link to their URLs."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class PagePlanner:
    """Decides where pages of one source lie for one owner."""

    def __init__(self, source: str, username: str) -> None:
        self._source, self._username = source, username

    def remove_sources(self, page: ImportedPage, stop: Callable[[], None]) -> None:
        """Delete what was imported from the source. ``stop`` is called before each file, and may raise."""
        folder = DATA_FOLDER.root / self.plan(page).folder
        for output in page.outputs:
            for file in output.files:
                stop()
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
