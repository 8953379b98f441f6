"""Owns whether what came is the page that was asked for, or something that is shown in its place.

Three kinds: the server wishes to be asked later (429, 503), the site checks its visitor first, or it leads to its
log-in page (`login_walls`). What only resembles one (a page about 503, a short page with a timer) is a page.

`seen` is what `refusal.js` says of the document, with the `status` of its answer, and what `answers` finds in that.
"""

from __future__ import annotations

import os
import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from archivebox.plugins.base.cdp import Params

SERVER_BUSY, CHALLENGE, LOGIN_WALL = "server_busy", "challenge", "login_wall"
MOST = 20_000  # characters of text and of scripts that are looked at
SHORT = 2_000  # characters; a page with more words than a check of visitors has is the page
VERY_SHORT = 500  # characters; what goes on after a moment has no more
REFRESH_LATEST = 30.0  # seconds; a page that goes elsewhere later than this is there to be read
ERROR = 400  # the smallest status of an answer that is none (RFC 9110, 15)
SAYS_SO = re.compile(
    r"checking (your browser|if the site connection is secure)|security (check|verification)|ddos protection"
    r"|verify(ing)? (that )?(your browser|you('re| are) (a |not )*(human|(ro)?bot))"
    r"|prove (that )?you('re| are) (a )?human|(you('re| are)|i('| a)m) not a (ro)?bot|are you a (ro)?bot"
    r"|just a moment|unusual traffic|enable javascript and cookies to continue",
    re.IGNORECASE,
)
"""What checks of visitors say, whoever made them."""
BY_WORDS = "by its words"


class PageRefusal:
    """What came instead of the page. `may_pass`: another time may be different, without a person's doing."""

    def __init__(self, reason: str, sentence: str, *, may_pass: bool) -> None:
        self.reason, self.sentence, self.may_pass = reason, sentence, may_pass


def refusal_script() -> str:
    """Return the expression that looks at the document."""
    with open(os.path.join(os.path.dirname(os.path.realpath(__file__)), "refusal.js"), encoding="utf-8") as file:
        return file.read().replace("MOST", str(MOST))


def may_go_on(seen: Params) -> bool:
    """Say whether a document may replace itself soon: it checks its visitor, or is short and has a timer for that."""
    is_very_short = len(seen["text"]) < VERY_SHORT
    return bool(_check(seen)) or (is_very_short and _goes_elsewhere(seen))


def find_visitor_check(seen: Params, *, went_on: bool) -> PageRefusal | None:
    """Return the check of visitors that is shown; None where there is none.

    `went_on`: the document has replaced itself while it was waited for.
    """
    check = _check(seen)
    surely = check != BY_WORDS or seen["status"] >= ERROR or went_on or _goes_elsewhere(seen)
    if not (check and surely):
        return None
    return PageRefusal(CHALLENGE, f"the site checks its visitors ({check}) and did not show the page", may_pass=True)


def busy_server(status: int) -> PageRefusal:
    """Return what an answer means that puts its visitor off."""
    return PageRefusal(SERVER_BUSY, f"the server answered {status}: it asks to retry later", may_pass=True)


def login_page(url: str) -> PageRefusal:
    """Return what a log-in page means that nobody asked for."""
    return PageRefusal(LOGIN_WALL, f"the site led to its log-in page, {url}", may_pass=False)


def _check(seen: Params) -> str:
    """Return the name of the check that a document is, as it says itself; '' where it is none."""
    if seen["said"]:
        return str(seen["said"])
    if len(seen["text"]) >= SHORT:
        return ""
    return str(seen["check"]) or (BY_WORDS if SAYS_SO.search(f"{seen['title']}\n{seen['text']}") else "")


def _goes_elsewhere(seen: Params) -> bool:
    """Say whether it has what reloads it, or goes elsewhere, by itself."""
    return bool(seen["timer"]) or (seen["refresh"] is not None and seen["refresh"] <= REFRESH_LATEST)
