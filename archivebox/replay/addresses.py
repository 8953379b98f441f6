"""Owns how a recorded URL, or the file of a plugin, is written into an address of the replay origin.

``/<capability>/@<origin of the app>/<moment>/<URL or file>``: because it stands last and whole, what is relative in an
archived file (a picture in a style sheet, a script's import) leads to the right address by itself.
"""

import re
from dataclasses import dataclass
from itertools import takewhile
from typing import NamedTuple
from urllib.parse import urlsplit
from uuid import UUID

_NAME = re.compile(r"[a-z0-9._-]+|[0-9a-f:.]+")
LOCAL_NAMES = ("localhost", "127.0.0.1", "::1")
"""Hosts from which names below ``localhost`` lead to the same machine (RFC 6761, section 6.3)."""

PICTURES = "pictures"
"""The name, beside those of snapshots, under which lists show their pictures."""

NOBODY = "null"
"""The origin of a page in a sandbox that gives it none (HTML 7.1.1)."""
_PARTS = frozenset({"font", "image"})


@dataclass(frozen=True, slots=True)
class Replay:
    """Where the replay listener is seen: the port, or what a proxy in front of it was set up for."""

    port: int
    url: str = ""
    """``REPLAY_URL``: scheme and host; a ``*`` stands for a host name per snapshot."""
    app_url: str = ""
    """``BASE_URL``."""

    def origin(self, snapshot_id: UUID, app_host: str) -> str:
        """Scheme, host and port that show this snapshot to somebody who reached the app as ``app_host``."""
        if self.url:
            return self.url.replace("*", str(snapshot_id))
        name = host_name(app_host)
        if name in LOCAL_NAMES:
            return f"http://{snapshot_id}.localhost:{self.port}"
        return f"http://{bracketed(name)}:{self.port}"

    def pictures_origin(self, app_host: str) -> str:
        """Scheme, host and port that show the small pictures of all lists: one host, and no snapshot's own."""
        if self.url:
            return self.url.replace("*", PICTURES)
        name = host_name(app_host)
        return f"http://{f'{PICTURES}.localhost' if name in LOCAL_NAMES else bracketed(name)}:{self.port}"

    def isolates(self, app_host: str) -> bool:
        """Whether each snapshot has a host name of its own."""
        return "*" in self.url if self.url else host_name(app_host) in LOCAL_NAMES

    def runs_scripts(self, app_host: str) -> bool:
        """Whether scripts of archived pages may run: on hosts of their own, from where nothing reaches the app."""
        apps = (host_name(app_host), urlsplit(self.app_url).hostname or "")
        return self.isolates(app_host) and not any(is_same_site(app, urlsplit(self.url).hostname or "") for app in apps)

    def source(self, app_host: str) -> str:
        """All such origins as one source of a Content-Security-Policy."""
        if self.url:
            return self.url
        name = host_name(app_host)
        return f"http://{'*.localhost' if name in LOCAL_NAMES else bracketed(name)}:{self.port}"


def is_same_site(one: str, other: str) -> bool:
    """Whether a page on one host may set cookies that the other gets (RFC 6265, 5.3), as far as names tell.

    Without the list of public suffixes, which changes daily: two names that share more than a top-level domain, or than
    one like ``co.uk``, count as one site.
    """
    shared = [a for a, b in takewhile(lambda pair: pair[0] == pair[1], zip(*_labels(one, other), strict=False))]
    is_registry = len(shared) == 2 and len(shared[0]) == 2 and shared[1] in _REGISTRIES
    return len(shared) > 1 and not is_registry


_REGISTRIES = frozenset({"ac", "co", "com", "edu", "gov", "net", "org"})
"""Names below those of countries under which people register theirs."""


def _labels(*hosts: str) -> list[list[str]]:
    return [host.rstrip(".").split(".")[::-1] for host in hosts]


def host_name(host: str) -> str:
    """The name in a Host header, without port and brackets, in lower case; empty where it is none.

    Policies are written with it, so it holds nothing that would end a directive.
    """
    try:
        name = urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""
    return name if _NAME.fullmatch(name) else ""


def bracketed(name: str) -> str:
    return f"[{name}]" if ":" in name else name


def snapshot_of_host(host: str) -> UUID | None:
    """The snapshot that a replay host name is for; None on a host that all share."""
    label = host_name(host).partition(".")[0]
    try:
        return UUID(label) if len(label) == 36 else None
    except ValueError:
        return None


def is_shared_font_or_mask(host: str, origin: str, destination: str) -> bool:
    """Whether a page on a host that all share asks for a font, or a picture to mask with.

    Those are asked for across origins by standard (CSS Fonts 4, 4.9; CSS Masking 1, 7.1), and the origin of such a page
    is nobody's. What scripts read, and documents, are none of it.
    """
    return snapshot_of_host(host) is None and origin == NOBODY and destination in _PARTS


def framers(host: str, app_url: str = "") -> str:
    """Who may show a page of this replay host in a frame: the app on the same host, on any port."""
    if app_url:
        return app_url
    own = snapshot_of_host(host) is not None
    name = host_name(host).partition(".")[2] if own else host_name(host)
    if not name:
        return ""
    if name in LOCAL_NAMES:
        return "http://localhost:* http://127.0.0.1:*"  # CSP has no way to name [::1]
    return f"http://{bracketed(name)}:* https://{bracketed(name)}:*"


