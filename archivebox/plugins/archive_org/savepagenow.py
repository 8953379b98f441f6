"""The protocol of Save Page Now: a page is asked for, and its copy has an address when it is saved.

With a key ("SPN2 Public API", linked at web.archive.org/save): POST /save gives a job, /save/status/<job> says what has
become of it. Without: GET /save/<url>, which answers with a redirect to the copy, or names it in Content-Location.
"""

from __future__ import annotations

import json
import time
import urllib.parse
from http import HTTPStatus

from archivebox.plugins.base.web import Web

MAX_ANSWER = 1 << 20  # bytes
ASK_EVERY = 5.0  # seconds between two looks at a job


class RefusedError(Exception):
    """The page is not to be had there; the message is the archive's own."""


class BusyError(Exception):
    """Not now: too many pages, or the archive is out of order."""


class SavePageNow:
    """One Wayback Machine; `deadline` is that of `time.monotonic`."""

    def __init__(self, endpoint: str, user_agent: str, deadline: float) -> None:
        self._endpoint, self._user_agent, self._deadline = endpoint.rstrip("/"), user_agent, deadline
        self._headers: dict[str, str] = {}

    def save_with_key(self, url: str, key: str) -> str:
        """The address of the copy. Raises RefusedError, BusyError."""
        self._headers = {"Authorization": f"LOW {key}", "Accept": "application/json"}
        job = self._json("/save", urllib.parse.urlencode({"url": url}).encode())
        if "job_id" not in job:
            raise RefusedError(job.get("message") or "it gave no job")
        while True:
            status = self._json(f"/save/status/{urllib.parse.quote(job['job_id'], safe='')}")
            if status.get("status") == "success":
                return f"{self._endpoint}/web/{status['timestamp']}/{status['original_url']}"
            if status.get("status") == "error":
                raise RefusedError(status.get("message") or "it could not save the page")
            self._wait()

    def save(self, url: str) -> str:
        """The address of the copy. Raises RefusedError, BusyError."""
        location, _ = self._ask(f"/save/{url}")
        path = urllib.parse.urlsplit(location).path
        if not path.startswith("/web/"):
            raise RefusedError("it answered without the address of a copy")
        return urllib.parse.urljoin(self._endpoint, location)

    def _wait(self) -> None:
        if time.monotonic() + ASK_EVERY > self._deadline:
            raise BusyError("it has not saved the page yet")
        time.sleep(ASK_EVERY)

    def _json(self, path: str, body: bytes | None = None) -> dict[str, str]:
        _, answer = self._ask(path, body)
        try:
            document = json.loads(answer)
        except ValueError:
            raise BusyError("its answer is not JSON") from None
        return document if isinstance(document, dict) else {}

    def _ask(self, path: str, body: bytes | None = None) -> tuple[str, bytes]:
        """Where the answer lies in the end, and its content."""
        web = Web(self._user_agent, max(1.0, self._deadline - time.monotonic()))
        try:
            answer = web.fetch(f"{self._endpoint}{path}", MAX_ANSWER, headers=self._headers, body=body)
        except OSError as error:
            raise BusyError(f"it cannot be reached: {error}") from None
        problem = f"it answered {answer.status} {answer.reason}"
        if answer.is_busy:
            raise BusyError(problem)
        if answer.status >= HTTPStatus.BAD_REQUEST:
            raise RefusedError(answer.headers.get("X-Archive-Wayback-Runtime-Error") or problem)
        return answer.headers.get("Content-Location") or answer.url, answer.content
