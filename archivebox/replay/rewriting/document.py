"""Owns the rewriting of one document or style sheet: here, or in a process of its own where it is large."""

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path

from archivebox.lib.htmltrial import TangledError
from archivebox.lib.limited import LimitError, run_limited
from archivebox.replay.addresses import Place
from archivebox.replay.index import indices
from archivebox.replay.rewriting.css import rewrite_css
from archivebox.replay.rewriting.html import lead_links, rewrite_html
from archivebox.replay.rewriting.links import Links
from archivebox.replay.rewriting.text import decode

LARGE = 512 * 1024
"""Bytes of a document beyond which a process of its own, which starts in 0.2 s, does it."""
MODULE = "archivebox.replay.rewriting.document_main"


class Kind(StrEnum):
    """What is rewritten: a recorded document or style sheet, or a document that a plugin made."""

    HTML = "html"
    CSS = "css"
    COPY = "copy"


@dataclass(frozen=True, slots=True)
class Document:
    """What its rewriting needs to know. ``folder``: its snapshot's; ``url``: its own, empty for a copy."""

    kind: Kind
    mimetype: str
    folder: str
    url: str
    place: Place
    scripts: bool

    def rewrite(self, data: bytes) -> bytes:
        """Its bytes in UTF-8, with URLs that lead into the archive. TangledError."""
        text, links = decode(data, self.mimetype), Links(self.place, self.url, self.url, self._is_kept(), self.scripts)
        return _WAYS[self.kind](text, links).encode("utf-8", "replace")

    def _is_kept(self) -> Callable[[str], bool]:
        if self.kind is Kind.COPY:
            return lambda _url: False
        index = indices.of(Path(self.folder))
        return lambda url: index.find(url) is not None

    def rewrite_apart(self, data: bytes) -> bytes:
        """The same, in a process of its own. TangledError also where that took too much."""
        try:
            answer = run_limited(MODULE, json.dumps(asdict(self)).encode() + b"\n" + data)
        except LimitError:
            raise TangledError("rewriting it took too much memory, or too long") from None
        return answer

    @classmethod
    def from_json(cls, line: bytes) -> "Document":
        said = json.loads(line)
        return cls(**{**said, "kind": Kind(said["kind"]), "place": Place(**said["place"])})


_WAYS: dict[Kind, Callable[[str, Links], str]] = {
    Kind.HTML: rewrite_html,
    Kind.CSS: rewrite_css,
    Kind.COPY: lead_links,
}
