"""Owns which file in the folder of a page is whose: what each extractor of an earlier ArchiveBox has left."""

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice
from pathlib import Path

from archivebox.contract.outcomes import Status
from archivebox.imports.page import ImportedFile, ImportedOutput, NotImported
from archivebox.imports.readers.old.record import OldResult
from archivebox.lib.files import read_regular, walk_entries
from archivebox.lib.jsonl import JSON

MOST_FILES = 100_000
"""Files, folders and links of one page that are looked at."""
MOST_HEADERS = 1024 * 1024
REST = "imported"
"""In place of a plugin's name: of files that no plugin of ours would have made."""

OF_FILE = {
    "favicon.ico": "favicon", "headers.json": "headers", "singlefile.html": "singlefile", "output.pdf": "pdf",
    "screenshot.png": "screenshot", "output.html": "dom", "htmltotext.txt": "htmltotext",
    "archive.org.txt": "archive_org", "title.txt": "title",
}  # fmt: skip
"""Files that lie in the folder of a page up to 0.8 → plugin."""
OF_FOLDER = {
    "readability": "readability", "mercury": "mercury", "git": "git", "media": "ytdlp", "ytdlp": "ytdlp",
    "favicon": "favicon", "headers": "headers", "singlefile": "singlefile", "pdf": "pdf", "screenshot": "screenshot",
    "dom": "dom", "htmltotext": "htmltotext", "archive_org": "archive_org", "archivedotorg": "archive_org",
    "title": "title", "wget": "wget", "mhtml": "mhtml", "gallerydl": "gallerydl", "papersdl": "papersdl",
    "forumdl": "forumdl", "trafilatura": "trafilatura", "defuddle": "defuddle", "pdftotext": "pdftotext",
}  # fmt: skip
"""Folders in it → plugin, whose folder has the rest of the path; those of 0.9 are named after plugins."""
OF_EXTRACTOR = OF_FOLDER | {"warc": "wget"}
"""What results are said to be of → plugin."""
KEPT_WHOLE = {"warc": "wget"}
"""Folders that stay one in the folder of the plugin."""
MAIN = {"readability": "content.html", "mercury": "content.html"}
"""The file that an extractor did not name, as it named its folder."""
SAYS_ITSELF = frozenset({"title", "archive_org"})
"""Plugins whose result is a text."""


@dataclass(slots=True)
class PageFolder:
    """The files of one page by plugin, and what of them cannot be taken."""

    files: dict[str, list[ImportedFile]] = field(default_factory=dict)
    left_out: list[NotImported] = field(default_factory=list)

    @classmethod
    def read(cls, folder: str) -> "PageFolder":
        """Whatever lies below ``folder``; no link is followed. The page's own index comes last."""
        found, count, name = cls(), 0, folder.rpartition("/")[2]
        for path, entry in islice(walk_entries(folder), MOST_FILES):
            count += 1
            if entry.is_dir(follow_symlinks=False):
                if not os.access(entry, os.R_OK | os.X_OK):
                    found.left_out.append(NotImported(f"{name}/{path}", "This folder cannot be read."))
                continue
            if not entry.is_file(follow_symlinks=False):
                why = "It is a symbolic link." if entry.is_symlink() else "It is not a regular file."
                found.left_out.append(NotImported(f"{name}/{path}", why))
                continue
            plugin, below = place_of(path)
            found.files.setdefault(plugin, []).append(ImportedFile(below, entry.path))
        if count == MOST_FILES:
            found.left_out.append(NotImported(folder, f"It has more than {MOST_FILES:,} files; the rest stayed."))
        for files in found.files.values():
            files.sort(key=lambda file: (file.name == "index.json", file.name))
        return found

    def outputs(self, results: tuple[OldResult, ...]) -> Iterator[ImportedOutput]:
        """One for each plugin that left files, or said what became of it."""
        best = best_results(results)
        for plugin in sorted(self.files.keys() | best.keys()):
            files, result = tuple(self.files.get(plugin, ())), best.get(plugin)
            if plugin == REST:
                yield ImportedOutput(REST, Status.SUCCEEDED, files, "Files that came with the page.")
            elif result is None:
                yield ImportedOutput(plugin, Status.SUCCEEDED, files, _main(plugin, "", files))
            else:
                yield _output(plugin, result, files)


@lru_cache(maxsize=4096)  # pages have files of the same names
def place_of(path: str) -> tuple[str, str]:
    """Plugin and name of a file, by its path in the folder of the page."""
    top, _, rest = path.partition("/")
    if not rest:
        return (OF_FILE[top], top) if top in OF_FILE else (REST, path)
    if top in KEPT_WHOLE:
        return KEPT_WHOLE[top], path
    if top in OF_FOLDER:
        return OF_FOLDER[top], rest
    is_host = any(letter in top for letter in ".:+") or top == "localhost"
    return ("wget", path) if is_host else (REST, path)


def best_results(results: tuple[OldResult, ...]) -> dict[str, OldResult]:
    """Of each plugin the last run that succeeded, else the last."""
    best: dict[str, OldResult] = {}
    for one in results:
        plugin = OF_EXTRACTOR.get(one.extractor)
        known = best.get(plugin or "")
        if plugin and (known is None or one.status is Status.SUCCEEDED or known.status is not Status.SUCCEEDED):
            best[plugin] = one
    return best


def _output(plugin: str, result: OldResult, files: tuple[ImportedFile, ...]) -> ImportedOutput:
    status, summary = result.status, result.output
    if status is Status.SUCCEEDED and not files and plugin not in SAYS_ITSELF:
        status, summary = Status.FAILED, "It succeeded, but its files are not there any more."
    elif status is Status.SUCCEEDED and plugin not in SAYS_ITSELF:
        summary = _main(plugin, summary, files)
    return ImportedOutput(plugin, status, files, summary, result.started_at, result.ended_at)


def _main(plugin: str, said: str, files: tuple[ImportedFile, ...]) -> str:
    """The file to look at first."""
    names = {file.name for file in files}
    wanted = (said, said.partition("/")[2], MAIN.get(plugin, ""))
    return next((name for name in wanted if name in names), min(names, default=""))


def headers_of(files: PageFolder) -> tuple[int, str]:
    """HTTP status and media type that the page was answered with, as far as headers.json says."""
    for source in (file.source for file in files.files.get("headers", ()) if file.name == "headers.json"):
        try:
            said = json.loads(read_regular(source, MOST_HEADERS))
        except (OSError, ValueError, RecursionError):
            continue
        if isinstance(said, dict):
            lower = {str(key).lower(): value for key, value in said.items()}
            return _status(lower), str(lower.get("content-type") or "").partition(";")[0].strip().lower()
    return 0, ""


def _status(headers: dict[str, JSON]) -> int:
    text = str(headers.get("status-code") or "")
    return int(text) if text.isascii() and text.isdigit() and len(text) == 3 else 0


def is_plain_folder(root: Path, below: str) -> bool:
    """Whether ``below`` names a folder in ``root`` that no link leads to."""
    path = root
    for part in below.split("/"):
        if part in {"", ".", ".."} or "\0" in part:
            return False
        path /= part
        if path.is_symlink():
            return False
    return os.path.isdir(path)  # noqa: PTH112 - False, too, for a name that is too long
