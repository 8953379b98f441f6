"""The command line of one run of yt-dlp."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from archivebox.plugins.base import Settings

DONE = ".done"  # the names of finished files, as JSON texts, one a line
# Nothing of the person's own: no configuration, no cache, no look for updates; and no program of a page's choosing.
_ALONE = ["--ignore-config", "--no-cache-dir", "--no-update", "--no-exec", "--no-progress", "--no-overwrites"]


@dataclass(frozen=True, slots=True)
class DownloadPlan:
    """What one run may use: its program, bytes of one file (0: no limit), seconds for all, cookies or ""."""

    program: str
    limit: int
    seconds: float
    cookies: str


def build(plan: DownloadPlan, settings: Settings, url: str) -> list[str]:
    """The argv; the URL comes after `--`, so that it is never an option."""
    return [
        plan.program,
        *settings.list("YTDLP_ARGS"),
        *_limits(plan, settings),
        *_identity(plan, settings),
        *_names(),
        *settings.list("YTDLP_ARGS_EXTRA"),
        *_ALONE,
        "--",
        url,
    ]


def _limits(plan: DownloadPlan, settings: Settings) -> list[str]:
    """The best that is known to be small enough; a size that nobody knows is limited by the system."""
    items = [
        f"--playlist-items=1:{settings.int('YTDLP_PLAYLIST_MAX')}",
        f"--socket-timeout={min(30.0, plan.seconds / 3):.0f}",
    ]
    if not plan.limit:
        return items
    fits = f"[filesize<?{plan.limit}][filesize_approx<?{plan.limit}]"
    return [*items, f"--max-filesize={plan.limit}", f"--format=(bv*+ba/b){fits}/b{fits}"]


def _identity(plan: DownloadPlan, settings: Settings) -> list[str]:
    agent, ffmpeg = settings.str("USER_AGENT"), shutil.which(settings.str("FFMPEG_BINARY"))
    return [
        *([f"--add-headers=User-Agent:{agent}"] if agent else []),
        *([f"--cookies={plan.cookies}"] if plan.cookies else []),
        *([] if settings.bool("CHECK_SSL_VALIDITY") else ["--no-check-certificates"]),
        *([f"--ffmpeg-location={ffmpeg}"] if ffmpeg else []),
    ]


def _names() -> list[str]:
    """Titles in any script, short enough for every file system with `.info.json` and a language behind them."""
    return [
        "--windows-filenames",
        "--output=%(title).100B [%(id).60B].%(ext)s",
        "--print-to-file",
        "after_move:%(filename)j",
        DONE,
    ]
