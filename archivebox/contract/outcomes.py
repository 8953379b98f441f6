"""Owns what comes of a hook run: the table of the contract, row by row. What is retried: ``failures.py``."""

import re
import signal
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import NamedTuple

from archivebox.contract.failures import NOT_THE_PAGE, is_retried_by_itself
from archivebox.contract.reasons import Reason
from archivebox.contract.records import EndReason

SKIPPED_EXIT = 10
"""Exit status by which a hook says that it does not apply to this page."""

NOT_EXECUTABLE, NOT_FOUND = 126, 127
"""Exit statuses of env(1) and of shells for a program that cannot be run, or is not there (POSIX, 2.8.2)."""

BY_TERM = frozenset({-signal.SIGTERM, 128 + signal.SIGTERM})
"""Exit codes of what died of TERM: itself, or as a shell or a runner tells of its child."""

STDERR_TAIL = 4000
"""Letters of a hook's stderr that are read: an error is at the end."""

_USAGE_ERROR = re.compile(
    r"no such option|unrecognized arguments|unknown option|got unexpected extra argument|missing (?:option|argument)"
    r"|the following arguments are required|ERR_PARSE_ARGS",
    re.IGNORECASE,
)
_USAGE_OF = re.compile(r"^\s*usage:(.*)$|^(\S+): error:", re.IGNORECASE | re.MULTILINE)
"""By which a program that refuses an option names itself (click, argparse, optparse)."""
_HOOK_NAME = re.compile(r"\bon_[A-Z]")
_MISSING_MODULE = re.compile(r"^ModuleNotFoundError: No module named '([^'./][^']*)'", re.MULTILINE)
_MISSING_NODE_MODULE = re.compile(
    r"^(?:Error: Cannot find module|Error \[ERR_MODULE_NOT_FOUND\]: Cannot find package) '([^'./][^']*)'", re.MULTILINE
)
_MISSING_PROGRAM = re.compile(
    r"env: [\u2018'\"]?([^\u2019'\"\s:]+)[\u2019'\"]?: No such file|([^\s:]+): (?:command )?not found", re.ASCII
)


class Status(StrEnum):
    """What a run makes of its result; ``queued``, which no hook declares, puts it back as if it had not run."""

    SUCCEEDED = "succeeded"
    NORESULTS = "noresults"
    SKIPPED = "skipped"
    FAILED = "failed"
    QUEUED = "queued"


FINAL_STATUSES = frozenset({"succeeded", "noresults", "failed", "skipped"})
"""Of results that are not run again by themselves."""


class Retry(StrEnum):
    """What a hook that failed may say of trying again: ``"retry"`` in its ``ArchiveResult`` record."""

    LATER = "later"
    """What stood in its way may pass by itself: by back-off."""
    NEW_PAGE = "new_page"
    """The live page is gone: as soon as it has been opened anew, and not counted."""


DECLARABLE = (Status.SUCCEEDED, Status.NORESULTS, Status.SKIPPED, Status.FAILED)
"""What a hook's ``ArchiveResult`` record may say of itself."""

DECLARABLE_REASONS = NOT_THE_PAGE | frozenset(
    {
        Reason.NO_SUCH_HOST, Reason.CONNECTION_REFUSED, Reason.UNREACHABLE, Reason.NO_ANSWER, Reason.CONNECTION_LOST,
        Reason.TLS_FAILED, Reason.REDIRECT_LOOP, Reason.NO_PAGE, Reason.NOTHING_CAME, Reason.PRIVATE_ADDRESS,
        Reason.SIZE_REACHED, Reason.FILES_MISSING,
    }
)  # fmt: skip
"""Why it failed, as a hook may say it: ``"reason"`` in its ``ArchiveResult`` record. FILES_MISSING may also be of a
success.
"""

