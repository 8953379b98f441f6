"""Owns how a recorded URL, or the file of a plugin, is written into an address of the replay origin.

``/<capability>/@<origin of the app>/<moment>/<URL or file>``: because it stands last and whole, what is relative in an
archived file (a picture in a style sheet, a script's import) leads to the right address by itself.
"""

import re
from dataclasses import dataclass

from archivebox.replay.origins import host_name

_WRITTEN = re.compile(r"@(https?):([^/]+)((?:/[^/]+)*?)/(\d{14})/(.*)", re.DOTALL)
_URL = re.compile(r"\A(https?:)//?(?=[^/])")
"""The beginning of a URL, also where a proxy in front of us took two slashes for one."""


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

    def follow(self, url: str) -> str:
        """The address of the app that looks for ``url`` at this moment in the whole collection."""
        return f"{self.app}/web/follow/{self.moment}/{url}"

    def is_ours(self, text: str) -> bool:
        """Whether this was written by :meth:`address` or :meth:`follow`."""
        return text.startswith((f"/{self.token}/", self.follow("")))


def path_of(app: str, moment: str, shown: str) -> str:
    """What follows the capability in an address; ``shown`` is a URL, or the path of a file."""
    return f"@{app.replace('://', ':', 1)}/{moment}/{shown}"


def read(token: str, path: str) -> tuple[ReplayContext | None, str]:
    """The place that is written in ``path``, after its capability, and what is shown there: a URL, or a file's path.

    None for the place where only a file is named.
    """
    found = _WRITTEN.fullmatch(path)
    if found is None or not host_name(found[2]):
        return None, path
    scheme, host, below, moment, shown = found.groups()
    return ReplayContext(token, f"{scheme}://{host}{below}", moment), whole_url(shown)


def whole_url(shown: str) -> str:
    """A URL with both slashes after its scheme; anything else as it is."""
    return _URL.sub(r"\1//", shown, count=1)


def is_url(shown: str) -> bool:
    return _URL.match(shown) is not None
