"""The HTTP client of hooks: by the proxy that the environment names, with a limit on what is read."""

from __future__ import annotations

import re
import ssl
import urllib.error
import urllib.request
from http import HTTPStatus
from http.client import HTTPException
from urllib.request import Request

TYPE_CHECKING = False
if TYPE_CHECKING:
    from email.message import Message
    from typing import Any

HEAD_REFUSED = 400  # from this status on: many answer HEAD by 403, 404, 405 or 501 where they answer GET
OUR_PROXY = "archivebox"  # in Proxy-Status (RFC 9209): our proxy says this, not the site
TOTAL = re.compile(r"bytes \d+-\d+/(\d+)")  # Content-Range (RFC 9110, 14.4)


class WebResponse:
    """Status, reason, final address, headers and, if it was asked for, content of an answer."""

    def __init__(self, response: Any, content: bytes = b"") -> None:
        self.status: int = response.status
        self.reason: str = response.reason
        self.url: str = response.url
        self.headers: Message = response.headers
        self.content = content

    @property
    def is_busy(self) -> bool:
        """Return whether the server may answer otherwise later."""
        return self.status == HTTPStatus.TOO_MANY_REQUESTS or self.status >= HTTPStatus.INTERNAL_SERVER_ERROR

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
    """Follows a HEAD by HEAD, where the standard library turns it into GET."""

    def redirect_request(self, req: Request, *rest: Any, **named: Any) -> Request | None:
        again = super().redirect_request(req, *rest, **named)
        if again is not None and req.get_method() == "HEAD":
            again.method = "HEAD"
        return again


class Web:
    """The web as one asker sees it, http and https alone. Every method raises OSError where nobody answers."""

    def __init__(
        self,
        user_agent: str,
        timeout: float,
        *,
        check_certificates: bool = True,
        follow: bool = True,
        proxied: bool = True,
    ) -> None:
        """`timeout`: seconds; `follow`: whether redirects are followed; `proxied`: False asks directly."""
        self._headers, self._timeout = {"User-Agent": user_agent} if user_agent else {}, timeout
        context = ssl.create_default_context()
        if not check_certificates:
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        self._opener = urllib.request.OpenerDirector()
        handlers: tuple[urllib.request.BaseHandler, ...] = (
            urllib.request.ProxyHandler(None if proxied else {}),
            urllib.request.HTTPHandler(),
            urllib.request.HTTPSHandler(context=context),
            urllib.request.HTTPDefaultErrorHandler(),
            urllib.request.HTTPErrorProcessor(),
            urllib.request.UnknownHandler(),
        )
        for handler in (*handlers, Redirects()) if follow else handlers:
            self._opener.add_handler(handler)

    def look_at(self, url: str) -> WebResponse:
        """Return what is there without its content: by HEAD, or by one byte where HEAD is refused."""
        answer = self._head(url, "HEAD", {})
        return self._head(url, "GET", {"Range": "bytes=0-0"}) if answer.status >= HEAD_REFUSED else answer

    def _head(self, url: str, method: str, headers: dict[str, str]) -> WebResponse:
        with self.open(url, method, headers) as response:
            if (response.headers.get("Proxy-Status") or "").startswith(OUR_PROXY):
                raise OSError(response.reason)
            return WebResponse(response)

    def fetch(
        self, url: str, most: int, *, headers: dict[str, str] | None = None, body: bytes | None = None
    ) -> WebResponse:
        """Return an answer with at most `most` bytes of its content: to POST with a `body`, else to GET."""
        with self.open(url, "GET" if body is None else "POST", headers or {}, body) as response:
            try:
                return WebResponse(response, response.read(most))
            except HTTPException as error:
                raise OSError(str(error) or type(error).__name__) from error

    def open(self, url: str, method: str, headers: dict[str, str], body: bytes | None = None) -> Any:
        """Return an answer whatever its status is, to be read and closed."""
        request = Request(url, body, {**self._headers, **headers}, method=method)  # noqa: S310 - no handler of other schemes is there
        try:
            return self._opener.open(request, timeout=self._timeout)
        except urllib.error.HTTPError as error:
            return error  # an answer as any other
        except HTTPException as error:
            raise OSError(str(error) or type(error).__name__) from error
