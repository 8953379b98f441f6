"""Owns the text of pages that were kept without one, as up to 0.6: it is read out of the HTML that was saved."""

from pathlib import Path

from archivebox.contract.outcomes import Status
from archivebox.imports.document import DOCUMENT_MOST, DocumentReader
from archivebox.imports.page import ImportedOutput
from archivebox.imports.readers.old.page_folder import PageFolder
from archivebox.imports.recording import text_outputs
from archivebox.imports.scratch import Scratch
from archivebox.lib.files import read_regular

TEXTS = frozenset(
    {("htmltotext", "htmltotext.txt"), ("readability", "content.txt"), ("mercury", "content.txt")},
)
"""Files that search reads."""
SAVED = (
    ("singlefile", "singlefile.html"), ("dom", "output.html"), ("readability", "content.html"),
    ("mercury", "content.html"),
)  # fmt: skip
"""Files that have a text, the most whole first."""


class PageTexts:
    """Writes what the plugin htmltotext would have left. ``scratch``: where, page by page."""

    def __init__(self) -> None:
        self.scratch = Scratch()
        self._documents = DocumentReader()

    def read(self, files: PageFolder, url: str, folder: Path) -> tuple[ImportedOutput, ...]:
        """The text of one page, in ``folder``; nothing where it has one, or no HTML that can be read."""
        there = {(plugin, file.name): file.source for plugin, each in files.files.items() for file in each}
        if not TEXTS.isdisjoint(there):
            return ()
        for source in (there[name] for name in SAVED if name in there):
            try:
                html = read_regular(Path(source), DOCUMENT_MOST)
            except OSError:
                continue
            content = self._documents.read(html, url, "text/html", "text/html; charset=utf-8")
            made = text_outputs(folder, content, "text/html")
            if texts := tuple(one for one in made if one.plugin == "htmltotext" and one.status is Status.SUCCEEDED):
                return texts
        return ()
