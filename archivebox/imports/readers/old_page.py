"""One page of an earlier ArchiveBox: what was recorded of it, and which file in its folder is whose."""

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from itertools import islice
from pathlib import Path
from uuid import UUID

from archivebox.contract.outcomes import Status
from archivebox.imports.answers import text_outputs
from archivebox.imports.document import DOCUMENT_MOST, DocumentReader
from archivebox.imports.import_folder import Scratch
from archivebox.imports.page import ImportedFile, ImportedOutput, NotImported
from archivebox.lib.files import read_regular, walk_entries
from archivebox.lib.jsonl import JSON

_SECONDS = re.compile(r"(\d{1,12})(?:\.(\d{1,32}))?")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def moment(value: object) -> datetime | None:
    """A date of a database or an index.json, in UTC where it names no zone; None for what is none."""
    if not isinstance(value, str):
        return None
    try:
        found = datetime.fromisoformat(value.strip())
    except ValueError:
        return of_timestamp(value)
    return (found if found.tzinfo else found.replace(tzinfo=UTC)).astimezone(UTC)


def of_timestamp(text: str) -> datetime | None:
    """Seconds since 1970 with their fraction, as they name the folder of a page; no float, which would lose digits."""
    found = _SECONDS.fullmatch(text.strip())
    if found is None:
        return None
    try:
        return _EPOCH + timedelta(seconds=int(found[1]), microseconds=int((found[2] or "0").ljust(6, "0")[:6]))
    except OverflowError:
        return None


def closest_moment(date: object, timestamp: str) -> datetime | None:
    """When a page was added: 0.9 has cut the fractions off the dates of earlier versions, and left the timestamps."""
    written, stamped = moment(date), of_timestamp(timestamp)
    if written is None or stamped is None:
        return written or stamped
    return stamped if abs(written - stamped) < timedelta(seconds=1) else written


