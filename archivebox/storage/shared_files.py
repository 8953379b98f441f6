"""Files that several pages of one owner have in common: each is on the disk once, and a hard link in every page.

* A recorded body of 16 kB and more. Its digest names it, and a store finds it; the plugin ``warc`` puts it there:

      users/<owner>/.shared/ab/<sha256>.warc.gz                                 the first `response` record with a body
      users/<owner>/snapshots/<day>/<host>/<id>/warc/shared-<sha256>.warc.gz    another name of it in each page

  Nothing ever writes into it: whoever needs another one replaces the name.
* An output of an unchanged version, which is another name of the former version's file. Before a hook of either page
  runs again, its plugin's files become its own (:func:`own_files`).

A page's folder never depends on others: it is copied, archived and deleted like any folder. A file is linked only after
it was read under its new name, and has the digest that is on record of it; it takes the place of another one by
rename(2): a kill at any moment leaves either. Where no link can be made, each page has a copy.
"""

import errno
import filecmp
import hashlib
import json
import os
import re
import shutil
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from threading import get_native_id

from archivebox.lib.files import atomic_write, remove_tree, walk_entries
from archivebox.storage.layout import HOOK_RUNS

STORE = ".shared"
SNAPSHOTS = "snapshots"
WARC = "warc"
"""The plugin whose folder in a page has the links to stored bodies."""
_LINKED = re.compile(r"shared-([0-9a-f]{64})\.warc\.gz")
_STORED = re.compile(rf"{re.escape(STORE)}/[0-9a-f]{{2}}/[0-9a-f]{{64}}\.warc\.gz")

_CANNOT_LINK = frozenset(
    {
        errno.EXDEV, errno.EMLINK, errno.EPERM, errno.EACCES, errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL, errno.EROFS,
        errno.ENOTDIR, errno.ENOENT,
    }
)  # fmt: skip
"""Another disk, a file system without hard links (SMB answers in several ways), a file that has as many links as it may
have (ext4: 65,000), or that was deleted meanwhile."""

NOTE = "linked_outputs.json"
"""In a page's folder: which of its files are those of a former version."""
NOTE_MAX, LINKED_MIN = 1_000_000, 1_000
"""Bytes of the note at most, and of an output that is worth a link."""
_STAGED, _OWN, _RENEWED, _REPLACED = "linked", "linked.tmp", "renewed", "former"
"""In the folder of the runs, whose files are neither listed nor hashed; one worker at a time has a page."""


@dataclass(slots=True)
class StorageReport:
    """How many files were deleted or linked, the bytes that this freed, and how many could not be linked."""

    files: int = 0
    bytes: int = 0
    failed: int = 0


def store_of(snapshot_dir: Path) -> Path | None:
    """The store of the owner of a page, whose folder is `users/<owner>/snapshots/<day>/<host>/<id>`; else None."""
    parents = snapshot_dir.parents
    is_page = len(parents) > 3 and parents[2].name == SNAPSHOTS
    return parents[3] / STORE if is_page else None


def stored_path(store: str, digest: str) -> str:
    return f"{store}/{digest[:2]}/{digest}.warc.gz"


def linked_name(digest: str) -> str:
    """The file's name among the WARC files of a page."""
    return f"shared-{digest}.warc.gz"


def linked_digest(name: str) -> str:
    """The digest in the name of a page's file; empty for other names."""
    found = _LINKED.fullmatch(name)
    return found[1] if found else ""


def is_linked_name(name: str) -> bool:
    return bool(linked_digest(name))


def may_be_linked(path: str) -> bool:
    """Whether a file of the collection may be a body: it is in a store, or a page's link to that."""
    return is_linked_name(path.rpartition("/")[2]) or _STORED.search(path) is not None


def stored_twin(path: str) -> str:
    """The path of the stored body that a page's file of this path is a link to; empty for other files."""
    digest, parts = linked_digest(path.rpartition("/")[2]), path.split("/")
    is_of_page = digest and len(parts) > 6 and (parts[-6], parts[-2]) == (SNAPSHOTS, WARC)
    return stored_path("/".join([*parts[:-6], STORE]), digest) if is_of_page else ""


@contextmanager
def ignore_link_errors() -> Iterator[None]:
    """Go on where no link can be made: then the page has a copy."""
    try:
        yield
    except OSError as error:
        if error.errno not in _CANNOT_LINK:
            raise


