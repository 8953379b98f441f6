"""The moments of opening a page in the browser, as they can be seen from outside while it happens."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.site.server import Site

TAB = "on_Snapshot__20_chrome_tab.daemon.bg.py"
RECORDER = "on_Snapshot__24_responses.daemon.bg.py"
LISTENERS = (RECORDER, "on_Snapshot__15_modalcloser.bg.py")
NAVIGATE = "on_Snapshot__30_navigate.py"
SAVERS = ("on_Snapshot__50_singlefile.py", "on_Snapshot__51_screenshot.py", "on_Snapshot__52_pdf.py")


@dataclass
class Page:
    """One Snapshot of the page that numbers its loads; what was before ``start_anew`` is not looked at any more."""

    number: int
    snapshot_id: str
    folder: Path
    site: Site
    _since: float = 0.0
    _served_before: int = 0

    def start_anew(self) -> None:
        """Take the page for one that has not been opened: all that worked on it was killed."""
        self._since, self._served_before = time.time(), len(self.site.served)

    @property
    def url(self) -> str:
        return self.site.url_for(f"/loads?page={self.number}")

    def pid(self, hook: str) -> int | None:
        """The process of a hook's newest run of this page; None before it is on disk."""
        text = (self._newest(hook, "pid") or "").strip()
        return int(text) if text.isdigit() else None

    def has_begun(self, hook: str) -> bool:
        """Whether a run of the hook was started."""
        return self._newest(hook, "stdout.log") is not None

    def is_ready(self, hook: str) -> bool:
        """Whether the newest run of the hook has printed something: its ready line comes first."""
        return bool(self._newest(hook, "stdout.log"))

    def served(self) -> list[str]:
        """URLs of what the site has served to loads of this page, in order."""
        mark = f"page={self.number}&load="
        return [one.url for one in self.site.served[self._served_before :] if mark in one.url]

    def _newest(self, hook: str, kind: str) -> str | None:
        """Read the newest run's file of a kind (keys of Process rows rise with time); None where there is none."""
        found = sorted((self.folder / ".hooks").glob(f"{hook}.*.{kind}"))
        try:
            if found and found[-1].stat().st_mtime > self._since:
                return found[-1].read_text()
        except FileNotFoundError:  # the page is sealed, and all of these are one file now
            pass
        return None


MOMENTS: dict[str, Callable[[Page], bool]] = {
    "tab is being made": lambda page: page.has_begun(TAB),
    "tab is ready": lambda page: page.is_ready(TAB),
    "listeners are attached": lambda page: all(map(page.is_ready, LISTENERS)),
    "navigation has begun": lambda page: page.has_begun(NAVIGATE),
    "first body has come": lambda page: bool(page.served()),
    "outputs are being saved": lambda page: any(map(page.has_begun, SAVERS)),
}
"""In the order in which they come; a page that is past a moment has reached it, too."""
