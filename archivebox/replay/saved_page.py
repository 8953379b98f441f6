"""Owns a page as it was saved after its scripts, shown as its replay is: what a replay is compared with."""

import hashlib
import re
from pathlib import Path
from tempfile import TemporaryFile

from archivebox.replay.addresses import ReplayContext
from archivebox.replay.files import NotThereError
from archivebox.replay.recorded import Reply, large, made
from archivebox.replay.rewriting.document import LARGEST_TEXT, Document, DocumentKind
from archivebox.replay.rewritten import DocumentSource, is_large

SAVED = "dom/output.html"
"""The document after its scripts, in UTF-8, which the plugin ``dom`` keeps."""
_WITHOUT_SCRIPTS = re.compile(rb"<noscript\b[^>]*+>.*?</noscript\s*+>", re.IGNORECASE | re.DOTALL)
"""What browsers show where no script runs: the page, with its scripts, did not."""


def has_saved_page(folder: Path) -> bool:
    """Whether the snapshot in ``folder`` has it, and it is small enough to be shown."""
    path = folder / SAVED
    return path.is_file() and 0 < path.stat().st_size <= LARGEST_TEXT


def saved_page(folder: Path, url: str, place: ReplayContext) -> Reply:
    """The document, whose URLs lead into the archive. NotThereError. Blocks."""
    data = _WITHOUT_SCRIPTS.sub(b"", (folder / SAVED).read_bytes())
    document = Document(DocumentKind.HTML, "text/html; charset=utf-8", str(folder), url, place, False)
    with TemporaryFile() as file:
        file.write(data)
        file.flush()
        source = DocumentSource(hashlib.sha256(data).hexdigest(), len(data), descriptor=file.fileno())
        is_apart = is_large(document.kind, len(data))
        reply = large(document, source, apart=True) if is_apart else made(document.make(data))
    if not reply.is_clean:  # its source
        reply.close()
        raise NotThereError
    return reply
