"""A response that waits for a word of ours before the page gets it (`Fetch.requestPaused`): what it says of itself."""

from __future__ import annotations

import base64

from archivebox.plugins.base.answer_headers import is_page

TYPE_CHECKING = False
if TYPE_CHECKING:
    from archivebox.plugins.base.cdp import Params


def url_of(paused: Params) -> str:
    """Return the URL that was asked for, without its fragment."""
    return str(paused["request"]["url"].partition("#")[0])


def header_of(paused: Params, name: str) -> str:
    """Return a header of the response, '' where there is none."""
    headers = paused.get("responseHeaders", ())
    return next((str(each["value"]) for each in headers if each["name"].lower() == name), "")


def is_file(paused: Params, page_max: int) -> bool:
    """Whether a document is none to show, or larger (bytes) than any page that a browser can show."""
    length = header_of(paused, "content-length")
    too_large = length.isdigit() and int(length) > page_max
    attached = header_of(paused, "content-disposition").partition(";")[0].strip().lower() == "attachment"
    return too_large or attached or not is_page(header_of(paused, "content-type"))


def is_short_frame(paused: Params) -> bool:
    """Whether this is the document of a frame with an end: if the frame is removed now, nobody gets any of it."""
    return paused["resourceType"] == "Document" and header_of(paused, "content-length").isdigit()


def body_of(answer: Params) -> bytes:
    """Return the body in an answer of the browser; what is not UTF-8 comes in base64."""
    return base64.b64decode(answer["body"]) if answer["base64Encoded"] else answer["body"].encode()
