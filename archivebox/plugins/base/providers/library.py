"""The folder of programs that we install: its links, its locks, the hashes it remembers."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import secrets
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from archivebox.plugins.base import write_atomically

if TYPE_CHECKING:
    from collections.abc import Iterator

READ_SIZE = 1 << 20  # bytes at a time


class Library:
    """`LIB_DIR`, shared by all collections of a user; `bin` stands first in the PATH of hooks."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.bin = root / "bin"

    @classmethod
    def current(cls) -> Library:
        os.umask(0o022)  # programs are no secrets, and whoever shares the folder runs them
        given = os.environ.get("LIB_DIR", "")
        shared = os.environ.get("XDG_DATA_HOME", "") or "~/.local/share"
        return cls(Path(given or f"{shared}/archivebox/lib").expanduser().absolute())

    def link(self, name: str, target: Path) -> Path:
        """`bin/<name>` → `target`, relative so that the folder may be moved, replaced in one step."""
        self.bin.mkdir(parents=True, exist_ok=True)
        return replace_link(self.bin / name, target)

    @contextmanager
    def locked(self, name: str) -> Iterator[None]:
        """Hold `locks/provider-<name>`: the engine's own locks have other names, so this never waits for itself."""
        folder = self.root / "locks"
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / f"provider-{name.replace('/', '-')}").open("ab") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield

    def sha256(self, path: Path) -> str:
        """The hash of the file that `path` leads to, remembered by path, size and time: 200 MB cost half a second."""
        real = path.resolve(strict=True)
        facts = real.stat()
        key = [facts.st_size, facts.st_mtime_ns]
        known = self._hashes().get(str(real))
        if known is not None and known[:2] == key:
            return str(known[2])
        digest = _digest_of(real)
        with self.locked("hashes"):
            kept = {name: entry for name, entry in self._hashes().items() if os.path.lexists(name)}
            write_atomically(str(self._hash_file), json.dumps(kept | {str(real): [*key, digest]}, indent=0))
        return digest

    @property
    def _hash_file(self) -> Path:
        return self.root / "hashes.json"

    def _hashes(self) -> dict[str, list[int | str]]:
        """What is remembered; a damaged file remembers nothing, since all of it can be had again."""
        try:
            document = json.loads(self._hash_file.read_bytes())
        except (FileNotFoundError, ValueError):
            return {}
        entries = document.items() if isinstance(document, dict) else ()
        return {name: entry for name, entry in entries if isinstance(entry, list) and len(entry) == 3}


def replace_link(link: Path, target: Path) -> Path:
    """Point `link` at `target` by a relative link made beside it and renamed; returns `link`."""
    temporary = link.with_name(f".{link.name}.{secrets.token_hex(4)}.tmp")
    temporary.symlink_to(os.path.relpath(target, link.parent))
    temporary.replace(link)
    return link


def _digest_of(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(READ_SIZE):
            digest.update(chunk)
    return digest.hexdigest()
