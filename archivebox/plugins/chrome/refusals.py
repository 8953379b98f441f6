"""Owns whether what came is the page that was asked for, or something that is shown in its place.

Three kinds: the server wishes to be asked later (429, 503), the site checks its visitor first, or it leads to its
log-in page. What only resembles one (a page about 503, a short page with a timer) is a page.

`seen` is what `refusal.js` says of the document, with the `status` of its answer, and what its headers say.
"""

from __future__ import annotations

import os
import re
import urllib.parse

from archivebox.plugins.base.answer_headers import seconds_of

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


MEDIA_TYPE = re.compile(r"\s*([\w.+-]+/[\w.+-]+)\s*(;.*)?", re.ASCII | re.DOTALL)  # RFC 9110, 8.3.1
PUTS_OFF = frozenset({429, 503})  # answers that may say when to come again (RFC 6585, 4; RFC 9110, 15.6.4)


def declared_type(response: Params) -> str:
    """Return the media type that an answer declares, else the one that the browser took it for.

    The browser speaks of what it shows: of feeds as plain text.
    """
    declared = MEDIA_TYPE.fullmatch(_header(response, "content-type"))
    return (declared[1] if declared else str(response.get("mimeType", ""))).lower()


def retry_after(response: Params) -> int:
    """Return the seconds for which the server wishes to be left alone (RFC 9110, 10.2.3); 0 where it says nothing."""
    if response.get("status") not in PUTS_OFF:
        return 0
    return seconds_of(_header(response, "retry-after").strip())


def check_of(response: Params) -> str:
    """Return whose check of visitors an answer says it is; '' where it says nothing of the kind."""
    if _header(response, "cf-mitigated") == "challenge":  # developers.cloudflare.com: Detect a Challenge Page response
        return "Cloudflare"
    if _header(response, "x-amzn-waf-action") in ("challenge", "captcha"):  # AWS WAF Developer Guide
        return "AWS WAF"
    return ""


def refresh_of(response: Params) -> float | None:
    """Return after how many seconds an answer asks to be loaded again, or to go elsewhere; None where it does not."""
    wish = re.match(r"\s*[\d.]+", _header(response, "refresh"))
    return float(wish[0]) if wish else None


def _header(response: Params, name: str) -> str:
    headers = response.get("headers", {})
    return next((str(value) for key, value in headers.items() if key.lower() == name), "")


LOGIN_NAMES = frozenset(
    {
        "login", "log-in", "log_in", "logon", "log-on", "signin", "sign-in", "sign_in", "signon", "sign-on",
        "wp-login", "loginform", "login-form",
    }
)  # fmt: skip
"""Parts of a path that a log-in page has, without their ending."""
PERHAPS_LOGIN = frozenset(
    {
        "auth", "authenticate", "authorize", "oauth", "oauth2", "sso", "saml", "saml2", "cas", "idp", "session",
        "sessions",
    }
)  # fmt: skip
"""Parts of a path that pages about such things have as well."""
LOGIN_HOSTS = frozenset({"login", "signin", "auth", "sso", "accounts", "idp", "cas", "passport", "identity"})
"""First labels of hosts that are there for log-ins."""
_INDEX = re.compile(r"/(index|default|home)\.\w{2,5}$", re.IGNORECASE)


def is_login_wall(asked: str, came: str, *, password: bool, user: bool) -> bool:
    """Say whether `came`, which shows fields for a password or a user's name, keeps visitors from `asked`.

    A log-in page that was asked for is the page. So is one at the same path on another host or scheme, and any page
    that has a log-in form beside what it says: it has another name, and nothing to come back to.
    """
    wanted, shown = urllib.parse.urlsplit(asked), urllib.parse.urlsplit(came)
    if _is_login(wanted) or _place(wanted) == _place(shown):
        return False
    if _has(shown, LOGIN_NAMES) or (_is_login_host(shown) and not _is_login_host(wanted)):
        return password or user
    return password and (_has(shown, PERHAPS_LOGIN) or _comes_back(shown, wanted))


def _is_login(url: urllib.parse.SplitResult) -> bool:
    last = url.path.rstrip("/").rpartition("/")[2].lower().partition(".")[0]
    return _has(url, LOGIN_NAMES) or last in PERHAPS_LOGIN or (_is_login_host(url) and url.path in ("", "/"))


def _has(url: urllib.parse.SplitResult, names: frozenset[str]) -> bool:
    parts = url.path.lower().split("/")
    parts += url.fragment.lower().split("/") if url.fragment.startswith(("/", "!/")) else []  # of a page of scripts
    return any(part.partition(".")[0] in names for part in parts)


def _is_login_host(url: urllib.parse.SplitResult) -> bool:
    label, dot, _ = (url.hostname or "").partition(".")
    return bool(dot) and label in LOGIN_HOSTS


def _place(url: urllib.parse.SplitResult) -> tuple[str, str]:
    """What names a page on its site, whatever host and scheme the site is sent to."""
    fragment = url.fragment if url.fragment.startswith(("/", "!/")) else ""
    return _INDEX.sub("", urllib.parse.unquote(url.path)).rstrip("/").lower(), fragment


def _comes_back(shown: urllib.parse.SplitResult, wanted: urllib.parse.SplitResult) -> bool:
    """Say whether it knows the page to lead back to, as log-in pages do: `?next=/article`."""
    path = wanted.path.rstrip("/")
    if not path:
        return False
    values = [value for _, value in urllib.parse.parse_qsl(shown.query)]
    return any(urllib.parse.urlsplit(value).path.rstrip("/") == path for value in values)
