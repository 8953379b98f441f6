"""Owns how a recorded URL is written into an address of the replay origin, and read from one.

``/<capability>/@<origin of the app>/<moment>/<URL>``: because the URL stands last and whole, what is relative in an
archived file (a picture in a style sheet, a script's import) leads to the right address by itself.
"""

import re
from dataclasses import dataclass

from archivebox.replay.origins import host_name

_WRITTEN = re.compile(r"@(https?):([^/]+)/(\d{14})/(https?://.+)", re.DOTALL)
_ONE_SLASH = re.compile(r"(https?:)/(?=[^/])")


@dataclass(frozen=True, slots=True)
class Place:
    """Where a page is replayed: with which capability, for whom, and of which moment.

    ``app``: scheme and host by which the viewer reaches the app, to which links lead. ``moment``: YYYYMMDDhhmmss, UTC.
    """

    token: str
    app: str
    moment: str

    def address(self, url: str) -> str:
        """The path under which the recorded ``url`` is seen."""
        return f"/{self.token}/{page_path(self.app, self.moment, url)}"

    def follow(self, url: str) -> str:
        """The address of the app that looks for ``url`` at this moment in the whole collection."""
        return f"{self.app}/web/follow/{self.moment}/{url}"


def page_path(app: str, moment: str, url: str) -> str:
    """What follows the capability in an address."""
    return f"@{app.replace('://', ':', 1)}/{moment}/{url}"


def read(token: str, path: str, query: str) -> tuple[Place, str] | None:
    """The place and the URL that are written in ``path``, after its capability; None where it names a file."""
    found = _WRITTEN.fullmatch(_ONE_SLASH.sub(r"\1//", path, count=1) if path.startswith("@") else path)
    if found is None or not host_name(found[2]):
        return None
    url = f"{found[4]}?{query}" if query else found[4]
    return Place(token, f"{found[1]}://{found[2]}", found[3]), url
