"""Owns the hash tree over the files of one folder.

Construction (RFC 9162 section 2.1.1, the same as RFC 6962):

* The files are taken in the order of their paths' bytes; a path is relative to the folder, with "/" between its parts.
* The leaf of a file is ``SHA-256(0x00 || path || 0x00 || sha256 of the file)``, the file's hash as 32 raw bytes.
  A path holds no NUL byte, so two different files never have the same leaf input.
* A node is ``SHA-256(0x01 || left || right)``. The RFC splits n leaves at the largest power of two below n; that is the
  same tree as joining neighbours level by level and lifting an odd last one to the next level, which is what is done.
* The root of no file at all is ``SHA-256("")``.

A symbolic link is not followed: it is a file whose content is the text of its target.
"""

import hashlib
import mimetypes
import os
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import TypedDict

READ_SIZE = 1 << 20  # bytes at a time: files may be larger than the memory
LINK_MIMETYPE = "inode/symlink"

# The built-in table alone: the system's /etc/mime.types differs from machine to machine.
_TYPES = mimetypes.MimeTypes(filenames=())
for _suffix, _mimetype in {
    ".avif": "image/avif",
    ".jsonl": "application/x-ndjson",
    ".mhtml": "multipart/related",
    ".warc": "application/warc",
    ".wacz": "application/wacz",
    ".webp": "image/webp",
    ".woff2": "font/woff2",
}.items():
    _TYPES.add_type(_mimetype, _suffix)


class FileEntry(TypedDict):
    """One file: its SHA-256 (hex), its size in bytes, its type by its name, and the hooks that may have written it."""

    sha256: str
    size: int
    mimetype: str
    programs: list[str]


class Manifest(TypedDict):
    """What hashes.json holds; ``tree`` is the levels from the leaves to the root, each a list of hex hashes."""

    root_hash: str
    files: dict[str, FileEntry]
    tree: list[list[str]]


def build_manifest(
    folder: Path,
    excluded: Sequence[str] = (),
    on_vanished: Callable[[str], None] | None = None,
    programs: Mapping[str, list[str]] = MappingProxyType({}),
) -> Manifest:
    """The manifest of `folder`; `excluded` are names of entries of the folder itself.

    `programs`: by the name of such an entry, what writes into it. A file that goes away while the folder is read is
    left out and told to `on_vanished`.
    """
    files: dict[str, FileEntry] = {}
    for path in sorted(_paths(folder, excluded), key=os.fsencode):
        try:
            files[path] = _entry(folder / path, programs.get(path.partition("/")[0], []))
        except FileNotFoundError:
            if on_vanished is not None:
                on_vanished(path)
    return manifest_of(files)


def manifest_of(files: Mapping[str, FileEntry]) -> Manifest:
    """The manifest of files that were hashed already, by path."""
    files = {path: files[path] for path in sorted(files, key=os.fsencode)}
    levels = build_tree([leaf_hash(path, entry["sha256"]) for path, entry in files.items()])
    return {
        "root_hash": root_of(levels).hex(),
        "files": files,
        "tree": [[node.hex() for node in row] for row in levels],
    }


def leaf_hash(path: str, sha256: str) -> bytes:
    return hashlib.sha256(b"\x00" + os.fsencode(path) + b"\x00" + bytes.fromhex(sha256)).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    return hashlib.sha256(b"\x01" + left + right).digest()


def build_tree(leaves: Sequence[bytes]) -> list[list[bytes]]:
    """The levels of the tree, leaves first, the root alone in the last; no level at all for no leaf."""
    if not leaves:
        return []
    levels = [list(leaves)]
    while len(levels[-1]) > 1:
        below = levels[-1]
        row = [node_hash(below[i], below[i + 1]) for i in range(0, len(below) - 1, 2)]
        if len(below) % 2:
            row.append(below[-1])
        levels.append(row)
    return levels


def root_of(levels: Sequence[Sequence[bytes]]) -> bytes:
    return levels[-1][0] if levels else hashlib.sha256(b"").digest()


@lru_cache(maxsize=4096)  # imported pages have files of the same names
def mimetype_of(path: str) -> str:
    """The type by the name alone; `.gz` and its like count as what they are, a compressed file."""
    if path.endswith(".warc.gz"):
        return "application/warc"
    mimetype, encoding = _TYPES.guess_type(path)
    if encoding is not None:
        return "application/gzip" if encoding == "gzip" else f"application/x-{encoding}"
    return mimetype or "application/octet-stream"


def _paths(folder: Path, excluded: Sequence[str]) -> Iterator[str]:
    """Every file and symbolic link below `folder`; sockets, pipes and devices have no bytes to keep."""
    waiting = [""]
    while waiting:
        parent = waiting.pop()
        try:
            entries = os.scandir(folder / parent)
        except FileNotFoundError:
            if not parent:
                raise
            continue  # a folder that went away while we were elsewhere holds nothing to keep
        with entries:
            for entry in entries:
                if not parent and entry.name in excluded:
                    continue
                path = f"{parent}/{entry.name}" if parent else entry.name
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(path)
                elif entry.is_symlink() or entry.is_file(follow_symlinks=False):
                    yield path


def _entry(path: Path, programs: list[str]) -> FileEntry:
    if path.is_symlink():
        target = os.fsencode(path.readlink())
        digest = hashlib.sha256(target)
        return {"sha256": digest.hexdigest(), "size": len(target), "mimetype": LINK_MIMETYPE, "programs": programs}
    digest, size = hashlib.sha256(), 0
    # O_NOFOLLOW and O_NONBLOCK: what was a file when listed may be a link or a pipe by now.
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    with os.fdopen(descriptor, "rb", buffering=0) as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise FileNotFoundError(f"{path} is no longer a file")
        while chunk := file.read(READ_SIZE):
            digest.update(chunk)
            size += len(chunk)
    return {"sha256": digest.hexdigest(), "size": size, "mimetype": mimetype_of(path.name), "programs": programs}
