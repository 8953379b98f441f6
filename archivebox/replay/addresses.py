"""Owns how a recorded URL, or the file of a plugin, is written into an address of the replay origin.

``/<capability>/@<origin of the app>/<moment>/<URL or file>``: because it stands last and whole, what is relative in an
archived file (a picture in a style sheet, a script's import) leads to the right address by itself.
"""

import re
from dataclasses import dataclass
from typing import NamedTuple

from archivebox.replay.origins import host_name

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
