"""Owns which keys a query knows (``host:``), what each means, and which values it takes."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from archivebox.contract.presentation import Role
from archivebox.lib.urls import BadUrl, parse_url, path_domain
from archivebox.search.query.times import moment

Reader = Callable[[str], str]
"""A value as it was typed → as the tree keeps it; ValueError, with a sentence, for what is none."""

STATES = {
    "open": "waits or is being archived",
    "done": "is done: archived, partly archived, refused or failed",
    "complete": "is done, and nothing failed",
    "failed": "has at least one failure",
    "paused": "is paused",
    "cancelled": "was cancelled",
    "unfetched": "was never captured: its crawl was stopped, or skipped it",
    "tagged": "has a tag",
    "latest": "is the newest version of its URL",
    "seed": "was added by a person, not found by a link",
    "lossy": "is worth capturing again: files are missing, or its replay shows too little",
    "removed": "was removed, and can be restored",
    "public": "is visible to everyone who may open the site",
    "private": "is visible to its owner and administrators alone",
}
PAGE_STATUSES = {
    "queued": "waits",
    "started": "is being archived",
    "sealed": "is done: archived, partly archived, refused or failed",
    "paused": "is paused",
    "cancelled": "was cancelled",
}
RESULT_STATUSES = {
    "succeeded": "was kept",
    "noresults": "ran, and there was nothing to keep",
    "failed": "failed",
    "skipped": "was skipped",
    "backoff": "waits for its next try",
    "queued": "waits",
    "started": "runs",
}
VISIBILITIES = {
    "public": "visible to everyone who may open the site",
    "members": "visible to everyone who is logged in",
    "private": "visible to its owner and administrators alone",
}
TYPES: dict[str, tuple[str, ...]] = {
    "page": ("text/html", "application/xhtml+xml"),
    "pdf": ("application/pdf",),
    "image": ("image/",),
    "audio": ("audio/",),
    "video": ("video/",),
    "text": ("text/plain", "text/markdown"),
    "feed": ("application/rss+xml", "application/atom+xml", "application/feed+json"),
    "data": ("application/json", "application/xml", "text/xml", "text/csv"),
}
"""Type of a page → its media types (RFC 9110, 8.3), or how these begin."""

KEPT: dict[str, tuple[Role, tuple[str, ...]]] = {
    "replay": ("responses", ()),
    "page": ("preview", ("text/html",)),
    "picture": ("picture", ("image/",)),
    "pdf": ("preview", ("application/pdf",)),
    "media": ("preview", ("video/", "audio/")),
    "article": ("reader", ("text/html",)),
    "text": ("text", ("text/",)),
    "files": ("files", ()),
}
"""What can be kept of a page → the role of its file, and how its media type begins; empty: of any type."""
HAS = {
    "note": "a note",
    "replay": "a recording for replay",
    "page": "a page in one file",
    "picture": "a picture",
    "pdf": "a PDF",
    "media": "video or sound",
    "article": "the article alone",
    "text": "a text",
    "files": "source code or other files",
}

UNKNOWN = "unknown"
"""The quality of a page whose replay was not measured."""

NO_ANSWER = "none"
"""The status of a page whose host gave no answer."""

_HTTP = re.compile(r"[1-5](?:[0-9]{2}|xx)")
_ID = re.compile(r"[0-9a-f]{8,32}")
_QUALITY = re.compile(r"(<=|>=|<|>)?[0-9]{1,3}")


def _as_it_is(value: str) -> str:
    return value


def _lower(value: str) -> str:
    return value.lower()


def _host(value: str) -> str:
    """As pages keep it: ``Example.org:8000`` → ``example.org_8000``; ``*.example.org`` stays."""
    star = "*." if value.startswith("*.") else ""
    address = value.removeprefix(star).partition("://")[2] or value.removeprefix(star)
    try:
        return star + path_domain(parse_url(f"http://{address.rstrip('/')}/"))
    except BadUrl:
        raise ValueError(
            f"{value!r} is not a host: give one such as example.org, 10.0.0.1:8000 or *.example.org."
        ) from None


def shown_host(domain: str) -> str:
    """A host as pages keep it, as people type it."""
    return re.sub(r"_(\d+)$", r":\1", domain)


def _time(value: str) -> str:
    moment(value)
    return value


def _quality(value: str) -> str:
    """``<80`` and its like; a number alone is that number."""
    if value.lower() == UNKNOWN or _QUALITY.fullmatch(value):
        return value.lower()
    raise ValueError(f"{value!r} is not a quality: give a percentage such as <80, >=95 or 100, or {UNKNOWN}.")


def _http(value: str) -> str:
    """``404``, ``4xx``, ``none``."""
    if value.lower() == NO_ANSWER or _HTTP.fullmatch(value.lower()):
        return value.lower()
    raise ValueError(f"{value!r} is not an HTTP status: give one such as 404, or 4xx, or {NO_ANSWER}.")


def _id(value: str) -> str:
    digits = value.replace("-", "").lower()
    if not _ID.fullmatch(digits):
        raise ValueError(f"{value!r} is not an id: an id has 32 hexadecimal digits, the first 8 are enough.")
    return digits


def _one_of(choices: Mapping[str, object]) -> Reader:
    def read(value: str) -> str:
        if value.lower() not in choices:
            raise ValueError(f"{value!r} is not one of {', '.join(choices)}.")
        return value.lower()

    return read


@dataclass(frozen=True, slots=True)
class Key:
    """One key: an example of it, what it means, and its values where they are few."""

    example: str
    meaning: str
    read: Reader = _as_it_is
    choices: Mapping[str, str] = field(default_factory=dict)


_STATUSES = {**RESULT_STATUSES, **PAGE_STATUSES}
_TYPES = {name: ", ".join(begins) for name, begins in TYPES.items()}

KEYS: dict[str, Key] = {
    "is": Key("is:failed", "in this state", _one_of(STATES), STATES),
    "host": Key("host:example.org", "of this host; *.example.org: of the hosts below it", _host),
    "tag": Key("#recipes", "with this tag", _as_it_is),
    "title": Key("title:pears", "with this in the title"),
    "url": Key("url:/blog/", "with this in the URL; a whole URL: that URL; with * at its end: all that begin with it"),
    "text": Key("text:pears", "with this in one of its texts"),
    "note": Key("note:pears", "with this in one of its notes"),
    "has": Key("has:pdf", "that have this output", _one_of(HAS), HAS),
    "after": Key("after:2026-05", "added since then: a day, month, year, time, or an age such as 30d", _time),
    "before": Key("before:30d", "added before then", _time),
    "plugin": Key(
        "plugin:screenshot", "with an output of this plugin, or a result of it with the given status: or reason:"
    ),
    "status": Key("status:failed", "with this status, or with a result of this status", _one_of(_STATUSES), _STATUSES),
    "reason": Key("reason:timeout", "with a failure for this reason, or a result with the given status: for it"),
    "visibility": Key("visibility:private", "visible to these people", _one_of(VISIBILITIES), VISIBILITIES),
    "type": Key("type:pdf", "of this type", _one_of(TYPES), _TYPES),
    "mime": Key("mime:image/png", "of this media type; mime:image is any image", _lower),
    "http": Key("http:404", "whose server answered with this status: a number, 4xx for a range, or none", _http),
    "quality": Key(
        "quality:<80", "whose replay shows this much of the page without scripts, in percent, or unknown", _quality
    ),
    "crawl": Key("crawl:0199c2f0", "of the crawl whose id begins with this", _id),
    "id": Key("id:0199c2f0", "whose id begins with this", _id),
}
