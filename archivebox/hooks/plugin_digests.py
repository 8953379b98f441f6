"""Owns the digests of the plugins that are here, by which machines that share a database tell theirs apart."""

import hashlib
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import NamedTuple

from archivebox.config.settings import DATA_FOLDER
from archivebox.contract.discovery import Plugin, plugin_folders
from archivebox.hooks.registry import plugins
from archivebox.lib.files import walk_entries

_ALL_PLUGINS = "base"
"""The folder that is no plugin itself, and that hooks of all import from."""


class _PluginFile(NamedTuple):
    """A file of a plugin, with what changes when it is written anew."""

    plugin: str
    path: str
    name: str
    mtime_ns: int
    size: int


class _Cache:
    """What was found last, and of which plugins and files."""

    plugins: dict[str, Plugin] | None = None
    folders: dict[str, tuple[Path, ...]]
    files: tuple[_PluginFile, ...] = ()
    digests: dict[str, str]


def plugin_digests() -> dict[str, str]:
    """Name → digest of the names and contents of all files; read again when one has another time or size.

    3 ms of CPU for the plugins that come with the application, and 11 where they are read.
    """
    if _Cache.plugins is not plugins():
        _Cache.plugins = plugins()
        _Cache.folders = plugin_folders(DATA_FOLDER.plugins)
    files = tuple(_files())
    if files != _Cache.files:
        _Cache.files, _Cache.digests = files, _digests_of(files)
    return _Cache.digests


def _files() -> Iterator[_PluginFile]:
    for name, folders in _Cache.folders.items():
        if name in plugins() or name == _ALL_PLUGINS:
            for folder in folders:
                yield from sorted(_files_in(name, folder))


def _files_in(plugin: str, folder: Path) -> Iterator[_PluginFile]:
    """Python and editors write into folders and files of their own; what is gone meanwhile is left out."""
    for path, entry in walk_entries(folder):
        if _is_left_out(path):
            continue
        with suppress(OSError):
            if entry.is_file():
                facts = entry.stat()
                yield _PluginFile(plugin, str(folder / path), path, facts.st_mtime_ns, facts.st_size)


@cache
def _is_left_out(path: str) -> bool:
    parts = path.split("/")
    return "__pycache__" in parts or any(part.startswith(".") or part.endswith("~") for part in parts)


def _digests_of(files: tuple[_PluginFile, ...]) -> dict[str, str]:
    sums = {file.plugin: hashlib.sha256() for file in files}
    for file in files:
        content = _content(file.path)
        sums[file.plugin].update(f"{file.name}\0{len(content)}\0".encode(errors="surrogateescape"))
        sums[file.plugin].update(content)
    return {name: digest.hexdigest()[:16] for name, digest in sorted(sums.items())}


def _content(path: str) -> bytes:
    """Nothing of a file that cannot be read."""
    with suppress(OSError), open(path, "rb") as file:  # noqa: PTH123 - as os.scandir gave it
        return file.read()
    return b""