def link_aside(source: str | Path, stored: str | Path) -> str:
    """Link a file beside a stored body, under a name that `collect_garbage` deletes if a kill leaves it."""
    folder, name = os.path.split(stored)
    aside = f"{folder}/.{name}.{get_native_id()}.tmp"
    with suppress(FileNotFoundError):
        os.unlink(aside)  # noqa: PTH108 - hooks call it with plain names
    os.link(source, aside, follow_symlinks=False)
    return aside


# --- pages that come and go ----------------------------------------------------------------------------------------


def remove_page(snapshot_dir: Path) -> None:
    """Delete the folder of a page, and the bodies that no other page has; OSError where something cannot be."""
    store, digests = store_of(snapshot_dir), [digest for _, digest in _bodies_in(snapshot_dir)]
    remove_tree(snapshot_dir)
    if store is not None:
        for digest in digests:
            _remove_unused(Path(stored_path(str(store), digest)))


def share_bodies(snapshot_dir: Path, report: StorageReport) -> None:
    """Make each body of a page, as of one that was copied or fetched, a link to the stored one with the same bytes.

    Only these: other files of a page may be written to, and a link would carry that into other pages.
    """
    store = store_of(snapshot_dir)
    for path, digest in _bodies_in(snapshot_dir) if store is not None else ():
        try:
            freed = _share(path, Path(stored_path(str(store), digest)))
        except OSError:
            report.failed += 1
        else:
            report.files += freed > 0
            report.bytes += freed


def share_all_bodies(users: Path) -> StorageReport:
    """The same for all pages of a collection."""
    report = StorageReport()
    for warc in users.glob(f"*/{SNAPSHOTS}/*/*/*/{WARC}"):
        share_bodies(warc.parent, report)
    return report


def collect_garbage(users: Path) -> StorageReport:
    """Delete the stored bodies that no page has. Pages may be captured meanwhile: they lose sharing, never data."""
    report = StorageReport()
    for folder in store_folders(users):
        collect_folder(folder, report)
    return report


def store_folders(users: Path) -> Iterator[Path]:
    """The folders of all stores, 256 at most of each owner."""
    return users.glob(f"*/{STORE}/*/")


def collect_folder(folder: Path, report: StorageReport) -> None:
    """Do so in one folder of a store, and add what was deleted to the report."""
    for stored in folder.iterdir():
        if stored.name.startswith("."):  # left by a process that was killed
            stored.unlink(missing_ok=True)
        elif freed := _remove_unused(stored):
            report.files += 1
            report.bytes += freed


def _bodies_in(page: Path) -> list[tuple[Path, str]]:
    """The bodies in a page's folder, each with its digest."""
    with suppress(FileNotFoundError, NotADirectoryError), os.scandir(page / WARC) as entries:
        named = [(entry, linked_digest(entry.name)) for entry in entries]
        return [(Path(entry), digest) for entry, digest in named if digest and entry.is_file(follow_symlinks=False)]
    return []


def _share(path: Path, stored: Path) -> int:
    """The bytes that this frees. OSError where no link can be made."""
    stored.parent.mkdir(parents=True, exist_ok=True)
    with suppress(FileExistsError):
        os.link(path, stored, follow_symlinks=False)  # the first page that has it
        return 0
    if path.samefile(stored):
        return 0
    # In the store, where a kill leaves nothing that a page would have besides what was signed.
    aside = Path(link_aside(stored, stored))
    try:
        size = path.lstat().st_size
        if not filecmp.cmp(path, aside, shallow=False):
            return 0
        aside.replace(path)
    finally:
        aside.unlink(missing_ok=True)
    return size


def _remove_unused(stored: Path) -> int:
    """Delete a stored body that no page links; the bytes that this frees.

    A page that links it at this very moment keeps its link: then the body is stored anew by the next page.
    """
    with suppress(FileNotFoundError):
        status = stored.lstat()
        if status.st_nlink == 1:
            stored.unlink()
            return status.st_size
    return 0


# --- outputs of unchanged versions --------------------------------------------------------------------------------


