"""What came of one run of wget, read from its log and its exit status (wget(1), Exit Status)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Iterable

Verdict = Literal["succeeded", "failed", "try again", "misconfigured"]

_STATUS = re.compile(r"\s*HTTP/[\d.]+ (\d{3})\s*(.*)")
_SAVED = re.compile(r'\S+ \S+ URL:(\S+) \[[^\]]*\] -> "(.*)" \[\d+\]')
_ERROR = re.compile(r"\S+ \S+ ERROR (\d{3}):")
_SAVING_2 = re.compile(r"Saving '(.*)'")
_RESPONSE_2 = re.compile(r"HTTP (ERROR )?response (\d{3})\s?(.*?)\s*\[(\S+)\]")

# Answers that another day may be different: Request Timeout, Too Early, Too Many Requests (RFC 9110, 8470, 6585).
_PASSING = frozenset({408, 425, 429})
_MEANINGS = {
    1: "wget stopped for a reason of its own",
    3: "the files could not be written",
    4: "the network failed or was too slow",
    5: "the server's certificate could not be verified",
    6: "the server asks for a login",
    7: "the server does not speak HTTP properly",
}
USAGE_ERROR = 2


@dataclass(slots=True)
class Fetch:
    """The page itself: where it is ("" when it was not saved), its last URL and status; and failures beside it."""

    path: str = ""
    final_url: str = ""
    status: int = 0
    reason: str = ""
    errors: int = 0  # requisites that were answered with an error


def read_log(lines: Iterable[str]) -> Fetch:
    """Read the log of wget 1, run with --no-verbose --server-response.

    The page comes first, its requisites after it; a redirect is a status like any other until something is saved.
    """
    fetch = Fetch()
    for line in lines:
        if not fetch.path:
            status = _STATUS.match(line)
            saved = _SAVED.match(line)
            if status:
                fetch.status, fetch.reason = int(status[1]), status[2].strip()
            elif saved:
                fetch.final_url, fetch.path = saved[1], saved[2]
        if _ERROR.match(line):
            fetch.errors += 1
    return fetch


def read_log_of_wget2(lines: Iterable[str], url: str) -> Fetch:
    """Read the log of wget2, which fetches robots.txt before the page and several requisites at once after it."""
    fetch, saving = Fetch(), ""
    for line in lines:
        saved, response = _SAVING_2.match(line), _RESPONSE_2.match(line)
        if saved:
            saving = saved[1]
        elif response:
            is_robots = response[4].endswith("/robots.txt") and response[4] != url
            fetch.errors += bool(response[1])
            if not fetch.path and not is_robots:
                fetch.final_url, fetch.status, fetch.reason = response[4], int(response[2]), response[3]
                fetch.path = saving
            saving = ""
    return fetch


def judge(exit_code: int, fetch: Fetch) -> tuple[Verdict, str]:
    """What the run means for the result, with a sentence: a page that was saved counts, whatever its requisites did."""
    if fetch.path:
        return "succeeded", fetch.path
    if exit_code == USAGE_ERROR:
        return "misconfigured", "wget does not understand its options: look at WGET_ARGS and WGET_ARGS_EXTRA"
    answer = f"{fetch.status} {fetch.reason}".strip()
    if exit_code in (4, 5, 3):
        return "try again", f"Nothing saved: {_MEANINGS[exit_code]}"
    if 300 <= fetch.status < 400:
        return "failed", f"Redirected too often or to nowhere, last answer: {answer}"
    if 400 <= fetch.status < 500 and fetch.status not in _PASSING:
        return "failed", answer
    if fetch.status >= 400:
        return "try again", f"The server answered {answer}"
    return "try again", f"Nothing saved: {_MEANINGS.get(exit_code, f'wget ended with {exit_code}')}"
