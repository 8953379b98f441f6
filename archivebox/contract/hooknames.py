"""Owns what a hook's file name says: its event, step, order and whether it runs in the background."""

import logging
import re
from dataclasses import dataclass
from functools import lru_cache

EVENTS = ("Crawl", "Snapshot", "Binary", "CrawlEnd", "SnapshotEnd")
"""Events that hooks may answer to."""

EVENT_ALIASES = {"CrawlSetup": "Crawl"}
"""Newer names that mean one of ``EVENTS``."""

LAST_STEP = 9
"""Steps are 0 to 9; a hook without a number runs in the last."""

_NAME = re.compile(
    r"on_(?P<event>[A-Z][A-Za-z]*)__(?:(?P<number>\d\d)_)?(?!\d\d_\.)(?P<what>[A-Za-z0-9_.-]+?)"
    r"(?P<background>(?:\.(?:daemon|finite))?\.bg)?\.(?P<extension>py|js|sh)",
    re.ASCII,
)
_NUMBER = re.compile(r"__(\d{2})_", re.ASCII)

logger = logging.getLogger(__name__)


@dataclass(frozen=True, order=True, slots=True)
class HookName:
    """One hook file name, taken apart; sorts by file name, which is the order in which hooks start."""

    file_name: str
    event: str
    number: int | None
    step: int
    what: str
    background: bool
    daemon: bool
    finite: bool
    extension: str

    def __str__(self) -> str:
        return self.file_name


def parse_hook_name(file_name: str) -> HookName | None:
    """``on_Snapshot__20_chrome_tab.daemon.bg.js`` taken apart; None if it is no hook's name."""
    match = _NAME.fullmatch(file_name)
    if match is None:
        return None
    number = _NUMBER.search(file_name)
    event = match["event"]
    return HookName(
        file_name=file_name,
        event=EVENT_ALIASES.get(event, event),
        number=int(number[1]) if number else None,
        step=int(number[1]) // 10 if number else LAST_STEP,
        what=match["what"],
        background=is_background_hook(file_name),
        daemon=".daemon.bg." in file_name,
        finite=".finite.bg." in file_name,
        extension=match["extension"],
    )


def extract_step(hook_name: str) -> int:
    """The step, 0 to 9, that a hook's name puts it in; 9 and one warning when it has no number."""
    match = _NUMBER.search(hook_name)
    if match:
        return int(match[1]) // 10
    _warn_unnumbered(hook_name)
    return LAST_STEP


def is_background_hook(hook_name: str) -> bool:
    """Whether the step goes on without waiting for this hook."""
    return ".bg." in hook_name


@lru_cache(maxsize=4096)
def _warn_unnumbered(hook_name: str) -> None:
    """Once per name and process: a step is asked for thousands of times. Binary hooks need no number."""
    if not hook_name.startswith("on_Binary__"):
        logger.warning("%s has no number (on_<Model>__<NN>_<what>), so it runs in step 9", hook_name)
