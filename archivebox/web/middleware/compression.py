"""Owns which answers are sent compressed: text of every page, and nothing that is compressed already or streamed."""

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.middleware.gzip import GZipMiddleware

_TEXTS = ("text/", "application/json", "application/problem+json", "application/feed+json", "application/rss+xml",
          "application/xml", "application/javascript", "image/svg+xml")  # fmt: skip


class Compression(GZipMiddleware):
    """Compresses text; Django adds random bytes, so that the length tells nobody what is in it (the BREACH attack)."""

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        is_text = response.headers.get("Content-Type", "").startswith(_TEXTS)
        return super().process_response(request, response) if is_text and not response.streaming else response
