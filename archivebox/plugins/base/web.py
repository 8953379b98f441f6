"""What a server says of a URL without sending what is there: HEAD, or one byte where HEAD is refused."""

from __future__ import annotations

import re
import ssl
import urllib.error
import urllib.request
from urllib.request import Request

TYPE_CHECKING = False
if TYPE_CHECKING:
    from email.message import Message
    from typing import Any

HEAD_REFUSED = 400  # from this status on: many answer HEAD by 403, 404, 405 or 501 where they answer GET
OUR_PROXY = "archivebox"  # in Proxy-Status (RFC 9209): the way out says this, not the site
TOTAL = re.compile(r"bytes \d+-\d+/(\d+)")  # Content-Range (RFC 9110, 14.4)


class WebResponse:
    """Status, final address and headers of an answer."""

    def __init__(self, status: int, url: str, headers: Message) -> None:
        self.status, self.url, self.headers = status, url, headers

    @property
    def mime(self) -> str:
        return (self.headers.get("Content-Type") or "").partition(";")[0].strip().lower()

    @property
    def size(self) -> int | None:
        """Return the bytes of the whole, None where the server does not say."""
        part = TOTAL.match(self.headers.get("Content-Range") or "")
        length = part[1] if part else self.headers.get("Content-Length") or ""
        return int(length) if length.isdigit() else None


class Redirects(urllib.request.HTTPRedirectHandler):
    """Asks again as it asked before: the standard library turns HEAD into GET."""

    def redirect_request(self, req: Request, *rest: Any, **named: Any) -> Request | None:
        again = super().redirect_request(req, *rest, **named)
        if again is not None:
            again.method = req.get_method()
        return again


class Web:
    """The web as one asker sees it: by the way out that the environment names, http and https alone."""

    def __init__(self, user_agent: str, timeout: float, *, check_certificates: bool, follow: bool = True) -> None:
        """`follow`: whether it asks where an answer leads that leads elsewhere, and does not give that answer."""
        self._headers, self._timeout = {"User-Agent": user_agent}, timeout
        context = ssl.create_default_context()
        if not check_certificates:
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        self._opener = urllib.request.OpenerDirector()
        handlers: tuple[urllib.request.BaseHandler, ...] = (
            urllib.request.ProxyHandler(),
            urllib.request.HTTPHandler(),
            urllib.request.HTTPSHandler(context=context),
            urllib.request.HTTPDefaultErrorHandler(),
            urllib.request.HTTPErrorProcessor(),
            urllib.request.UnknownHandler(),
        )
        for handler in (*handlers, Redirects()) if follow else handlers:
            self._opener.add_handler(handler)

    def look_at(self, url: str) -> WebResponse:
        """Ask what is there. Raises OSError (URLError included) where nobody answers."""
        answer = self._ask(url, "HEAD")
        return self._ask(url, "GET", {"Range": "bytes=0-0"}) if answer.status >= HEAD_REFUSED else answer

    def _ask(self, url: str, method: str, headers: dict[str, str] | None = None) -> WebResponse:
        with self.open(url, method, headers or {}) as response:
            if (response.headers.get("Proxy-Status") or "").startswith(OUR_PROXY):
                raise OSError(response.reason)
            return WebResponse(response.status, response.url, response.headers)

    def text(self, url: str, most: int) -> tuple[int, str]:
        """Return status and beginning (bytes) of a text."""
        with self.open(url, "GET", {}) as response:
            return response.status, response.read(most).decode("utf-8", "replace")

    def open(self, url: str, method: str, headers: dict[str, str]) -> Any:
        """Return an answer whatever its status is. Raises OSError where nobody answers."""
        request = Request(url, headers={**self._headers, **headers}, method=method)  # noqa: S310 - no handler of other schemes is there
        try:
            return self._opener.open(request, timeout=self._timeout)
        except urllib.error.HTTPError as error:
            return error  # an answer as any other
