"""Owns how recorded URLs are written on the origin of a script view.

A URL of the page's own host keeps its path and query, so that a script finds them in ``location``; any other follows
``/~/`` whole, so that what is relative to it leads to the right address by itself.
"""

import re
from dataclasses import dataclass, replace

import ada_url

from archivebox.replay.addresses import LOCAL_NAMES, Replay, host_name, is_url, split_number, whole_url

FOREIGN = "/~/"
"""What stands before the URLs of other hosts, and before the few addresses that are the view's own."""


@dataclass(frozen=True, slots=True)
class ScriptPlace:
    """Where a page is replayed with its scripts.

    ``main``: scheme, host and port of the page. ``clock``: milliseconds since 1970 at which it was recorded.
    ``seed``: 32 bits from which ``Math.random`` begins.
    """

    main: str
    clock: int = 0
    seed: int = 0
    has_service_worker: bool = False
    """Whether a service worker had made some of what was recorded: a page may wait for it."""
    is_plain: bool = True
    """Whether the page's own host is written without itself: only in its own documents, where a path alone means it."""

    def seen_from(self, document: str) -> "ScriptPlace":
        """The place as the ``document`` of this URL writes it."""
        return replace(self, is_plain=origin_of(document) == self.main)

    def address(self, url: str) -> str:
        """The path and query under which the recorded ``url`` is seen."""
        path = url[len(self.main) :] if url.startswith(f"{self.main}/") else ""
        # A path that begins with two slashes would name a host.
        is_plain = self.is_plain and path.startswith("/") and not path.startswith(("//", FOREIGN))
        return path if is_plain else f"{FOREIGN}{url}"

    def frame_address(self, url: str, number: int) -> str:
        """See :meth:`archivebox.replay.addresses.Place.frame_address`. The shim turns it into the plain address."""
        return f"{FOREIGN}{number}~{url}"

    def follow(self, url: str) -> str:
        """Links stay in the frame: a script could click them."""
        return self.address(url)

    def is_ours(self, text: str) -> bool:
        """Whether only :meth:`address` can have written this. A path may be the page's own."""
        return text.startswith(FOREIGN) and is_url(split_number(text[len(FOREIGN) :])[1])

    def url_at(self, target: str) -> str:
        """The recorded URL that a path and query stand for; empty for an address of the view's own."""
        if not target.startswith(FOREIGN):
            return f"{self.main}{target}"
        _, rest = split_number(target[len(FOREIGN) :])
        return whole_url(rest) if is_url(rest) else ""

    @staticmethod
    def frame_at(target: str) -> int:
        """The number of the frame that a path names; 0 where it names none."""
        return split_number(target[len(FOREIGN) :])[0] if target.startswith(FOREIGN) else 0


def origin_of(url: str) -> str:
    """Scheme, host and port of a URL; empty where it is none of the web's."""
    try:
        origin: str = ada_url.URL(url).origin
    except (ValueError, UnicodeError):
        return ""
    return origin if origin.startswith(("http://", "https://")) else ""


def place_of(url: str, clock: int = 0, seed: int = 0, *, has_service_worker: bool = False) -> ScriptPlace:
    """The place of the page at ``url``. ValueError where it is no page of the web."""
    origin = origin_of(url)
    if not origin:
        raise ValueError(f"no page of the web: {url}")
    return ScriptPlace(origin, clock, seed, has_service_worker)


LABEL_BYTES = 16
"""128 random bits."""
_PREFIX = "v-"
_LABEL = re.compile(rf"{_PREFIX}([0-9a-f]{{{2 * LABEL_BYTES}}})")


def label_of_host(host: str) -> str:
    """The label in a Host header; empty where the host is not that of a script view."""
    found = _LABEL.fullmatch(host_name(host).partition(".")[0])
    return found[1] if found else ""


def origin_of_view(replay: Replay, label: str, app_host: str) -> str:
    """Scheme, host and port of a view; ValueError where no scripts may run."""
    if not replay.runs_scripts(app_host):
        raise ValueError("scripts run only where each snapshot has a host name of its own, on another site")
    if replay.url:
        return replay.url.replace("*", f"{_PREFIX}{label}")
    return f"http://{_PREFIX}{label}.{LOCAL_NAMES[0]}:{replay.port}"
