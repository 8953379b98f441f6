"""Owns the files of a snapshot as a tree."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from archivebox.contract.formats import File
from archivebox.core.archiveresult import ArchiveResult

FILES = 2000
"""Files of one page that its tree shows; all of them are in the folder itself."""


@dataclass(slots=True)
class Folder:
    """A folder with its folders and files, each by name; ``path`` is relative to the snapshot's."""

    path: str
    folders: dict[str, "Folder"] = field(default_factory=dict)
    files: list[tuple[str, File]] = field(default_factory=list)

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]

    @property
    def size(self) -> int:
        return sum(file.size for _, file in self.files) + sum(folder.size for folder in self.folders.values())

    @property
    def count(self) -> int:
        return len(self.files) + sum(folder.count for folder in self.folders.values())

    def put(self, names: list[str], file: File) -> None:
        if len(names) == 1:
            self.files.append((names[0], file))
            return
        path = f"{self.path}/{names[0]}" if self.path else names[0]
        self.folders.setdefault(names[0], Folder(path)).put(names[1:], file)


def tree_of(results: Iterable[ArchiveResult]) -> tuple[Folder, bool]:
    """The tree, and whether there are more files than it shows."""
    found = {
        f"{result.plugin}/{name}": about for result in results for name, about in sorted(result.output_files.items())
    }
    top = Folder("")
    for path in sorted(found)[:FILES]:
        about = found[path]
        top.put(path.split("/"), File(path, int(about.get("size") or 0), str(about.get("mimetype") or "")))
    return top, len(found) > FILES
