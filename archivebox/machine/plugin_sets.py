"""Shows whether machines that share a database have the same plugins: each has digests of its own in its row."""

import hashlib
import logging
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cache, lru_cache
from pathlib import Path
from typing import NamedTuple
from uuid import UUID

from archivebox.config.settings import DATA_FOLDER
from archivebox.contract.discovery import BUNDLED
from archivebox.hooks.registry import plugins
from archivebox.lib.files import walk_entries
from archivebox.machine.host import Machine
from archivebox.machine.machine_id import is_fleet

log = logging.getLogger(__name__)

_BASE = {"base": BUNDLED / "base"}
"""The folder that is no plugin itself, and that hooks of all import from."""
_SHOWN_NAMES = 3


class _PluginFile(NamedTuple):
    """A file of a plugin, with what changes when it is written anew."""

    plugin: str
    path: str
    name: str
    mtime_ns: int
    size: int


def report_plugins() -> None:
    """Record which plugins this machine has, and log how they differ from another's where that has changed."""
    machine, digests = Machine.current(), plugin_digests()
    if machine.plugins != digests:
        Machine.objects.filter(pk=machine.pk).update(plugins=digests)
        machine.plugins = digests
    _log_difference(plugin_differences([machine]).get(machine.pk, ""))


@lru_cache(maxsize=1)
def _log_difference(difference: str) -> None:
    """Once, until it is another."""
    if difference:
        log.warning("The plugins of machines differ: %s action=plugins_differ", difference)


def plugin_differences(machines: Iterable[Machine]) -> dict[UUID, str]:
    """How the plugins of each of these machines differ from those of another one that works, where they do."""
    if not is_fleet():
        return {}
    at_work = [machine for machine in Machine.objects.kept().order_by("pk") if machine.state == "working"]
    reported = [machine for machine in at_work if machine.plugins]
    found = {}
    for machine in machines:
        other = next((one for one in reported if one.plugins != machine.plugins), None)
        if machine in reported and other is not None:
            found[machine.pk] = _difference(machine, other)
    return found


def _difference(machine: Machine, other: Machine) -> str:
    here, there = str(machine), str(other)
    if here == there:
        here, there = f"{here} ({machine.pk})", f"{there} ({other.pk})"
    if machine.version != other.version:
        return f"{here} has ArchiveBox {machine.version}, and {there} has {other.version}"
    differing = {name for name, digest in machine.plugins.items() if other.plugins.get(name, digest) != digest}
    groups = (
        (f"only on {here}", machine.plugins.keys() - other.plugins.keys()),
        (f"only on {there}", other.plugins.keys() - machine.plugins.keys()),
        (f"other files on {here} than on {there}", differing),
    )
    return "; ".join(f"{words}: {_listed(sorted(names))}" for words, names in groups if names)


def _listed(names: list[str]) -> str:
    more = len(names) - _SHOWN_NAMES
    return ", ".join(names[:_SHOWN_NAMES]) + (f" and {more} more" if more > 0 else "")


def plugin_digests() -> dict[str, str]:
    """Name → digest of the names and contents of all files of a plugin, which are read again when one has changed."""
    return _digests_of(tuple(_files()))


def _files() -> Iterator[_PluginFile]:
    """Of the plugins, and of the data folder what it adds to or changes of them."""
    for name, path in {**_BASE, **{name: plugin.path for name, plugin in plugins().items()}}.items():
        for folder in dict.fromkeys((path, DATA_FOLDER.plugins / name)):
            yield from sorted(_files_in(name, folder))


def _files_in(plugin: str, folder: Path) -> Iterator[_PluginFile]:
    """Python and editors write into folders and files of their own; what is gone meanwhile is left out."""
    for name, entry in walk_entries(folder):
        if _is_left_out(name):
            continue
        with suppress(OSError):
            if entry.is_file():
                facts = entry.stat()
                yield _PluginFile(plugin, entry.path, name, facts.st_mtime_ns, facts.st_size)


@cache
def _is_left_out(name: str) -> bool:
    parts = name.split("/")
    return "__pycache__" in parts or any(part.startswith(".") or part.endswith("~") for part in parts)


@lru_cache(maxsize=1)
def _digests_of(files: tuple[_PluginFile, ...]) -> dict[str, str]:
    sums = {file.plugin: hashlib.sha256() for file in files}
    for file in files:
        content = b""
        with suppress(OSError):
            content = Path(file.path).read_bytes()
        sums[file.plugin].update(f"{file.name}\0{len(content)}\0".encode(errors="surrogateescape") + content)
    return {name: digest.hexdigest()[:16] for name, digest in sorted(sums.items())}
