"""Whether the files of a page are still those that its rows name, and that were hashed and signed when it was sealed.

Every entry point asks ``verdict_on``: verification and exports read and hash each file, `doctor` and backups compare
sizes and times (``is_quick``).
"""

import hashlib
import json
import math
import os
import stat
import time
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO
from uuid import UUID

from django.db.models import Prefetch

from archivebox.config.page_storage import has_store
from archivebox.config.settings import DATA_FOLDER
from archivebox.core.archiveresult import ArchiveResult
from archivebox.core.evidence.signature import MANIFEST_SIZE, Checked, check, is_unsigned, sign
from archivebox.core.evidence.signer import MANIFEST, KeyUnusableError
from archivebox.core.outputs.output_files import as_text, output_columns
from archivebox.core.page_storage.folder import expect_changes, local_folder
from archivebox.core.page_storage.uploading import store_page
from archivebox.core.snapshot import Snapshot, SnapshotQuerySet
from archivebox.lib.files import fsync_tree, read_regular
from archivebox.lib.jsonl import JSON

HASHES = MANIFEST.partition("/")[0]
"""The plugin that makes them."""
NO_HASHES = "No hashes were kept of it: switch the plugin `hashes` on, and capture it again."
NAMES_SHOWN = 5
"""Files that a sentence names."""
TIME = 20.0
"""Seconds that one look may take: somebody waits for it."""
_BLOCK = 1024 * 1024
_REMEMBERED = 10_000
"""Digests of shared files that are in memory: 3 MB."""


class DigestCache:
    """Digests of files that several pages share (hard links), so that each is read once in one run."""

    def __init__(self) -> None:
        self._known: OrderedDict[tuple[int, ...], str] = OrderedDict()

    def digest_of(self, path: Path, until: float) -> str | None:
        """SHA-256 of a regular file; None when the time is over."""
        with path.open("rb") as file:
            status = os.fstat(file.fileno())
            if status.st_nlink == 1:
                return _digest_of(file, until)
            key = (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)
            digest = self._known.pop(key, None) or _digest_of(file, until)
        if digest:
            self._known[key] = digest
        while len(self._known) > _REMEMBERED:
            self._known.popitem(last=False)
        return digest


@dataclass(slots=True)
class Finding:
    """What a look found; ``unseen`` files were left when the time was over."""

    same: int = 0
    changed: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    unseen: int = 0

    @property
    def is_whole(self) -> bool:
        return not (self.changed or self.missing or self.unseen)

    @property
    def problems(self) -> list[str]:
        """A sentence for each kind of difference."""
        told = []
        for names, what in ((self.changed, "changed"), (self.missing, "missing")):
            if names:
                more = f" and {len(names) - NAMES_SHOWN} more" if len(names) > NAMES_SHOWN else ""
                told.append(f"{len(names)} {what}: {', '.join(names[:NAMES_SHOWN])}{more}.")
        if self.unseen:
            told.append(f"{self.unseen} were not checked: the time limit was reached.")
        return told


@dataclass(frozen=True, slots=True)
class EvidenceVerdict:
    """What became of the evidence for one page: its files, and what was signed and stamped, their hashes."""

    files: Finding
    signature: Checked | None = None
    """None where the list of hashes is gone."""
    stamp: Checked | None = None
    """None where no authority was asked."""

    @property
    def checked(self) -> list[Checked]:
        return [one for one in (self.signature, self.stamp) if one is not None]

    @property
    def is_whole(self) -> bool:
        return self.files.is_whole and all(one.holds for one in self.checked)

    @property
    def problems(self) -> list[str]:
        return [*self.files.problems, *(one.sentence for one in self.checked if not one.holds)]

    @property
    def damage(self) -> list[str]:
        """Those of them that say that something is not as it was; a page may be unsigned, or signed by others."""
        return [*self.files.problems, *(one.sentence for one in self.checked if one.is_broken)]

    @property
    def damaged_files(self) -> list[str]:
        """Paths in the page of what such a sentence is about."""
        is_broken = any(one.is_broken for one in self.checked)
        return [*self.files.changed, *self.files.missing, *([MANIFEST] if is_broken else [])]

    @property
    def sentences(self) -> list[str]:
        """What was found, first what is as it was."""
        count, every = self.files.same, "All " if self.files.is_whole else ""
        same = f"{every}{count:,} files are unchanged since they were saved."
        same = "1 file is unchanged since it was saved." if count == 1 else same
        return [same, *self.files.problems, *(one.sentence for one in self.checked)]


