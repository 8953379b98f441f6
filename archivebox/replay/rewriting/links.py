"""Owns what the URLs in one archived document are written as."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import ada_url

from archivebox.replay.addresses import ReplayContext
from archivebox.replay.scripts.place import ScriptPlace

_WEB = ("https://", "http://")
_NOWHERE = tuple(f"{scheme}here.invalid/" for scheme in _WEB)
"""What a link that stays where the document is, wherever that may be, is joined to."""


@dataclass(frozen=True, slots=True)
class LinkRewriter:
    """How one document names others.

    ``base``: what its URLs are relative to. ``is_kept``: whether a URL is in this snapshot. ``scripts``: whether the
    document's scripts run; its links stay in its frame then, because a script could click them.
    """

    place: ReplayContext | ScriptPlace
    document: str
    base: str
    is_kept: Callable[[str], bool]
    scripts: bool = False
    before: str = ""
    """What stands before a document within this one (``srcdoc``)."""
    count_frames: Callable[[str], int] = lambda _url: 0
    """How many frames got answers of a URL that differ; 0 where they do not."""
    is_pdf: Callable[[str], bool] = lambda _url: False
    """Whether a URL in this snapshot leads to a PDF."""
    nonce: str = ""
    """That of what we put in, where the page's own policy decides which scripts and styles hold, which then stays."""

    opened: Mapping[str, str] = field(default_factory=dict)
    """Selector → styles, of what scripts had opened above the page: popovers and dialogs."""

    def with_base(self, href: str) -> "LinkRewriter":
        """The same for a document that names another base."""
        return replace(self, base=self.absolute(href) or self.base)

    @property
    def keeps_base(self) -> bool:
        """Whether ``<base>`` stays: a script's URLs are relative to it, while all in the document are absolute."""
        return isinstance(self.place, ScriptPlace)

    @property
    def keeps_policy(self) -> bool:
        """Whether the page's own policy for its scripts and styles stays, and the nonces that it names."""
        return bool(self.nonce) or self.keeps_base

    def leaves_frame(self, href: str) -> bool:
        """Whether a link leads into the app; while scripts run, links stay in the frame."""
        return not self.scripts and isinstance(self.place, ReplayContext) and href.startswith(self.place.app)

    def absolute(self, text: str) -> str:
        """The URL that ``text`` means here; empty where it is none of the web's, or leads to a part of this page."""
        text = text.strip(" \t\r\n\f")
        if not text or text.startswith("#"):
            return ""
        try:
            url: str = ada_url.join_url(self.base, text)
        except (ValueError, UnicodeError):
            return ""
        return url if url.startswith(_WEB) else ""

    def resource(self, text: str) -> str:
        """What is written for something that the page shows: a picture, a style sheet, a frame."""
        url = self.absolute(text)
        return self.place.address(url) if url else text

    def page(self, text: str) -> str:
        """What is written for a link that a person follows; ``text`` itself where it stays on the page."""
        url = self.absolute(text)
        if not url:
            return text
        page, mark, part = url.partition("#")
        if mark and page == self.document:
            return f"#{part}"
        return self._led(url)

    def is_ours(self, text: str) -> bool:
        """Whether this was written by us: what :meth:`resource` and :meth:`page` give."""
        return self.place.is_ours(text)

    def outward(self, text: str) -> str:
        """What is written for a link in a document that may be anywhere; ``text`` itself where it leads to no other
        host, or was written by us.
        """
        if self.is_ours(text):
            return text
        for here in _NOWHERE:  # https:name is a file of one of them, and another host to the other
            try:
                url: str = ada_url.join_url(here, text)
            except (ValueError, UnicodeError):
                continue
            if url.startswith(_WEB) and not url.startswith(_NOWHERE):
                return self._led(url)
        return text

    def _led(self, url: str) -> str:
        return self.place.address(url) if self.scripts else self.place.follow(url)
