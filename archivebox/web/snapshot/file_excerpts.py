"""Owns reading files of a snapshot for pages of the app: a bounded part, and nothing outside of its folder."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import quote

from archivebox.core.snapshot import Snapshot
from archivebox.lib.jsonl import JSON
from archivebox.replay.files import NotThereError, split_path
from archivebox.replay.folders import files_of


def address_of(plugin: str, name: str) -> str:
    """A file of a plugin, relative to the address of the snapshot's files."""
    return quote(f"{plugin}/{name}")


MOST = 512 * 1024
"""Bytes of one file that a page shows; the whole is one click away."""


@dataclass(frozen=True, slots=True)
class FileExcerpt:
    """The beginning of a file, or all of it."""

    data: bytes
    size: int

    @property
    def is_cut(self) -> bool:
        return len(self.data) < self.size

    @property
    def text(self) -> str:
        return self.data.decode("utf-8-sig", "replace")

    @property
    def json(self) -> JSON:
        """None for what is not JSON, or cut."""
        try:
            value: JSON = json.loads(self.data)
        except ValueError:
            return None
        return value

    def lines(self) -> Iterator[dict[str, JSON]]:
        """The objects of a file of JSON lines; what is none, as a last line that is cut, is passed over."""
        for line in self.data.splitlines():
            try:
                value = json.loads(line)
            except ValueError:
                continue
            if isinstance(value, dict):
                yield value


NOTHING = FileExcerpt(b"", 0)


def read_part(snapshot: Snapshot, plugin: str, name: str, most: int = MOST) -> FileExcerpt:
    """The first ``most`` bytes of a file; :data:`NOTHING` where there is none. Links are not followed."""
    try:
        data, size = files_of(snapshot).read_start(split_path(address_of(plugin, name)), most)
    except NotThereError:
        return NOTHING
    return FileExcerpt(data, size)