def sandbox(*, own: bool, scripts: bool, links: bool = True) -> str:
    """What a sandboxed page may do: be of its own origin, where that is its alone (for its fonts), and run scripts.

    ``links``: one that a person clicks may lead the window away. What is not only a frame says so too, in the header
    of the document itself, and only for one without scripts whose links were made to lead into the app.
    """
    return " ".join(
        ["allow-scripts"] * (own and scripts)
        + ["allow-same-origin"] * own
        + ["allow-top-navigation-by-user-activation"] * (links and not scripts)
    )


def policy(
    host: str, mimetype: str, app_url: str = "", *, scripts: bool = False, links: bool = False, is_clean: bool = False
) -> str:
    """The Content-Security-Policy of archived bytes.

    ``scripts`` run on a host of the snapshot's own, where they reach nothing beside its files. On a shared host they
    never do, and the page has an origin that nothing else has. PDF readers do not work inside a sandbox, and run no
    script of the document on the page's origin. ``links``: see :func:`sandbox`. Only a document that ``is_clean`` has
    an origin: one that has none tells no other site its address, whatever its links say (Referrer Policy, 8.3).
    """
    own = is_clean and snapshot_of_host(host) is not None
    scripts = scripts and own
    allowed = "'self' 'unsafe-inline' 'unsafe-eval' data: blob:" if scripts else "'none'"
    reaching = (f"script-src {allowed}", "connect-src 'none'", "worker-src 'none'")
    in_sandbox = sandbox(own=own, scripts=scripts, links=links) if mimetype != "application/pdf" else None
    return policy_of(reaching, framers(host, app_url), in_sandbox)


def policy_of(reaching: tuple[str, ...], ancestors: str, in_sandbox: str | None) -> str:
    """The policy of a replay, given what differs: what scripts reach, who may frame it, and what its sandbox allows."""
    directives = (
        "default-src 'self' 'unsafe-inline' data: blob:",
        *reaching,
        "form-action 'none'",
        "base-uri 'self'",
        "frame-src 'self' data: blob:",
        f"frame-ancestors 'self' {ancestors}",
        "webrtc 'block'",
        *([] if in_sandbox is None else [f"sandbox {in_sandbox}".strip()]),
    )
    return "; ".join(directives)


_WRITTEN = re.compile(r"@(https?):([^/]+)((?:/[^/]+)*?)/(\d{14})/(.*)", re.DOTALL)
_URL = re.compile(r"\A(https?:)//?(?=[^/])")
"""The beginning of a URL, also where a proxy in front of us took two slashes for one."""
_NUMBERED = re.compile(r"\A([1-9]\d{0,5})~(?=https?:/)")
"""What stands before the URL of a frame that got another answer than the frames before it."""


@dataclass(frozen=True, slots=True)
class ReplayContext:
    """Where a page is replayed: with which capability, for whom, and of which moment.

    ``app``: scheme, host and path by which the viewer reaches the app, to which links lead. ``moment``: YYYYMMDDhhmmss,
    UTC.
    """

    token: str
    app: str
    moment: str

    def address(self, url: str) -> str:
        """The path under which the recorded ``url`` is seen."""
        return f"/{self.token}/{path_of(self.app, self.moment, url)}"

    def frame_address(self, url: str, number: int) -> str:
        """The same for the ``number``-th frame (1, 2, …) of those to which ``url`` was answered differently."""
        return self.address(f"{number}~{url}")

    def follow(self, url: str) -> str:
        """The address of the app that looks for ``url`` at this moment in the whole collection."""
        return f"{self.app}/web/follow/{self.moment}/{url}"

    def is_ours(self, text: str) -> bool:
        """Whether this was written by :meth:`address` or :meth:`follow`."""
        return text.startswith((f"/{self.token}/", self.follow("")))


def path_of(app: str, moment: str, shown: str) -> str:
    """What follows the capability in an address; ``shown`` is a URL, or the path of a file."""
    return f"@{app.replace('://', ':', 1)}/{moment}/{shown}"


class ReplayAddress(NamedTuple):
    """What an address says. ``place``: None where only a file is named. ``shown``: a URL, or the path of a file.

    ``frame``: of which frame the answer is wanted; 0 for the best answer.
    """

    place: ReplayContext | None
    shown: str
    frame: int = 0


def read(token: str, path: str) -> ReplayAddress:
    """What is written in ``path``, after its capability."""
    found = _WRITTEN.fullmatch(path)
    if found is None or not host_name(found[2]):
        return ReplayAddress(None, path)
    scheme, host, below, moment, shown = found.groups()
    frame, shown = split_number(shown)
    return ReplayAddress(ReplayContext(token, f"{scheme}://{host}{below}", moment), whole_url(shown), frame)


def split_number(shown: str) -> tuple[int, str]:
    """The number of a frame, and the URL that follows it; 0 and all of it where no number stands there."""
    found = _NUMBERED.match(shown)
    return (int(found[1]), shown[found.end() :]) if found else (0, shown)


def whole_url(shown: str) -> str:
    """A URL with both slashes after its scheme; anything else as it is."""
    return _URL.sub(r"\1//", shown, count=1)


def is_url(shown: str) -> bool:
    return _URL.match(shown) is not None
