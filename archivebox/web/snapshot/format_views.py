"""Owns what the chosen format of a snapshot shows: a frame, a picture, a text, a table; made when it is looked at."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from django.urls import get_script_prefix
from django.utils.safestring import mark_safe

from archivebox.contract.formats import File, Format, FormatKind, kind_of
from archivebox.core.archiveresult import ArchiveResult
from archivebox.core.evidence import verification
from archivebox.core.evidence.signature import read_statement
from archivebox.core.evidence.signer import STATEMENT
from archivebox.core.evidence.timestamp import STAMP, stamped_at
from archivebox.core.snapshot import Snapshot
from archivebox.lib.html_sanitizer import article
from archivebox.lib.jsonl import JSON
from archivebox.replay.moments import moment_of
from archivebox.replay.rewriting.document import LARGEST_TEXT
from archivebox.web.snapshot.file_excerpts import address_of, read_part

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


ROWS = 500
"""Lines of a list that are shown."""


@dataclass(frozen=True, slots=True)
class Stage:
    """What the page shows: a template of ``web/stages/``, and what it needs."""

    format: Format
    template: str
    values: dict[str, Any] = field(default_factory=dict)


def stage_of(snapshot: Snapshot, chosen: Format, base: str) -> Stage:
    """What ``chosen`` shows; ``base`` is the address of the snapshot's files."""
    if not chosen.files:
        return Stage(chosen, "web/stages/missing.html")
    main = chosen.files[0]
    make = _MAKERS.get(chosen.kind)
    values = make(snapshot, chosen, main, base) if make else {}
    addresses = [(file, base + address_of(chosen.plugin, file.name)) for file in chosen.files]
    return Stage(chosen, f"web/stages/{chosen.kind}.html", {"files": addresses, "address": addresses[0][1], **values})


def _reader(snapshot: Snapshot, chosen: Format, main: File, base: str) -> dict[str, Any]:
    return article_of(snapshot, chosen, main, base, f"{get_script_prefix()}web/{moment_of(snapshot)}/")


def article_of(snapshot: Snapshot, chosen: Format, main: File, base: str, pages: str) -> dict[str, Any]:
    """What a reader shows; ``pages``: what the addresses of its links begin with."""
    part = read_part(snapshot, chosen.plugin, main.name)
    folder = (base + address_of(chosen.plugin, main.name)).rpartition("/")[0] + "/"
    return {"article": mark_safe(article(part.text, folder, pages)), "is_cut": part.is_cut}  # noqa: S308 - cleaned


def _page(_snapshot: Snapshot, _chosen: Format, main: File, _base: str) -> dict[str, Any]:
    return {"is_cut": main.size > LARGEST_TEXT, "shown": LARGEST_TEXT}


def _text(snapshot: Snapshot, chosen: Format, main: File, _base: str) -> dict[str, Any]:
    part = read_part(snapshot, chosen.plugin, main.name)
    return {"text": part.text, "is_cut": part.is_cut}


def _headers(snapshot: Snapshot, chosen: Format, main: File, _base: str) -> dict[str, Any]:
    record = read_part(snapshot, chosen.plugin, main.name).json
    record = record if isinstance(record, dict) else {}
    redirects = record.get("redirects")
    answers = [*(redirects if isinstance(redirects, list) else []), record.get("response")]
    return {"answers": [_message(one) for one in answers if one], "request": _message(record.get("request"))}


def _message(given: JSON) -> dict[str, Any]:
    """A request or an answer: what it is, and its headers by name."""
    message = given if isinstance(given, dict) else {}
    headers = message.get("headers")
    pairs = sorted(headers.items()) if isinstance(headers, dict) else []
    return {**{name: message.get(name) for name in ("url", "method", "status", "status_text")}, "headers": pairs}


def _responses(snapshot: Snapshot, chosen: Format, main: File, _base: str) -> dict[str, Any]:
    part = read_part(snapshot, chosen.plugin, main.name)
    lines = list(part.lines())
    kinds = Counter(str(line.get("type") or "Other") for line in lines)
    return {
        "responses": [{name: line.get(name, "") for name in _OF_RESPONSES} for line in lines[:ROWS]],
        "count": len(lines),
        "kinds": kinds.most_common(),
        "bytes": sum(_number(line.get("size")) for line in lines),
        "errors": sum(bool(line.get("error")) for line in lines),
        "is_cut": part.is_cut or len(lines) > ROWS,
    }


_OF_RESPONSES = ("url", "method", "status", "mime", "type", "size", "error")


def _number(value: JSON) -> int:
    return value if isinstance(value, int) else 0


def _evidence(snapshot: Snapshot, chosen: Format, main: File, _base: str) -> dict[str, Any]:
    manifest = read_part(snapshot, chosen.plugin, main.name, MANIFEST).json
    files = verification.files_of(manifest)
    root = manifest.get("root_hash") if isinstance(manifest, dict) else ""
    size = sum(_number(entry.get("size")) for entry in files.values())
    entries = [
        (name, str(entry.get("sha256") or ""), _number(entry.get("size")), entry.get("programs") or [])
        for name, entry in list(files.items())[:ROWS]
    ]
    signed = read_statement(read_part(snapshot, chosen.plugin, Path(STATEMENT).name).data)
    stamped = stamped_at(read_part(snapshot, Path(STAMP).parent.name, Path(STAMP).name).data)
    return {
        "root_hash": root,
        "entries": entries,
        "count": len(files),
        "bytes": size,
        "signed": signed,
        "stamped": stamped,
    }


MANIFEST = 32 * 1024 * 1024
"""Bytes of a manifest that is shown: that of 100,000 files."""

_MAKERS: Mapping[FormatKind, Callable[[Snapshot, Format, File, str], dict[str, Any]]] = {
    FormatKind.PAGE: _page,
    FormatKind.READER: _reader,
    FormatKind.TEXT: _text,
    FormatKind.HEADERS: _headers,
    FormatKind.RESPONSES: _responses,
    FormatKind.EVIDENCE: _evidence,
}


def files_stage(snapshot: Snapshot, results: list[ArchiveResult], chosen: Format, path: str, base: str) -> Stage:
    """The tree of all files; of the file at ``path`` what can be shown of it."""
    top, is_cut = tree_of(results)
    plugin, _, name = path.partition("/")
    about = next((one.output_files[name] for one in results if one.plugin == plugin and name in one.output_files), None)
    shown = None
    if about is not None:
        file = File(name, int(about.get("size") or 0), str(about.get("mimetype") or ""))
        one = Format(chosen.key, kind_of(file.mimetype), name, plugin, "succeeded", (file,))
        shown = stage_of(snapshot, one, base)
    values = {"top": top, "is_cut": is_cut, "shown": shown, "path": path if shown else "", "address": base}
    return Stage(chosen, "web/stages/files.html", values)
