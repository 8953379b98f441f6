"""What came of one run of yt-dlp, read from what it says."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from archivebox.plugins.base import Finished

Verdict = Literal["noresults", "failed", "try again", "misconfigured"]

USAGE_ERROR = 2
_ERROR = re.compile(r"^ERROR:\s*(?:\[[^\]]+\]\s*)?(.*)$", re.MULTILINE)
_NOTHING = re.compile(r"unsupported URL|no video formats found|no video could be found|no media found", re.IGNORECASE)
_PASSING = re.compile(
    r"timed? ?out|HTTP Error (408|425|429|5\d\d)|connection|resolve|unreachable|incomplete|reset|handshake"
    r"|unable to (connect|download)(?!.*HTTP Error)",
    re.IGNORECASE,
)
_TOO_LARGE = re.compile(r"file too large|larger than max-filesize|requested format is not available", re.IGNORECASE)


def judge(done: Finished) -> tuple[Verdict, str]:
    """What a run means that has brought no file, with a sentence.

    The first error is the page's own; what follows is of its entries. One that nobody knows is taken as it is said:
    private, removed, behind a login or a payment.
    """
    errors = _ERROR.findall(done.stderr)
    if done.returncode == USAGE_ERROR:
        return "misconfigured", "yt-dlp does not understand its options: look at YTDLP_ARGS and YTDLP_ARGS_EXTRA"
    if _TOO_LARGE.search(done.stdout + done.stderr):
        return "failed", "What plays here is larger than YTDLP_MAX_SIZE"
    if not errors or _NOTHING.search(errors[0]):
        return "noresults", "nothing that yt-dlp can keep plays here"
    sentence = errors[0].partition(";")[0].strip()[:300]
    return ("try again" if _PASSING.search(sentence) else "failed"), sentence