def verdict_on(
    snapshot: Snapshot,
    seconds: float = math.inf,
    digests: DigestCache | None = None,
    *,
    folder: Path | None = None,
    is_quick: bool = False,
) -> EvidenceVerdict | None:
    """Look at its files and its signature, at most so long; None where nothing is missing and there are no hashes.

    ``folder``: where they are, if that is known. ``is_quick``: a file of the size that was hashed, and not written
    since, is taken to be the same.
    """
    from archivebox.core.evidence.timestamp import check_stamp  # its libraries cost 40 ms; verification is rare

    folder = folder or local_folder(snapshot)
    data, manifest = b"", None
    with suppress(OSError, ValueError):
        data = read_regular(folder / MANIFEST, MANIFEST_SIZE)
        manifest = json.loads(data)
    found = verify(folder, manifest, seconds, digests, is_quick=is_quick)
    _compare_listed(folder, listed_sizes(snapshot), {as_text(name) for name in files_of(manifest)}, found)
    if not data:
        return None if found.is_whole else EvidenceVerdict(found)
    if manifest is None and MANIFEST not in found.changed:
        found.changed.append(MANIFEST)
    checked = check(folder, data, snapshot.pk, DATA_FOLDER.keys)
    return EvidenceVerdict(found, checked, check_stamp(folder, data, DATA_FOLDER.keys))


def problems_of(snapshots: Iterable[Snapshot], digests: DigestCache | None = None) -> dict[UUID, str]:
    """Snapshot → what is wrong with its evidence; nothing for one that is as it was kept."""
    digests = digests or DigestCache()
    found = {snapshot.pk: verdict_on(snapshot, digests=digests) for snapshot in snapshots}
    return {
        key: NO_HASHES if verdict is None else " ".join(verdict.problems)
        for key, verdict in found.items()
        if verdict is None or not verdict.is_whole
    }


def damage_of(
    snapshots: Iterable[Snapshot], digests: DigestCache | None = None, *, is_quick: bool = False
) -> dict[UUID, str]:
    """Damaged snapshots → sentences about what is missing or was changed."""
    found = {one.pk: verdict_on(one, digests=digests, is_quick=is_quick) for one in snapshots}
    return {key: " ".join(verdict.damage) for key, verdict in found.items() if verdict is not None and verdict.damage}


PAGES_AT_ONCE = 100
"""Pages whose rows are in memory while their files are looked at."""


def with_listed_files(rows: SnapshotQuerySet) -> SnapshotQuerySet:
    """Pages with what a verdict needs of their rows, by two queries."""
    results = ArchiveResult.objects.only("snapshot_id", "plugin", "status", "output_files")
    columns = rows.only("output_dir", "status", "url")
    return columns.prefetch_related(Prefetch("archiveresult_set", results))


def sign_unsigned(snapshot: Snapshot) -> str:
    """Sign a page that was kept without a signature, if it is as it was hashed; else why it is not signed."""
    folder, verdict = local_folder(snapshot), verdict_on(snapshot)
    if verdict is None:
        return NO_HASHES
    if verdict.signature is not None and not is_unsigned(folder):
        return ""
    if not verdict.files.is_whole:
        return f"It is not as it was kept, and is not signed. {' '.join(verdict.files.problems)}"
    try:
        expect_changes(snapshot)
        sign(folder, DATA_FOLDER.keys, snapshot.pk, snapshot.url)
        fsync_tree((folder / MANIFEST).parent)
    except KeyUnusableError as error:
        return f"It is not signed: {error}."
    if has_store():
        store_page(snapshot.pk, folder)
    return ""


