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

    IMMEDIATELY = "at once, and not counted as an attempt"
    BACK_OFF = "after 1, 4 and 16 minutes, until MAX_ATTEMPTS is reached"
    AS_ASKED = "when the server said (`retry_after`), else by back-off, until MAX_ATTEMPTS is reached"
    AS_DECLARED = "by back-off where the hook says that it may pass (`retry`), else when somebody asks"
    WHEN_ASKED = "when somebody asks (`archivebox update`), after what the reason names has changed"
    NEVER = "never"


class RetryPolicy(NamedTuple):
    """``by_kill``: whether the death of a process, or a disk that fills, may lead to it. ``why``: for readers."""

    retried: Retried
    by_kill: bool
    why: str


FAILURES: Mapping[Reason, RetryPolicy] = MappingProxyType(
    {
        Reason.LOST: RetryPolicy(Retried.IMMEDIATELY, True, "Nobody saw its end: it died with its worker."),
        Reason.PAGE_LOST: RetryPolicy(
            Retried.IMMEDIATELY, True, "The live page died below it. The page is opened anew."
        ),
        Reason.RELEASED: RetryPolicy(Retried.IMMEDIATELY, True, "Its page was paused or given back while it ran."),
        Reason.CRASHED: RetryPolicy(
            Retried.BACK_OFF, True, "A full disk or a dead helper process ends a hook this way."
        ),
        Reason.SIGNALLED: RetryPolicy(
            Retried.BACK_OFF, True, "Somebody killed it. Limited, because the hook itself may be what fills the memory."
        ),
        Reason.TIMEOUT: RetryPolicy(Retried.BACK_OFF, True, "The machine was busy, or what it waited for had died."),
        Reason.UNFINISHED: RetryPolicy(Retried.BACK_OFF, True, "It was still at work when it was told to stop."),
        Reason.TEMPORARY_FAILURE: RetryPolicy(Retried.BACK_OFF, True, "The hook itself says that it may pass."),
        Reason.NOTHING_CAME: RetryPolicy(
            Retried.AS_DECLARED, True, "The page did not load, which another hook reports."
        ),
        Reason.NO_SESSION: RetryPolicy(
            Retried.BACK_OFF, True, "No browser, or one that died each time it was started."
        ),
        Reason.FOLDER_UNUSABLE: RetryPolicy(
            Retried.BACK_OFF, True, "Disks come back, and mounts become writable again."
        ),
        Reason.NO_SUCH_HOST: RetryPolicy(Retried.AS_DECLARED, False, "Names rarely come back within minutes."),
        Reason.CONNECTION_REFUSED: RetryPolicy(Retried.AS_DECLARED, True, "The server, or our proxy, was restarting."),
        Reason.UNREACHABLE: RetryPolicy(Retried.AS_DECLARED, False, "Networks come back."),
        Reason.NO_ANSWER: RetryPolicy(Retried.AS_DECLARED, True, "The server, or our proxy, did not answer."),
        Reason.CONNECTION_LOST: RetryPolicy(
            Retried.AS_DECLARED, True, "The server, or our proxy, went away on the way."
        ),
        Reason.TLS_FAILED: RetryPolicy(Retried.AS_DECLARED, False, "Certificates are renewed by people."),
        Reason.REDIRECT_LOOP: RetryPolicy(Retried.AS_DECLARED, False, "The site has to change."),
        Reason.NO_PAGE: RetryPolicy(Retried.AS_DECLARED, False, "The server answered without a page."),
        Reason.SERVER_BUSY: RetryPolicy(Retried.AS_ASKED, False, "The server itself says that it passes (429, 503)."),
        Reason.CHALLENGE: RetryPolicy(
            Retried.BACK_OFF, False, "Many sites check only some visits, or only for a while."
        ),
        Reason.LOGIN_WALL: RetryPolicy(Retried.WHEN_ASKED, False, "Somebody has to log in."),
        Reason.PRIVATE_ADDRESS: RetryPolicy(Retried.AS_DECLARED, False, "PRIVATE_NETWORK_ALLOWLIST has to change."),
        Reason.FILES_MISSING: RetryPolicy(Retried.AS_DECLARED, False, "The site was too slow for the time it has."),
        Reason.SIZE_REACHED: RetryPolicy(Retried.AS_DECLARED, False, "MAX_SIZE has to change."),
        Reason.PAGE_GONE: RetryPolicy(
            Retried.WHEN_ASKED, False, "We ended the page for its memory. It would take as much again."
        ),
        Reason.WORKER_LOST: RetryPolicy(
            Retried.WHEN_ASKED, False, "Five workers in a row died of it alone, and no result became final in between."
        ),
        Reason.MISSING_BINARY: RetryPolicy(Retried.WHEN_ASKED, False, "It is due as soon as the program is installed."),
        Reason.MISSING_MODULE: RetryPolicy(Retried.WHEN_ASKED, False, "A package has to be installed."),
        Reason.MISSING_NODE_MODULE: RetryPolicy(Retried.WHEN_ASKED, False, "An npm package has to be installed."),
        Reason.MISSING_PLUGIN: RetryPolicy(Retried.WHEN_ASKED, False, "A plugin has to be put into place."),
        Reason.COULD_NOT_START: RetryPolicy(Retried.WHEN_ASKED, False, "Its file or its interpreter has to change."),
        Reason.USAGE_ERROR: RetryPolicy(Retried.WHEN_ASKED, False, "The hook or its declaration has to change."),
        Reason.RECORD_REFUSED: RetryPolicy(
            Retried.WHEN_ASKED, False, "The hook has to change: it would print that again."
        ),
        Reason.TOO_MANY_RECORDS: RetryPolicy(Retried.WHEN_ASKED, False, "A limit, or the hook, has to change."),
        Reason.MISCONFIGURED: RetryPolicy(Retried.WHEN_ASKED, False, "A setting has to change."),
        Reason.DECLARED: RetryPolicy(Retried.NEVER, False, "The hook ran, and says that this is not to be had."),
        Reason.CANCELLED: RetryPolicy(Retried.NEVER, False, "Somebody did not want it."),
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
    return FAILURES[reason].retried in {Retried.IMMEDIATELY, Retried.BACK_OFF, Retried.AS_ASKED}
