"""Owns what may be added by whoever may add only because PUBLIC_ADD_VIEW opens it: a few URLs an hour, and a depth."""

from collections.abc import Iterable
from typing import cast

from django.conf import settings

from archivebox.accounts.permission import Who, user_of
from archivebox.accounts.roles import ALLOWED, Action, role_of
from archivebox.config.core import CORE_SETTINGS
from archivebox.lib.networks import subscriber_of
from archivebox.lib.throttle import Throttle

HOUR = 3600.0
_added: dict[int, Throttle] = {}
"""URLs by address, in memory, for each limit that was set: the one web process."""


class PasserByError(Exception):
    """What was asked for is for people with an account; the message is a sentence."""


class TooManyUrlsError(Exception):
    """More URLs than this address may add now; ``wait``: seconds until it may."""

    def __init__(self, sentence: str, wait: int) -> None:
        super().__init__(sentence)
        self.wait = wait


def is_passer_by(who: Who) -> bool:
    """Whether ``who`` may add by that setting alone; a viewer is one, too."""
    return Action.ADD not in ALLOWED[role_of(user_of(who))]


def most_depth() -> int:
    """Links that may be followed of the URLs of anonymous."""
    return _setting("PUBLIC_ADD_DEPTH")


def _setting(name: str) -> int:
    """As it was when the server started; the default where no server reads it."""
    return cast("int", getattr(settings, name, CORE_SETTINGS[name].default))


def check_choices(depth: int, others: Iterable[str]) -> None:
    """PasserByError where more was chosen than URLs and a depth; ``others``: the names of what was."""
    for name in sorted(others):
        raise PasserByError(f"This is for accounts that may add: leave `{name}` out. URLs and `depth` are for all.")
    if depth > most_depth():
        raise PasserByError(f"Links are followed {most_depth()} deep at most, unless your account may add.")


def count_urls(address: str, count: int) -> None:
    """Count URLs that are about to be added from ``address``, or raise TooManyUrlsError and count none."""
    most = _setting("PUBLIC_ADD_PER_HOUR")
    allowed = f"One address adds at most {most} URLs an hour, unless its account may add."
    if count > most:
        raise TooManyUrlsError(f"{allowed} Send fewer.", int(HOUR))
    throttle = _added.setdefault(most, Throttle(most, HOUR))
    if wait := throttle.attempt(subscriber_of(address), count=count):
        raise TooManyUrlsError(f"{allowed} Try again in {-(-wait // 60)} minutes.", wait)
