"""Owns what comes of a hook run: the table of the contract, row by row."""

import re
from dataclasses import dataclass
from enum import StrEnum

from archivebox.contract.reasons import Reason
from archivebox.contract.records import EndReason

SKIPPED_EXIT = 10
"""Exit status by which a hook says that it does not apply to this page."""

_USAGE_ERROR = re.compile(
    r"no such option|unrecognized arguments|unknown option|got unexpected extra argument|missing (?:option|argument)"
    r"|the following arguments are required|ERR_PARSE_ARGS",
    re.IGNORECASE,
)


class Status(StrEnum):
    """What a run makes of its result; ``queued`` puts it back as if it had not run."""

    SUCCEEDED = "succeeded"
    NORESULTS = "noresults"
    SKIPPED = "skipped"
    FAILED = "failed"
    QUEUED = "queued"


class Declared(StrEnum):
    """What a hook's ``ArchiveResult`` record may say of itself."""

    SUCCEEDED = "succeeded"
    NORESULTS = "noresults"
    SKIPPED = "skipped"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Outcome:
    """``retry``: run again, by back-off or at once; ``counts``: this run is one of the attempts that are limited."""

    status: Status
    reason: Reason | None = None
    retry: bool = False
    counts: bool = True


BACK_TO_QUEUE = Outcome(Status.QUEUED, Reason.RELEASED, retry=True, counts=False)
"""The Snapshot was paused or released while its hook ran."""


def could_not_start(reason: Reason = Reason.COULD_NOT_START) -> Outcome:
    """No program, no permission, a usage error: failed until what ``reason`` names has changed."""
    return Outcome(Status.FAILED, reason, retry=False, counts=False)


def outcome(
    *,
    exit_code: int | None,
    end_reason: EndReason,
    declared: Declared | None,
    wrote_files: bool,
    told_to_stop: bool,
    new_dialect: bool = False,
) -> Outcome:
    """What a run comes to.

    ``exit_code`` follows Popen (-N for signal N; None: nobody saw it). ``declared`` is the last status the hook
    printed, ``told_to_stop`` a background hook at the end. ``new_dialect``: the hook prints ``failed`` for any
    exception, so that word alone says nothing about whether it would fail again.
    """
    if end_reason is EndReason.CANCELLED:
        return Outcome(Status.SKIPPED, Reason.CANCELLED, counts=False)
    if end_reason is EndReason.TIMEOUT:
        return _timed_out(declared)
    if told_to_stop or end_reason is EndReason.SEALED:
        return _stopped(exit_code, declared, wrote_files=wrote_files)
    if end_reason is EndReason.LOST or exit_code is None:
        return Outcome(Status.QUEUED, Reason.LOST, retry=True, counts=False)
    if exit_code == SKIPPED_EXIT:
        return Outcome(Status.SKIPPED, Reason.NOT_APPLICABLE)
    if exit_code == 0:
        return _as_declared(declared, wrote_files=wrote_files)
    return _ended_badly(end_reason, exit_code, declared, new_dialect=new_dialect)


def _timed_out(declared: Declared | None) -> Outcome:
    if declared is Declared.SUCCEEDED:
        return Outcome(Status.SUCCEEDED)
    return Outcome(Status.FAILED, Reason.TIMEOUT, retry=True)


def _stopped(exit_code: int | None, declared: Declared | None, *, wrote_files: bool) -> Outcome:
    """Its exit status says nothing (a signal ended it, perhaps KILL), save 10, which says the same in every row."""
    if exit_code == SKIPPED_EXIT:
        return Outcome(Status.SKIPPED, Reason.NOT_APPLICABLE)
    return _as_declared(declared, wrote_files=wrote_files)


def _as_declared(declared: Declared | None, *, wrote_files: bool) -> Outcome:
    if declared is None:
        return Outcome(Status.SUCCEEDED if wrote_files else Status.NORESULTS)
    return Outcome(Status(declared.value), _DECLARED_REASON.get(declared))


_DECLARED_REASON = {Declared.FAILED: Reason.DECLARED, Declared.SKIPPED: Reason.NOT_APPLICABLE}


def _ended_badly(end_reason: EndReason, exit_code: int, declared: Declared | None, *, new_dialect: bool) -> Outcome:
    """Permanent only if the hook itself said ``failed``; whatever else it printed is the part it had finished."""
    if declared is Declared.FAILED:
        return Outcome(Status.FAILED, Reason.DECLARED, retry=new_dialect)
    signalled = end_reason is EndReason.SIGNALLED or exit_code < 0
    return Outcome(Status.FAILED, Reason.SIGNALLED if signalled else Reason.CRASHED, retry=True)


def is_usage_error(exit_code: int | None, stderr_tail: str) -> bool:
    """Whether a hook refused its options: exit status 2 (click, argparse) or Node's 1, and their words for it."""
    return exit_code in (1, 2) and bool(_USAGE_ERROR.search(stderr_tail))
