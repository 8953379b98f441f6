"""The table of the contract, row by row."""

from itertools import product
from typing import Any

import pytest

from archivebox.contract.outcomes import (
    BACK_TO_QUEUE,
    CUT_OFF,
    DECLARABLE,
    EndedRun,
    Outcome,
    Retry,
    Status,
    could_not_start,
    outcome,
)
from archivebox.contract.reasons import Reason
from archivebox.contract.records import EndReason

WORDS = [None, *DECLARABLE]
CODES = [1, 2, 9, 11, 126, 127, 255]


def row(exit_code: int | None, says: str | None = None, end: EndReason = EndReason.EXITED, **more: Any) -> EndedRun:
    """A run as one row of the table speaks of it; files have content unless ``wrote_bytes`` says otherwise."""
    more.setdefault("wrote_bytes", more.get("wrote_files", False))
    return EndedRun(exit_code, end, Status(says) if says else None, **more)


def told(exit_code: int | None, says: str | None = None, **more: Any) -> EndedRun:
    """A background hook that was told to stop at the end."""
    return row(exit_code, says, EndReason.SEALED, background=True, **more)


FILES: dict[str, Any] = {"wrote_files": True}
EMPTY: dict[str, Any] = {"wrote_files": True, "wrote_bytes": False}
DAEMON: dict[str, Any] = {"listens": True}
NO_OPTION = "Usage: on_Snapshot__60_x.py [OPTIONS]\n\nError: No such option: --depth\n"
ARGPARSE = "usage: on_Snapshot__60_x.py [-h]\non_Snapshot__60_x.py: error: unrecognized arguments: --depth\n"
OPTION_OF_PROGRAM = "Usage: yt-dlp [OPTIONS] URL [URL...]\n\nyt-dlp: error: no such option: --no-such\n"