def list_signature(snapshot: Snapshot) -> None:
    """Have the result of the hashes name what lies beside them by now."""
    rows = ArchiveResult.objects.filter(snapshot=snapshot, plugin=HASHES)
    rows.update(**output_columns(local_folder(snapshot) / HASHES))


def verify(
    folder: Path, manifest: JSON, seconds: float = TIME, digests: DigestCache | None = None, *, is_quick: bool = False
) -> Finding:
    """Compare every file that ``manifest`` names (role ``evidence``) with what lies in ``folder`` now."""
    found, until, digests = Finding(), time.monotonic() + seconds, digests or DigestCache()
    status = _status_of(folder / MANIFEST) if is_quick else None
    hashed_at = status.st_mtime_ns if status else -1
    for name, entry in files_of(manifest).items():
        if status and _is_untouched(folder / name, entry, hashed_at):
            found.same += 1
            continue
        digest = _digest(folder, name, until, digests)
        if digest is None:
            found.unseen += 1
        elif not digest:
            found.missing.append(name)
        elif digest == entry.get("sha256"):
            found.same += 1
        else:
            found.changed.append(name)
    return found


def _is_untouched(path: Path, entry: Mapping[str, JSON], hashed_at: int) -> bool:
    status = _status_of(path)
    return status is not None and status.st_size == entry.get("size") and status.st_mtime_ns <= hashed_at


def listed_sizes(snapshot: Snapshot) -> dict[str, object]:
    """Path → bytes of each file that results name; of a page at work they name what was there a moment ago."""
    if snapshot.status != Snapshot.StatusChoices.SEALED:
        return {}
    sizes: dict[str, object] = {}
    for one in snapshot.archiveresult_set.all():
        if one.plugin == HASHES and one.status == ArchiveResult.StatusChoices.SUCCEEDED:
            sizes.setdefault(MANIFEST, None)
        sizes |= {f"{one.plugin}/{name}": about.get("size") for name, about in one.output_files.items()}
    return sizes


def _compare_listed(folder: Path, sizes: Mapping[str, object], hashed: set[str], found: Finding) -> None:
    """Look for the listed files that no hash was made of: they are there, and as large as they were.

    A name that is no UTF-8 is escaped in rows, by which its file cannot be found.
    """
    for name, size in sizes.items():
        if name in hashed or "\\x" in name:
            continue
        status = _status_of(folder / name)
        if status is None:
            found.missing.append(name)
        elif size not in {None, status.st_size}:
            found.changed.append(name)


def _status_of(path: Path) -> os.stat_result | None:
    """None: no regular file."""
    try:
        status = path.lstat()
    except OSError:
        return None
    return status if stat.S_ISREG(status.st_mode) else None


def files_of(manifest: JSON) -> dict[str, Mapping[str, JSON]]:
    """Path → facts of each file that a manifest names; nothing of what is no manifest."""
    files = manifest.get("files") if isinstance(manifest, dict) else None
    entries = files.items() if isinstance(files, dict) else ()
    return {name: entry for name, entry in entries if isinstance(entry, dict)}


def listed_digests(folder: Path) -> dict[str, str]:
    """Path → SHA-256 of the files of a page, as its list of hashes has them; none where there is no list."""
    try:
        files = files_of(json.loads(read_regular(folder / MANIFEST, MANIFEST_SIZE)))
    except (OSError, ValueError):
        return {}
    return {name: str(entry.get("sha256", "")) for name, entry in files.items()}


def _digest(folder: Path, name: str, until: float, digests: DigestCache) -> str | None:
    """SHA-256 of a file, or of a link's target; empty where nothing is, None when the time is over."""
    path = folder / name
    if ".." in path.parts or not path.is_relative_to(folder):
        return ""
    try:
        mode = path.lstat().st_mode
        if stat.S_ISLNK(mode):
            return hashlib.sha256(os.fsencode(path.readlink())).hexdigest()
        return digests.digest_of(path, until) if stat.S_ISREG(mode) else ""
    except OSError:
        return ""


def _digest_of(file: BinaryIO, until: float) -> str | None:
    digest = hashlib.sha256()
    while block := file.read(_BLOCK):
        if time.monotonic() > until:
            return None
        digest.update(block)
    return digest.hexdigest()
