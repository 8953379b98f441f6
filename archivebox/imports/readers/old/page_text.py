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
        """The text of one page, in ``folder``, or that it took too long; nothing where it has one, or no HTML."""
        there = {(plugin, file.name): file.source for plugin, each in files.files.items() for file in each}
        if not TEXTS.isdisjoint(there):
            return ()
        failed: tuple[ImportedOutput, ...] = ()
        for source in (there[name] for name in SAVED if name in there):
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
