"""What the page's player has fetched. Which pages yt-dlp is asked about stands in config.json: `contains`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from archivebox.plugins.base.responses import read_index, recording_folder

if TYPE_CHECKING:
    from pathlib import Path

_MANIFEST = re.compile(r"(application|audio)/(x-|vnd\.apple\.)?mpegurl|application/dash\+xml", re.IGNORECASE)


def manifest(snapshot_folder: Path) -> str:
    """The first list of streams or segments (HLS, DASH) that the page's player fetched, "" when there was none."""
    entries = read_index(recording_folder(str(snapshot_folder)))
    return next((entry["url"] for entry in entries if _MANIFEST.match(entry.get("mime", ""))), "")