TABLE: list[tuple[str, EndedRun, Status, str, bool]] = [
    # what happened, the run, status, reason, again
    ("0, succeeded", row(0, "succeeded"), Status.SUCCEEDED, "", False),
    ("0, noresults", row(0, "noresults", **FILES), Status.NORESULTS, "", False),
    ("0, skipped", row(0, "skipped"), Status.SKIPPED, "not_applicable", False),
    ("0, failed", row(0, "failed", **FILES), Status.FAILED, "declared", False),
    ("0, none", row(0), Status.NORESULTS, "", False),
    ("0, none, files", row(0, **EMPTY), Status.SUCCEEDED, "", False),
    ("0, a word that is no status", row(0, unknown="success", **FILES),
     Status.SUCCEEDED, "unknown_status:success", False),
    ("other, failed", row(1, "failed"), Status.FAILED, "declared", False),
    ("other, failed, newer dialect", row(1, "failed", newer_dialect=True), Status.FAILED, "temporary_failure", True),
    ("other, failed, later", row(1, "failed", again=Retry.LATER), Status.FAILED, "temporary_failure", True),
    ("0, failed, with its reason", row(0, "failed", why=Reason.NO_PAGE), Status.FAILED, "no_page", False),
    ("other, failed, later, with its reason", row(1, "failed", again=Retry.LATER, why=Reason.NO_ANSWER),
     Status.FAILED, "no_answer", True),
    ("0, failed, later", row(0, "failed", again=Retry.LATER), Status.FAILED, "temporary_failure", True),
    ("other, the page is lost", row(1, "failed", again=Retry.NEW_PAGE), Status.QUEUED, "page_lost", True),
    ("a navigation, the page is lost", row(1, "failed", again=Retry.NEW_PAGE, session=True),
     Status.QUEUED, "page_lost", True),
    ("a navigation that did not finish", row(1, "failed", again=Retry.LATER, session=True),
     Status.FAILED, "temporary_failure", True),
    ("a listener, the page is lost", row(1, "failed", again=Retry.LATER, session=True, background=True, listens=True),
     Status.FAILED, "temporary_failure", True),
    ("told, failed, later", told(1, "failed", again=Retry.LATER), Status.FAILED, "temporary_failure", True),
    ("other, none", row(3, **FILES), Status.FAILED, "crashed", True),
    ("other, partial", row(3, "succeeded", **FILES), Status.FAILED, "crashed", True),
    ("a crash", row(1, stderr="Traceback\nValueError: no\n\n"), Status.FAILED, "crashed:ValueError: no", True),
    ("a stranger's signal", row(-9, end=EndReason.SIGNALLED), Status.FAILED, "signalled", True),
    ("timeout", row(-15, end=EndReason.TIMEOUT, **FILES), Status.FAILED, "timeout", True),
    ("timeout, succeeded before", row(-9, "succeeded", EndReason.TIMEOUT), Status.SUCCEEDED, "", False),
    ("told, succeeded", told(-15, "succeeded"), Status.SUCCEEDED, "", False),
    ("told, failed", told(0, "failed", **FILES), Status.FAILED, "declared", False),
    ("told, none, files", told(0, **FILES), Status.SUCCEEDED, "", False),
    ("told, none, empty files", told(0, **EMPTY), Status.NORESULTS, "", False),
    ("told, none, status of its own", told(5), Status.NORESULTS, "", False),
    ("told, a daemon died of it, files", told(-15, **DAEMON, **FILES), Status.SUCCEEDED, "", False),
    ("told, a daemon deaf to it", told(-9, **DAEMON), Status.NORESULTS, "", False),
    ("told, killed by somebody else", told(-9, killed_early=True, **DAEMON, **FILES), Status.FAILED, "signalled", True),
    ("told, killed after its last word", told(-9, "succeeded", killed_early=True), Status.SUCCEEDED, "", False),
    ("told, a daemon, its end unseen", told(None, **DAEMON, **FILES), Status.SUCCEEDED, "", False),
    ("told, plain, its end unseen", told(None, **FILES), Status.QUEUED, "unfinished", True),
    ("released, its end unseen", row(None, end=EndReason.SEALED, released=True), Status.QUEUED, "released", True),
    ("told, plain, died of it", told(-15, **FILES), Status.QUEUED, "unfinished", True),
    ("told, plain, its runner says so", told(143, **FILES), Status.QUEUED, "unfinished", True),
    ("told by who died, plain", row(-15, end=EndReason.SIGNALLED, background=True), Status.QUEUED, "unfinished", True),
    ("told, plain, deaf to it", told(-9, **FILES), Status.FAILED, "unfinished", True),
    ("told, finite", row(-15, end=EndReason.SIGNALLED, background=True, finite=True), Status.FAILED, "signalled", True),
    ("released", row(-15, end=EndReason.SEALED, released=True, **FILES), Status.QUEUED, "released", True),
    ("released by a worker that died of it", row(None, end=EndReason.SEALED, taken_over=True),
     Status.QUEUED, "released", True),
    ("released, succeeded before", row(-15, "succeeded", EndReason.SEALED, released=True), Status.SUCCEEDED, "", False),
    ("taken over, its worker's TERM", row(-15, end=EndReason.SIGNALLED, taken_over=True),
     Status.QUEUED, "released", True),
    ("lost", row(None, end=EndReason.LOST), Status.QUEUED, "lost", True),
    ("fell with its worker", row(-9, end=EndReason.SIGNALLED, unwatched=True), Status.QUEUED, "lost", True),
    ("lost, with a last word", row(None, "noresults", EndReason.LOST), Status.NORESULTS, "", False),
    ("lost with its page, of which it said so", row(None, "failed", EndReason.LOST, session=True, again=Retry.LATER),
     Status.QUEUED, "lost", True),
    ("ended with its page while no worker had it, and said so",
     row(1, "failed", session=True, background=True, unwatched=True, again=Retry.LATER),
     Status.QUEUED, "lost", True),
    ("cancelled", row(0, "succeeded", EndReason.CANCELLED), Status.SKIPPED, "cancelled", False),
    ("an option it does not know", row(2, stderr=NO_OPTION), Status.FAILED, "usage_error", False),
    ("an option it does not know, argparse", row(2, stderr=ARGPARSE), Status.FAILED, "usage_error", False),
    ("an option that a program of it does not know", row(1, stderr=OPTION_OF_PROGRAM),
     Status.FAILED, "crashed:yt-dlp: error: no such option: --no-such", True),
    ("a module of ECMAScript, Node",
     row(1, stderr="Error [ERR_MODULE_NOT_FOUND]: Cannot find package 'abxbus' imported from /x.mjs\n"),
     Status.FAILED, "missing_node_module:abxbus", False),
    ("an option, Node", row(1, stderr="TypeError [ERR_PARSE_ARGS_X]: '--depth'"), Status.FAILED, "usage_error", False),
    ("a module that is not there", row(1, stderr="Traceback\n  x\nModuleNotFoundError: No module named 'rich_click'\n"),
     Status.FAILED, "missing_module:rich_click", False),
    ("a module, Node", row(1, stderr="throw err;\n\nError: Cannot find module 'puppeteer-core'\n at x\n"),
     Status.FAILED, "missing_node_module:puppeteer-core", False),
    ("no runner", row(127, stderr="/usr/bin/env: \u2018uv\u2019: No such file or directory\n"),
     Status.FAILED, "missing_binary:uv", False),
    ("no program", row(127, stderr="./x.sh: line 3: ffmpeg: command not found"),
     Status.FAILED, "missing_binary:ffmpeg", False),
    ("not executable", row(126, stderr="x: Permission denied"),
     Status.FAILED, "could_not_start:x: Permission denied", False),
    ("its effect is the page", row(3, session=True), Status.FAILED, "crashed", True),
    ("its effect is the page, told", told(-15, session=True), Status.NORESULTS, "", False),
]  # fmt: skip