# --- records ----------------------------------------------------------------------------------------------------------
_CAPTURED_AGAIN = re.compile(r"#\d{4}-\d\d-\d\dT\d\d:\d\d\S*$")
"""What "Re-Snapshot" of 0.5 to 0.7 put behind a URL, which could be there only once."""
_STATUS = {
    "succeeded": Status.SUCCEEDED, "failed": Status.FAILED, "skipped": Status.SKIPPED, "noresults": Status.NORESULTS,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class OldResult:
    """What one extractor said of one page."""

    extractor: str
    status: Status
    output: str
    started_at: datetime | None = None
    ended_at: datetime | None = None
    ran_in: str = ""
    """The name of its folder: up to 0.8 the timestamp of the capture, which may be a later one than its page's."""

    @classmethod
    def of(cls, extractor: object, row: Mapping[str, object]) -> "OldResult | None":
        """None for what has not ended."""
        status = _STATUS.get(str(row.get("status")))
        if status is None or not isinstance(extractor, str):
            return None
        said = row.get("output_str") or row.get("output")
        output = said if isinstance(said, str) else ""
        ran_in = str(row.get("pwd") or "").rpartition("/")[2]
        return cls(extractor, status, output, moment(row.get("start_ts")), moment(row.get("end_ts")), ran_in)


@dataclass(frozen=True, slots=True)
class OldPage:
    """One page as an earlier ArchiveBox had it."""

    timestamp: str
    """Names it, and its folder up to 0.8."""
    url: str
    title: str = ""
    tags: tuple[str, ...] = ()
    added_at: datetime | None = None
    bookmarked_at: datetime | None = None
    results: tuple[OldResult, ...] = field(default=())
    former_id: UUID | None = None
    """The key of its row, which names its folder in 0.9."""
    depth: int = 0
    note: str = ""

    @property
    def captured_at(self) -> datetime | None:
        """When the first extractor that succeeded began; else when the page was added."""
        starts = [one.started_at for one in self.results if one.status is Status.SUCCEEDED and one.started_at]
        return min(starts, default=self.added_at or self.bookmarked_at)

    @property
    def own_url(self) -> str:
        """Without what made it differ from that of an earlier capture."""
        return _CAPTURED_AGAIN.sub("", self.url)


def page_of_index(record: Mapping[str, JSON]) -> OldPage | None:
    """The page that an index.json tells of; None where it names no URL or no timestamp."""
    url, timestamp = record.get("url"), record.get("timestamp")
    if not isinstance(url, str) or not isinstance(timestamp, str) or of_timestamp(timestamp) is None:
        return None
    title, tags, history = record.get("title"), record.get("tags"), record.get("history")
    return OldPage(
        timestamp=timestamp,
        url=url,
        title=title if isinstance(title, str) else "",
        tags=split_tags(tags),
        added_at=moment(record.get("added")),
        bookmarked_at=of_timestamp(timestamp),
        results=results_of_history(history),
    )


def results_of_history(history: JSON) -> tuple[OldResult, ...]:
    """Extractor → what became of each of its runs."""
    if not isinstance(history, dict):
        return ()
    runs = ((name, run) for name, each in history.items() if isinstance(each, list) for run in each)
    found = (OldResult.of(name, run) for name, run in runs if isinstance(run, dict))
    return tuple(one for one in found if one is not None)


def split_tags(tags: object) -> tuple[str, ...]:
    """Tags of a text with commas, or of a list."""
    names: Iterable[object] = tags.split(",") if isinstance(tags, str) else tags if isinstance(tags, list) else ()
    return tuple(name.strip() for name in names if isinstance(name, str) and name.strip())


# --- files ------------------------------------------------------------------------------------------------------------
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
OF_EXTRACTOR = OF_FOLDER | {"warc": "wget", "hashes": "old_hashes", "responses": "old_responses"}
"""What results are said to be of → plugin; what the last two kept has another form here. Any other keeps its name."""
_PLUGIN = re.compile(r"[a-z0-9][a-z0-9_]{0,63}")
KEPT_WHOLE = {"warc": "wget"}
"""Folders that stay one in the folder of the plugin."""
HTML = (".html", ".htm", ".xhtml")
MAIN = {"readability": "content.html", "mercury": "content.html"}
"""The file that an extractor did not name, as it named its folder."""
SAYS_ITSELF = frozenset({"title", "archive_org"})
"""Plugins whose result is a text."""
KEEPS_FILES = frozenset(OF_FOLDER.values()) - SAYS_ITSELF


@dataclass(slots=True)
class PageFolder:
    """The files of one page by plugin, and what of them cannot be taken."""

    files: dict[str, list[ImportedFile]] = field(default_factory=dict)
    left_out: list[NotImported] = field(default_factory=list)

    @classmethod
    def read(cls, folder: str, results: Iterable[OldResult]) -> "PageFolder":
        """Whatever lies below ``folder``; no link is followed. The page's own index comes last."""
        found, count, name = cls(), 0, folder.rpartition("/")[2]
        more = {one.extractor: plugin_of(one.extractor) for one in results} if folder else {}
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
            top, _, rest = path.partition("/")
            if plugin == REST and rest and more.get(top):
                plugin, below = more[top], rest
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
        plugin = plugin_of(one.extractor)
        known = best.get(plugin)
        if plugin and (known is None or one.status is Status.SUCCEEDED or known.status is not Status.SUCCEEDED):
            best[plugin] = one
    return best


def plugin_of(extractor: str) -> str:
    """The plugin whose result it becomes; empty where it cannot be the name of one."""
    name = OF_EXTRACTOR.get(extractor, extractor)
    return name if _PLUGIN.fullmatch(name) else ""


def _output(plugin: str, result: OldResult, files: tuple[ImportedFile, ...]) -> ImportedOutput:
    """Up to 0.8 an extractor that found nothing succeeded, and named the folder that it had left empty."""
    status, summary = result.status, result.output
    if status is Status.SUCCEEDED and plugin in KEEPS_FILES:
        if files:
            summary = _main(plugin, summary, files)
        elif summary in OF_FOLDER:
            status, summary = Status.NORESULTS, "It left no files."
        else:
            status, summary = Status.FAILED, "It succeeded, but its files are not there any more."
    return ImportedOutput(plugin, status, files, summary, result.started_at, result.ended_at)


def _main(plugin: str, said: str, files: tuple[ImportedFile, ...]) -> str:
    """The file to look at first."""
    names = {file.name for file in files}
    wanted = (said, said.partition("/")[2], MAIN.get(plugin, ""))
    others = sorted(names, key=lambda name: (not name.endswith(HTML), name))
    return next((name for name in (*wanted, *others) if name in names), "")


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


# --- texts ------------------------------------------------------------------------------------------------------------
TEXTS = frozenset(
    {("htmltotext", "htmltotext.txt"), ("readability", "content.txt"), ("mercury", "content.txt")},
)
"""Files that search reads."""
SAVED = (
    ("singlefile", "singlefile.html"), ("dom", "output.html"), ("readability", "content.html"),
    ("mercury", "content.html"),
)  # fmt: skip
"""Files that have a text, the most whole first; behind them comes what wget named."""


class PageTexts:
    """Writes what the plugin htmltotext would have left. ``scratch``: where, page by page."""

    def __init__(self) -> None:
        self.scratch = Scratch()
        self._documents = DocumentReader()

    def read(self, outputs: Iterable[ImportedOutput], url: str, folder: Path) -> tuple[ImportedOutput, ...]:
        """The text of one page, in ``folder``, or that it took too long; nothing where it has one, or no HTML."""
        there = {(one.plugin, file.name): file.source for one in outputs for file in one.files}
        if not TEXTS.isdisjoint(there):
            return ()
        failed: tuple[ImportedOutput, ...] = ()
        wget = [("wget", one.summary) for one in outputs if one.plugin == "wget" and one.summary.endswith(HTML)]
        for source in (there[name] for name in (*SAVED, *wget) if name in there):
            try:
                html = read_regular(Path(source), DOCUMENT_MOST)
            except OSError:
                continue
            content = self._documents.read(html, url, "text/html", "text/html; charset=utf-8")
            texts = tuple(one for one in text_outputs(folder, content, "text/html") if one.plugin == "htmltotext")
            if any(one.status is Status.SUCCEEDED for one in texts):
                return texts
            failed = failed or tuple(one for one in texts if one.status is Status.FAILED)
        return failed