OF_THE_ADDRESS = DECLARABLE_REASONS - {Reason.NOTHING_CAME}
"""Reasons of a failed navigation that lie with the address, and not with the tab or with us."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """``retry``: run again, by back-off or at once; ``counts``: this run is one of the attempts that are limited."""

    status: Status
    reason: Reason | None = None
    retry: bool = False
    counts: bool = True
    detail: str = ""
    """What the reason speaks of: a program, a module, the last line of stderr."""

    @property
    def code(self) -> str:
        """The reason as rows keep it: ``missing_binary:wget``; empty where there is none."""
        if self.reason is None:
            return ""
        return self.reason.of(self.detail) if self.detail else self.reason.value


class EndedRun(NamedTuple):
    """All that the outcome of one run depends on.

    ``exit_code`` follows Popen (-N for signal N; None: nobody saw it). ``declared`` is the last status that the hook
    printed, ``why`` and ``again`` what it said of the reason and of trying again, ``unknown`` the word that it printed
    instead of a status, ``refused`` the reason code where a record of it was not taken. ``listens``: a background hook
    that works until it is told to stop, by its name or its declaration. ``unwatched``: it ended while no worker had
    it. ``killed_early``: somebody else killed it while it wound down. ``released``: its object was given back while it
    ran. ``newer_dialect``: it prints ``failed`` for any exception.
    """

    exit_code: int | None
    end_reason: EndReason
    declared: Status | None = None
    why: Reason | None = None
    again: Retry | None = None
    unknown: str = ""
    refused: str = ""
    wrote_files: bool = False
    wrote_bytes: bool = False
    background: bool = False
    finite: bool = False
    listens: bool = False
    session: bool = False
    newer_dialect: bool = False
    taken_over: bool = False
    unwatched: bool = False
    killed_early: bool = False
    released: bool = False
    stderr: str = ""

    @property
    def died_of_term(self) -> bool:
        """Whether TERM has ended it, or nobody saw what did after we had told it to stop."""
        return self.exit_code in BY_TERM or (self.exit_code is None and self.end_reason is EndReason.SEALED)

    @property
    def may_be_stopped(self) -> bool:
        """Whether TERM at the end is its ordinary end: of background hooks that do not end by themselves."""
        return self.background and not self.finite

    @property
    def was_given_back(self) -> bool:
        """Whether it was told to stop for its object's sake, by us or by a worker that died before it could say so."""
        given_back = self.released or (self.taken_over and self.died_of_term and not self.may_be_stopped)
        return given_back and self.end_reason is EndReason.SEALED

    @property
    def is_navigation(self) -> bool:
        """Whether its effect is the live page alone: what needs that page has it run again."""
        return self.session and not self.background

    @property
    def lost_its_page(self) -> bool:
        """Whether it holds or records the live page and says that this is gone, while no worker had them."""
        says_so = self.session and self.declared is Status.FAILED and self.again is not None
        return says_so and (self.is_lost or self.unwatched)

    @property
    def is_lost(self) -> bool:
        """Nobody saw its end, which we did not ask for, or it fell together with its worker."""
        unseen = self.exit_code is None and self.end_reason is not EndReason.SEALED
        fell_with_its_worker = self.unwatched and self.exit_code == -signal.SIGKILL
        return self.end_reason is EndReason.LOST or unseen or fell_with_its_worker


BACK_TO_QUEUE = Outcome(Status.QUEUED, Reason.RELEASED, retry=True, counts=False)
"""The Snapshot was paused or released while its hook ran."""

PAGE_LOST = Outcome(Status.QUEUED, Reason.PAGE_LOST, retry=True, counts=False)
"""The live page went away while the hook worked on it: it waits for the next one."""

CUT_OFF = Outcome(Status.QUEUED, Reason.UNFINISHED, retry=True, counts=False)
"""A plain background hook was at work when it was told to stop: it runs again, and from now on counts as finite."""


def could_not_start(reason: Reason = Reason.COULD_NOT_START, detail: str = "") -> Outcome:
    """No program, no permission, a usage error: failed until what ``reason`` names has changed."""
    return Outcome(Status.FAILED, reason, retry=False, counts=False, detail=detail)


def failure(reason: Reason, detail: str = "") -> Outcome:
    """A failure of which the hook itself says nothing: the table of failures says whether it is tried again."""
    return Outcome(Status.FAILED, reason, retry=is_retried_by_itself(reason), detail=detail)


def outcome(run: EndedRun) -> Outcome:
    """What a run comes to, as the contract's table says."""
    result = _outcome(run)
    if run.refused and result.status is not Status.QUEUED and result.reason is not Reason.CANCELLED:
        reason, _, detail = run.refused.partition(":")
        return Outcome(Status.FAILED, Reason(reason), detail=detail)
    if result.reason in NOT_THE_PAGE:
        own = Reason.TEMPORARY_FAILURE if result.retry else Reason.DECLARED
        return result if run.is_navigation else replace(result, reason=own)
    return result