@pytest.mark.parametrize(("what", "run", "status", "reason", "again"), TABLE, ids=[line[0] for line in TABLE])
def test_each_row_of_the_table(what: str, run: EndedRun, status: Status, reason: str, again: bool) -> None:
    found = outcome(run)
    assert (found.status, found.code, found.retry) == (status, reason, again), what


@pytest.mark.parametrize("says", WORDS)
def test_exit_10_is_skipped_whatever_was_said(says: str | None) -> None:
    skipped = Outcome(Status.SKIPPED, Reason.NOT_APPLICABLE)
    assert outcome(row(10, says, **FILES)) == outcome(told(10, says)) == skipped


@pytest.mark.parametrize(("code", "says"), list(product(CODES, [None, "succeeded", "noresults", "skipped"])))
def test_another_exit_without_failed_is_transient(code: int, says: str | None) -> None:
    expected = Reason.COULD_NOT_START if code in (126, 127) else Reason.CRASHED
    found = outcome(row(code, says, **FILES))
    assert (found.status, found.reason) == (Status.FAILED, expected)


@pytest.mark.parametrize(("code", "says"), list(product([0, 1, 10, -15, -9, None], WORDS)))
def test_the_engines_timeout_is_failed_and_again(code: int | None, says: str | None) -> None:
    found = outcome(row(code, says, EndReason.TIMEOUT, **FILES))
    assert found == (
        Outcome(Status.SUCCEEDED) if says == "succeeded" else Outcome(Status.FAILED, Reason.TIMEOUT, retry=True)
    )


@pytest.mark.parametrize(("code", "says"), list(product([0, 1, -9, None], WORDS)))
def test_cancelled_is_skipped(code: int | None, says: str | None) -> None:
    assert outcome(row(code, says, EndReason.CANCELLED)) == Outcome(Status.SKIPPED, Reason.CANCELLED, counts=False)


def test_what_was_not_its_own_fault_counts_as_no_attempt() -> None:
    assert not any(one.counts for one in (BACK_TO_QUEUE, CUT_OFF, could_not_start(), outcome(row(None))))
    assert outcome(row(1)).counts


@pytest.mark.parametrize(
    "stderr", ["wget: network is unreachable", "No module named x", "Error: Cannot find module './x'"]
)
def test_what_only_looks_like_a_want_is_a_crash(stderr: str) -> None:
    assert outcome(row(2, stderr=stderr)).reason is Reason.CRASHED


@pytest.mark.parametrize("says", WORDS)
def test_a_refused_record_is_its_hooks_failure_whatever_was_said(says: str | None) -> None:
    code = "record_refused:Machine: TIMEOUT"
    refused = outcome(row(0, says)._replace(refused=code))
    assert (refused.status, refused.code, refused.retry) == (Status.FAILED, code, False)
    assert outcome(row(10, says)._replace(refused=code)).status is Status.FAILED
    lost = row(None, None, EndReason.LOST)
    assert outcome(lost._replace(refused=code)).status is Status.QUEUED


def test_every_combination_has_an_outcome() -> None:
    flags = list(product([False, True], repeat=6))
    names = ("wrote_files", "background", "finite", "listens", "session", "released")
    for code, end, says, values in product([None, -15, -9, 0, 1, 10, 127], EndReason, WORDS, flags):
        found = outcome(row(code, says, end, **dict(zip(names, values, strict=True))))
        assert not (found.retry and found.status in (Status.SUCCEEDED, Status.NORESULTS, Status.SKIPPED))
        assert found.reason is not None or found.status in (Status.SUCCEEDED, Status.NORESULTS)
