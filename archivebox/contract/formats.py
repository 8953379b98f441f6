"""Owns in which formats a page was kept: what can be looked at, in the order that is best to look at it."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol

from archivebox.contract.presentation import UNDECLARED, OutputPattern, Role

ASIDE_RANK = 70
"""Outputs of this rank and above are folded away: for those who ask."""
FILES_SHOWN = 200
"""Files of one format that are shown."""


class FormatKind(StrEnum):
    """How a format is shown."""

    REPLAY = "replay"
    PAGE = "page"
    PICTURE = "picture"
    PDF = "pdf"
    MEDIA = "media"
    READER = "reader"
    TEXT = "text"
    HEADERS = "headers"
    RESPONSES = "responses"
    EVIDENCE = "evidence"
    FILES = "files"
    DRAWN = "drawn"
    OTHER = "other"


class ResultOutput(Protocol):
    """A result, as far as its formats go."""

    @property
    def plugin(self) -> str: ...
    @property
    def status(self) -> str: ...
    @property
    def output_str(self) -> str: ...
    @property
    def output_files(self) -> Mapping[str, Mapping[str, Any]]: ...


@dataclass(frozen=True, slots=True)
class File:
    """One file that a plugin left; ``name`` is relative to the plugin's folder."""

    name: str
    size: int
    mimetype: str


@dataclass(frozen=True, slots=True)
class Format:
    """One thing to look at. ``key`` names it in addresses; ``files`` are its files, the main one first.

    Without files it is one that was to be had: ``status`` says why it is not there.
    """

    key: str
    kind: FormatKind
    label: str
    plugin: str
    status: str
    files: tuple[File, ...] = ()
    is_aside: bool = False

    @property
    def size(self) -> int:
        return sum(file.size for file in self.files)

    @property
    def file(self) -> File | None:
        """The main one."""
        return self.files[0] if self.files else None


_ORDER: dict[Role, FormatKind | None] = {
    "preview": None,
    "reader": FormatKind.READER,
    "text": FormatKind.TEXT,
    "headers": FormatKind.HEADERS,
    "responses": FormatKind.RESPONSES,
    "evidence": FormatKind.EVIDENCE,
}
"""Roles that are formats, the best first; None: the type of the file says how it is shown."""
_ASKED_FOR_STATUSES = frozenset({"failed", "backoff", "queued", "started"})


def formats_of(results: Iterable[ResultOutput], outputs_of: Callable[[str], tuple[OutputPattern, ...]]) -> list[Format]:
    """The formats of one page, best first; those that are for few come last, and so marked."""
    by_plugin: dict[str, list[ResultOutput]] = {}
    for result in results:
        by_plugin.setdefault(result.plugin, []).append(result)
    found = [
        one for plugin, ones in by_plugin.items() for one in _formats(plugin, ones, outputs_of(plugin) or UNDECLARED)
    ]
    return [form for _, form in sorted(found, key=lambda one: _place(*one))]


def _place(output: OutputPattern, form: Format) -> tuple[bool, int, int, str]:
    return form.is_aside, *_by_role(output), form.plugin


def _formats(
    plugin: str, results: list[ResultOutput], outputs: tuple[OutputPattern, ...]
) -> Iterator[tuple[OutputPattern, Format]]:
    kept = [result for result in results if result.status == "succeeded"]
    shown: set[str] = set()
    has_words = False
    for output in sorted((one for one in outputs if one.role in _ORDER), key=_by_role):
        if output.role in shown or (output.role == "text" and has_words):
            continue  # a second pattern for the same thing; a text that is shown already
        files = _files(kept, output)
        form = _format(plugin, output, files, _status(results))
        if form is None or (shown and not files):
            continue  # nothing was to be had, or that it is missing is said already
        shown.add(output.role)
        has_words = has_words or form.kind in {FormatKind.READER, FormatKind.TEXT}
        yield output, form


def _by_role(output: OutputPattern) -> tuple[int, int]:
    return list(_ORDER).index(output.role), output.rank


def _format(plugin: str, output: OutputPattern, files: tuple[File, ...], status: str) -> Format | None:
    if not files and (status not in _ASKED_FOR_STATUSES or output is UNDECLARED[0]):
        return None
    kind = _ORDER[output.role] or (kind_of(files[0].mimetype) if files else FormatKind.OTHER)
    key = plugin if output.role == "preview" else f"{plugin}-{output.role}"
    return Format(key, kind, output.label or plugin, plugin, status, files, output.rank >= ASIDE_RANK)


def _status(results: list[ResultOutput]) -> str:
    """Of several hooks of one plugin, what is most worth knowing."""
    found = {result.status for result in results}
    return next((one for one in ("succeeded", "started", "queued", "backoff", "failed") if one in found), "")


def _files(kept: list[ResultOutput], output: OutputPattern) -> tuple[File, ...]:
    """What matches, the file that a hook named as its result first."""
    named = {result.output_str for result in kept}
    found = {name: about for result in kept for name, about in result.output_files.items() if output.matches(name)}
    ordered = sorted(found, key=lambda name: (name not in named, name))[:FILES_SHOWN]
    files = [File(name, int(found[name].get("size") or 0), str(found[name].get("mimetype") or "")) for name in ordered]
    kinds = {kind_of(file.mimetype) for file in files[:1]}
    return tuple(file for file in files if kind_of(file.mimetype) in kinds)


def kind_of(mimetype: str) -> FormatKind:
    """How a file of this type is shown."""
    if mimetype in {"text/html", "application/xhtml+xml"}:
        return FormatKind.PAGE
    if mimetype == "application/pdf":
        return FormatKind.PDF
    main = mimetype.partition("/")[0]
    if main == "image":
        return FormatKind.PICTURE
    if main in {"video", "audio"}:
        return FormatKind.MEDIA
    is_text = main == "text" or mimetype.endswith(("json", "jsonl", "json-seq", "xml", "yaml", "javascript"))
    return FormatKind.TEXT if is_text else FormatKind.OTHER


def best_of(
    results: Iterable[ResultOutput], outputs_of: Callable[[str], tuple[OutputPattern, ...]], role: Role
) -> Format | None:
    """The best output of one role, as its plugins rank them: the text that stands for the page, or its picture."""
    kept = [result for result in results if result.status == "succeeded" and result.output_files]
    found = [
        (
            output.rank,
            result.plugin,
            Format(result.plugin, kind_of(files[0].mimetype), output.label, result.plugin, "", files),
        )
        for result in kept
        for output in outputs_of(result.plugin)
        if output.role == role and (files := _files([result], output))
    ]
    return min(found, key=lambda one: one[:2])[2] if found else None
