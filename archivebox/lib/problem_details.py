"""Owns problem details (RFC 9457): errors as programs read them."""

from http import HTTPStatus

from archivebox.lib.jsonl import JSON

CONTENT_TYPE = "application/problem+json"


def problem(status: int, detail: str, **more: JSON) -> dict[str, JSON]:
    """The record of a problem; ``type`` is ``about:blank``.

    ``title`` is therefore the status's own name, unless ``more`` has another.
    """
    return {"type": "about:blank", "title": HTTPStatus(status).phrase, "status": status, "detail": detail, **more}
