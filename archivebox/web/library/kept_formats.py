"""Owns the small signs by which a list tells what was kept of a page."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from archivebox.contract.presentation import Role
from archivebox.core.progress.result_summary import ResultLine
from archivebox.hooks import outputs_of


@dataclass(frozen=True, slots=True)
class Mark:
    """One kind of thing that can be kept: a file of this role, whose type begins so."""

    icon: str
    word: str
    role: Role
    mimetype: str = ""


MARKS = (
    Mark("globe", "Page", "preview", "text/html"),
    Mark("image", "Picture", "picture"),
    Mark("file-text", "PDF", "preview", "application/pdf"),
    Mark("book-open", "Article", "reader"),
    Mark("text", "Text", "text"),
    Mark("video", "Video", "preview", "video/"),
    Mark("headphones", "Sound", "preview", "audio/"),
    Mark("archive", "Recording of the network", "responses"),
    Mark("folder", "Files", "files"),
)
"""In the order they are shown."""


def marks_of(results: Iterable[ResultLine]) -> list[Mark]:
    """What these results come to, each kind once."""
    found = {mark for result in results if result.output_files for mark in _marks(result)}
    return [mark for mark in MARKS if mark in found]


def _marks(result: ResultLine) -> Iterator[Mark]:
    for output in outputs_of(result.plugin):
        name = next(filter(output.matches, result.output_files), None)
        mimetype = result.output_files[name].get("mimetype", "") if name is not None else ""
        if name is not None:
            yield from (mark for mark in MARKS if mark.role == output.role and mimetype.startswith(mark.mimetype))