def stage_links(former: Path, latest: Path, plugins: Collection[str], digests: Mapping[str, str]) -> list[str]:
    """Link files of the former version that the latest has under the same path, beside its own; their paths.

    From here on a hook of the former version that starts gets copies. A file is left out if no link can be made, or if
    it has not the SHA-256 that ``digests``, the former version's list, has for its path.
    """
    drop_links(latest)
    paths = [f"{plugin}/{name}" for plugin in sorted(plugins) for name in _names_in_both(former, latest, plugin)]
    return [path for path in paths if _stage(former / path, _runs(latest) / _STAGED / path, digests.get(path))]


def place_links(former: Path, latest: Path, paths: Sequence[str]) -> set[str]:
    """Put the staged links in the place of the latest version's own files; the plugins that have any."""
    for path in paths:
        (_runs(latest) / _STAGED / path).replace(latest / path)
    if paths:
        note = {"snapshot": former.name, "files": list(paths)}
        atomic_write(latest / NOTE, json.dumps(note, indent=1) + "\n")
    drop_links(latest)
    return {path.partition("/")[0] for path in paths}


def drop_links(latest: Path) -> None:
    """Remove what is staged: links that are not wanted, or were left by a kill."""
    if (staged := _runs(latest) / _STAGED).is_dir():
        remove_tree(staged)


def parse_note(data: bytes) -> tuple[str, list[str]]:
    """Of which version a page has files, and of which plugins; none if the note makes no sense: hooks may write it."""
    try:
        said = json.loads(data)
        return str(said["snapshot"]), sorted({str(name).partition("/")[0] for name in said["files"]})
    except (ValueError, TypeError, KeyError):
        return "", []


def _names_in_both(former: Path, latest: Path, plugin: str) -> list[str]:
    sources = {name for name, _ in _files(former / plugin)}
    own = _files(latest / plugin)
    return sorted(name for name, status in own if status.st_size >= LINKED_MIN and name in sources)


def _stage(source: Path, staged: Path, digest: str | None) -> bool:
    try:
        staged.parent.mkdir(parents=True, exist_ok=True)
        os.link(source, staged, follow_symlinks=False)
        if digest is None:
            return True
        with staged.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest() == digest
    except OSError:
        return False


def _files(folder: Path) -> Iterator[tuple[str, os.stat_result]]:
    """The regular files below a folder; nothing that a symbolic link leads to."""
    if folder.is_symlink():
        return
    for name, entry in walk_entries(folder):
        with suppress(OSError):
            if entry.is_file(follow_symlinks=False):
                yield name, entry.stat(follow_symlinks=False)


def _runs(page: Path) -> Path:
    runs = page / HOOK_RUNS
    if runs.is_symlink():  # a hook put it there
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(runs))
    runs.mkdir(mode=0o700, exist_ok=True)
    return runs


# --- before a hook runs again -------------------------------------------------------------------------------------


def own_files(page: Path, plugin: str) -> None:
    """Replace a plugin's links to files of other versions by copies. OSError where that cannot be done."""
    for name, status in list(_files(page / plugin)):
        if status.st_nlink > 1 and not is_linked_name(name):
            aside = _runs(page) / _OWN
            aside.unlink(missing_ok=True)  # left by a kill
            shutil.copy2(page / plugin / name, aside, follow_symlinks=False)
            aside.replace(page / plugin / name)


def renew_folder(page: Path, plugin: str) -> None:
    """Replace a plugin's folder by a copy, when a page is taken over from another machine. OSError.

    A process of that machine may be held still, or out of reach, and go on later. The folder is its working directory,
    and it has files in it open: nobody sees what it writes there.
    """
    folder, runs = page / plugin, page / HOOK_RUNS
    if folder.is_symlink() or not folder.is_dir() or runs.is_symlink() or not runs.is_dir():
        return
    copy, former = runs / _RENEWED, runs / _REPLACED
    for left in (copy, former):  # by a kill
        if left.is_dir():
            remove_tree(left)
    shutil.copytree(folder, copy, symlinks=True, copy_function=_copy_own)
    folder.rename(former)
    copy.rename(folder)
    remove_tree(former)


def _copy_own(source: str, target: str) -> None:
    """Copy one file, or link a body, which nobody writes into; it may have gone meanwhile."""
    with suppress(FileNotFoundError):
        if is_linked_name(Path(source).name):
            Path(target).hardlink_to(source)
        else:
            shutil.copy2(source, target, follow_symlinks=False)
