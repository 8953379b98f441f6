"""How much of what a page asked for while it was captured is kept whole, so that its replay has it.

What the site itself does not have (404) is kept as that answer; what the page's own rules, a blocker or the page itself
called off is missing nowhere but there.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from archivebox.plugins.base.responses import Response

LISTED = 20  # addresses that are named; the log has all
EVENTS = "text/event-stream"  # never ends, so nobody has it whole
NOT_MODIFIED = 304
NOT_NOW = frozenset({429, 502, 503, 504})  # answers that may be others another time (RFC 9110, 15.6; RFC 6585, 4)
CUT = {
    "length": "larger than what is kept whole",
    "time": "not finished when the page was closed",
    "disconnect": "broken off",
}
"""Words of WARC-Truncated."""
CALLED_OFF = (
    *("csp", "mixed-content", "origin", "inspector", "integrity", "subresource-filter", "content-type"),
    *("coep-", "coop-", "corp-", "sri-"),
    *("net::ERR_ABORTED", "net::ERR_BLOCKED_BY_", "net::ERR_FAILED", "net::ERR_UNKNOWN_URL_SCHEME"),
)
"""How the browser's errors begin (Network.BlockedReason, net_error_list.h) where the live page got no answer either."""


def measure_resources(responses: Iterable[Response]) -> dict[str, object]:
    """The measure: in percent, as a sentence, and what is missing, each with why."""
    asked = [each for each in responses if can_be_replayed(each)]
    whole = {each.url for each in asked if is_whole(each)}
    missing = {each.url: why for each in asked if each.url not in whole and (why := loss_of(each))}
    count = len(whole) + len(missing)
    return {
        "name": "resources",
        "percent": 100 * len(whole) // count,
        "sentence": _sentence(len(whole), count),
        "missing": list(missing.items())[:LISTED],
        "missing_count": len(missing),
    }


def _sentence(whole: int, count: int) -> str:
    if whole == count:
        return "All that the page asked for is kept." if count > 1 else "The page's only file is kept."
    return f"{whole:,} of the {count:,} files that the page asked for are kept whole."


def can_be_replayed(response: Response) -> bool:
    """Whether this is a request that a replay may repeat."""
    return response.method == "GET" and response.url.startswith(("http://", "https://"))


def is_whole(response: Response) -> bool:
    """Whether this answer is kept as it was given."""
    is_answer = response.status not in {0, NOT_MODIFIED, *NOT_NOW}
    return is_answer and not response.truncated and "record" in response.record


def loss_of(response: Response) -> str:
    """Why what is not whole is a loss; '' where it is none, or where another answer has it."""
    if response.error.startswith(CALLED_OFF) or response.mime == EVENTS:
        return ""
    if response.truncated:
        return CUT.get(response.truncated, "not given whole by the browser")
    if response.status in NOT_NOW:
        return f"the server answered {response.status}"
    if response.status == NOT_MODIFIED:
        return "the server said only that it has not changed"
    return "" if response.status else f"no answer: {response.error or 'not said why'}"
