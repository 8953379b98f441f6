"""Owns which failures are final and which are retried: one table, with the reason for each.

A kill, a full disk or a lost connection never makes a result final. Workers read this table by way of
:mod:`archivebox.contract.outcomes`, ``archivebox update`` and the pages by way of ``core/crawl_control/retry.py``.
"""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import NamedTuple

from archivebox.contract.reasons import Reason


class Retried(StrEnum):
    """When a result that failed is tried again. Whatever is not NEVER is also tried again when somebody asks."""

    AT_ONCE = "at once, and not counted as an attempt"
    BACK_OFF = "after 1, 4 and 16 minutes, until MAX_ATTEMPTS is reached"
    AS_ASKED = "when the server said (`retry_after`), else by back-off, until MAX_ATTEMPTS is reached"
    AS_DECLARED = "by back-off where the hook says that it may pass (`retry`), else when somebody asks"
    WHEN_ASKED = "when somebody asks (`archivebox update`), after what the reason names has changed"
    NEVER = "never"


class Policy(NamedTuple):
    """``by_kill``: whether the death of a process, or a disk that fills, may lead to it. ``why``: for readers."""

    retried: Retried
    by_kill: bool
    why: str


FAILURES: Mapping[Reason, Policy] = MappingProxyType(
    {
        Reason.LOST: Policy(Retried.AT_ONCE, True, "Nobody saw its end: it died with its worker."),
        Reason.PAGE_LOST: Policy(Retried.AT_ONCE, True, "The live page died below it. The page is opened anew."),
        Reason.RELEASED: Policy(Retried.AT_ONCE, True, "Its page was paused or given back while it ran."),
        Reason.CRASHED: Policy(Retried.BACK_OFF, True, "A full disk or a dead helper process ends a hook this way."),
        Reason.SIGNALLED: Policy(
            Retried.BACK_OFF, True, "Somebody killed it. Limited, because the hook itself may be what fills the memory."
        ),
        Reason.TIMEOUT: Policy(Retried.BACK_OFF, True, "The machine was busy, or what it waited for had died."),
        Reason.UNFINISHED: Policy(Retried.BACK_OFF, True, "It was still at work when it was told to stop."),
        Reason.TEMPORARY_FAILURE: Policy(Retried.BACK_OFF, True, "The hook itself says that it may pass."),
        Reason.NOTHING_CAME: Policy(Retried.AS_DECLARED, True, "The page did not load, which another hook reports."),
        Reason.NO_SESSION: Policy(Retried.BACK_OFF, True, "No browser, or one that died each time it was started."),
        Reason.FOLDER_UNUSABLE: Policy(Retried.BACK_OFF, True, "Disks come back, and mounts become writable again."),
        Reason.NO_SUCH_HOST: Policy(Retried.AS_DECLARED, False, "Names rarely come back within minutes."),
        Reason.CONNECTION_REFUSED: Policy(Retried.AS_DECLARED, True, "The server, or our proxy, was restarting."),
        Reason.UNREACHABLE: Policy(Retried.AS_DECLARED, False, "Networks come back."),
        Reason.NO_ANSWER: Policy(Retried.AS_DECLARED, True, "The server, or our proxy, did not answer."),
        Reason.CONNECTION_LOST: Policy(Retried.AS_DECLARED, True, "The server, or our proxy, went away on the way."),
        Reason.TLS_FAILED: Policy(Retried.AS_DECLARED, False, "Certificates are renewed by people."),
        Reason.REDIRECT_LOOP: Policy(Retried.AS_DECLARED, False, "The site has to change."),
        Reason.NO_PAGE: Policy(Retried.AS_DECLARED, False, "The server answered without a page."),
        Reason.SERVER_BUSY: Policy(Retried.AS_ASKED, False, "The server itself says that it passes (429, 503)."),
        Reason.CHALLENGE: Policy(Retried.BACK_OFF, False, "Many sites check only some visits, or only for a while."),
        Reason.LOGIN_WALL: Policy(Retried.WHEN_ASKED, False, "Somebody has to log in."),
        Reason.PRIVATE_ADDRESS: Policy(Retried.AS_DECLARED, False, "PRIVATE_NETWORK_ALLOWLIST has to change."),
        Reason.SIZE_REACHED: Policy(Retried.AS_DECLARED, False, "MAX_SIZE has to change."),
        Reason.PAGE_GONE: Policy(
            Retried.WHEN_ASKED, False, "We ended the page for its memory. It would take as much again."
        ),
        Reason.WORKER_LOST: Policy(
            Retried.WHEN_ASKED, False, "Five workers in a row died of it alone, and no result became final in between."
        ),
        Reason.MISSING_BINARY: Policy(Retried.WHEN_ASKED, False, "It is due as soon as the program is installed."),
        Reason.MISSING_MODULE: Policy(Retried.WHEN_ASKED, False, "A package has to be installed."),
        Reason.MISSING_NODE_MODULE: Policy(Retried.WHEN_ASKED, False, "An npm package has to be installed."),
        Reason.MISSING_PLUGIN: Policy(Retried.WHEN_ASKED, False, "A plugin has to be put into place."),
        Reason.COULD_NOT_START: Policy(Retried.WHEN_ASKED, False, "Its file or its interpreter has to change."),
        Reason.USAGE_ERROR: Policy(Retried.WHEN_ASKED, False, "The hook or its declaration has to change."),
        Reason.RECORD_REFUSED: Policy(Retried.WHEN_ASKED, False, "The hook has to change: it would print that again."),
        Reason.TOO_MANY_RECORDS: Policy(Retried.WHEN_ASKED, False, "A limit, or the hook, has to change."),
        Reason.MISCONFIGURED: Policy(Retried.WHEN_ASKED, False, "A setting has to change."),
        Reason.DECLARED: Policy(Retried.NEVER, False, "The hook ran, and says that this is not to be had."),
        Reason.CANCELLED: Policy(Retried.NEVER, False, "Somebody did not want it."),
    }
)
"""Every reason that a failed ArchiveResult may have. One that is not here (of an older version) is tried when asked."""

NOT_THE_PAGE = frozenset({Reason.SERVER_BUSY, Reason.CHALLENGE, Reason.LOGIN_WALL})
"""Reasons by which a navigation says that something else came than the page: what is kept of that is no page."""

FINAL = frozenset(reason for reason, policy in FAILURES.items() if policy.retried is Retried.NEVER)
"""Reasons of failures that nothing tries again."""

BY_KILL = frozenset(reason for reason, policy in FAILURES.items() if policy.by_kill)
"""Reasons that the death of a process or a disk that fills may lead to: no final result has one of them for long."""


def is_retried_by_itself(reason: Reason) -> bool:
    """Whether a failure for this reason is tried again without anybody asking, if its hook says nothing of it."""
    return FAILURES[reason].retried in {Retried.AT_ONCE, Retried.BACK_OFF, Retried.AS_ASKED}