def _outcome(run: EndedRun) -> Outcome:
    if run.end_reason is EndReason.CANCELLED:
        return Outcome(Status.SKIPPED, Reason.CANCELLED, counts=False)
    if run.end_reason is EndReason.TIMEOUT:
        return _timed_out(run.declared)
    if run.lost_its_page or (run.is_lost and run.declared is None):
        return Outcome(Status.QUEUED, Reason.LOST, retry=True, counts=False)
    if run.is_lost:
        return _as_declared(run)
    if run.was_given_back:
        return Outcome(Status.SUCCEEDED) if run.declared is Status.SUCCEEDED else BACK_TO_QUEUE
    if run.end_reason is EndReason.SEALED or (run.died_of_term and run.may_be_stopped):
        return _stopped(run)
    if run.died_of_term and run.taken_over:
        return BACK_TO_QUEUE  # ours, on the way down: whoever sent it died before it could say so
    if run.exit_code == SKIPPED_EXIT:
        return Outcome(Status.SKIPPED, Reason.NOT_APPLICABLE)
    return _as_declared(run) if run.exit_code == 0 else _ended_badly(run)


def _timed_out(declared: Status | None) -> Outcome:
    if declared is Status.SUCCEEDED:
        return Outcome(Status.SUCCEEDED)
    return failure(Reason.TIMEOUT)


def _stopped(run: EndedRun) -> Outcome:
    """What it said counts, whatever its exit status; 10 says the same in every row."""
    if run.exit_code == SKIPPED_EXIT:
        return Outcome(Status.SKIPPED, Reason.NOT_APPLICABLE)
    if run.declared is None and run.killed_early:
        return failure(Reason.SIGNALLED)
    if run.declared is None and run.may_be_stopped and not run.listens and not run.session:
        if run.died_of_term:
            return CUT_OFF
        if run.exit_code == -signal.SIGKILL:  # deaf to TERM until its time was over
            return failure(Reason.UNFINISHED)
    return _as_declared(run._replace(wrote_files=run.wrote_bytes))


def _as_declared(run: EndedRun) -> Outcome:
    if run.declared is Status.FAILED and run.again is Retry.NEW_PAGE and (run.is_navigation or not run.session):
        return PAGE_LOST
    if run.declared is Status.FAILED and run.again is not None:
        return Outcome(Status.FAILED, run.why or Reason.TEMPORARY_FAILURE, retry=True)
    if run.declared is Status.FAILED:
        return Outcome(Status.FAILED, run.why or Reason.DECLARED)
    if run.declared is Status.SUCCEEDED and run.why is Reason.FILES_MISSING:
        return Outcome(Status.SUCCEEDED, run.why)
    if run.declared is not None:
        return Outcome(run.declared, Reason.NOT_APPLICABLE if run.declared is Status.SKIPPED else None)
    status = Status.SUCCEEDED if run.wrote_files else Status.NORESULTS
    return Outcome(status, Reason.UNKNOWN_STATUS if run.unknown else None, detail=run.unknown)


def _ended_badly(run: EndedRun) -> Outcome:
    """Permanent only if the hook itself said ``failed``; whatever else it printed is the part it had finished."""
    if run.declared is Status.FAILED and run.newer_dialect:
        return Outcome(Status.FAILED, run.why or Reason.TEMPORARY_FAILURE, retry=True)
    if run.declared is Status.FAILED:
        return _as_declared(run)
    if run.end_reason is EndReason.SIGNALLED or (run.exit_code or 0) < 0:
        return failure(Reason.SIGNALLED)
    return _lacked_something(run) or failure(Reason.CRASHED, _last_line(run.stderr))


def _lacked_something(run: EndedRun) -> Outcome | None:
    """A program, a module or an option: trying again is in vain before a person has acted."""
    tail = run.stderr[-STDERR_TAIL:]
    if run.exit_code in (1, 2) and _USAGE_ERROR.search(tail) and _is_of_hook(tail):
        return could_not_start(Reason.USAGE_ERROR)
    if module := _MISSING_MODULE.search(tail):
        return could_not_start(Reason.MISSING_MODULE, module[1])
    if module := _MISSING_NODE_MODULE.search(tail):
        return could_not_start(Reason.MISSING_NODE_MODULE, module[1])
    if run.exit_code == NOT_FOUND and (program := _MISSING_PROGRAM.search(tail)):
        return could_not_start(Reason.MISSING_BINARY, program[1] or program[2])
    if run.exit_code in (NOT_EXECUTABLE, NOT_FOUND):
        return could_not_start(detail=_last_line(tail))
    return None


def _is_of_hook(refusal: str) -> bool:
    """Whether the hook itself refused an option, and not a program that it runs, such as yt-dlp."""
    names = [found[1] or found[2] for found in _USAGE_OF.finditer(refusal)]
    return not names or any(_HOOK_NAME.search(name) for name in names)


def _last_line(text: str) -> str:
    return next((line.strip() for line in reversed(text.splitlines()) if line.strip()), "")[:100]
