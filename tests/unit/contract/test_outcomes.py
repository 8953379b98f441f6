"""The table of the contract, row by row."""

from itertools import product

import pytest

from archivebox.contract.outcomes import (
    BACK_TO_QUEUE,
    Declared,
    Outcome,
    Status,
    could_not_start,
    is_usage_error,
    outcome,
)
from archivebox.contract.reasons import Reason
from archivebox.contract.records import EndReason

OK, NO, SKIP, FAIL = Status.SUCCEEDED, Status.NORESULTS, Status.SKIPPED, Status.FAILED
EXITED, SIGNALLED, TIMEOUT, SEALED = EndReason.EXITED, EndReason.SIGNALLED, EndReason.TIMEOUT, EndReason.SEALED


def run(
    exit_code: int | None = 0,
    end: EndReason = EXITED,
    says: str | None = None,
    *,
    files: bool = False,
    stopped: bool = False,
    new: bool = False,
) -> tuple[Status, Reason | None, bool]:
    result = outcome(
        exit_code=exit_code,
        end_reason=end,
        declared=Declared(says) if says else None,
        wrote_files=files,
        told_to_stop=stopped,
        new_dialect=new,
    )
    return result.status, result.reason, result.retry


def test_exit_0_and_a_word_is_as_it_says() -> None:
    assert run(0, says="succeeded") == (OK, None, False)
    assert run(0, says="noresults", files=True) == (NO, None, False)
    assert run(0, says="skipped") == (SKIP, Reason.NOT_APPLICABLE, False)


def test_exit_0_and_failed_is_soft() -> None:
    assert run(0, says="failed", files=True) == (FAIL, Reason.DECLARED, False)


def test_exit_0_and_no_word_is_judged_by_files() -> None:
    assert run(0) == (NO, None, False)
    assert run(0, files=True) == (OK, None, False)


@pytest.mark.parametrize("says", [None, *Declared])
def test_exit_10_is_skipped_whatever_was_said(says: str | None) -> None:
    assert run(10, says=says, files=True) == (SKIP, Reason.NOT_APPLICABLE, False)
    assert run(10, SEALED, says=says, stopped=True) == (SKIP, Reason.NOT_APPLICABLE, False)


@pytest.mark.parametrize("code", [1, 2, 9, 11, 127, 255])
def test_another_exit_and_failed_is_permanent_save_in_the_newer_dialect(code: int) -> None:
    assert run(code, says="failed") == (FAIL, Reason.DECLARED, False)
    assert run(code, says="failed", new=True) == (FAIL, Reason.DECLARED, True)


@pytest.mark.parametrize(
    ("code", "says"), list(product([1, 2, 9, 11, 127, 255], [None, "succeeded", "noresults", "skipped"]))
)
def test_another_exit_without_failed_is_transient(code: int, says: str | None) -> None:
    assert run(code, says=says, files=True) == (FAIL, Reason.CRASHED, True)


def test_a_strangers_signal_is_transient() -> None:
    assert run(-9, SIGNALLED) == (FAIL, Reason.SIGNALLED, True)
    assert run(-11, EXITED, files=True) == (FAIL, Reason.SIGNALLED, True)


@pytest.mark.parametrize(
    ("code", "says"), list(product([0, 1, 10, -15, -9, None], [None, "noresults", "skipped", "failed"]))
)
def test_the_engines_timeout_is_failed_and_again(code: int | None, says: str | None) -> None:
    assert run(code, TIMEOUT, says, files=True) == (FAIL, Reason.TIMEOUT, True)


@pytest.mark.parametrize("code", [0, 1, -15, -9])
def test_succeeded_printed_before_the_timeout_counts(code: int) -> None:
    assert run(code, TIMEOUT, "succeeded") == (OK, None, False)


@pytest.mark.parametrize(("code", "end"), list(product([0, 1, -15, -9], [SEALED, EXITED, SIGNALLED])))
def test_told_to_stop_at_the_end(code: int, end: EndReason) -> None:
    assert run(code, end, "succeeded", stopped=True) == (OK, None, False)
    assert run(code, end, stopped=True, files=True) == (OK, None, False)
    assert run(code, end, stopped=True) == (NO, None, False)
    assert run(code, end, "failed", stopped=True, files=True) == (FAIL, Reason.DECLARED, False)
    assert run(code, SEALED, "noresults") == (NO, None, False)


@pytest.mark.parametrize("says", [None, *Declared])
def test_lost_is_back_in_the_queue_uncounted(says: str | None) -> None:
    assert run(None, EndReason.LOST, says) == (Status.QUEUED, Reason.LOST, True)
    assert run(None, EXITED, says) == (Status.QUEUED, Reason.LOST, True)
    lost = outcome(exit_code=None, end_reason=EndReason.LOST, declared=None, wrote_files=False, told_to_stop=False)
    assert not lost.counts
    assert (BACK_TO_QUEUE.status, BACK_TO_QUEUE.retry, BACK_TO_QUEUE.counts) == (Status.QUEUED, True, False)


@pytest.mark.parametrize(("code", "says"), list(product([0, 1, -9, None], [None, *Declared])))
def test_cancelled_is_skipped(code: int | None, says: str | None) -> None:
    assert run(code, EndReason.CANCELLED, says) == (SKIP, Reason.CANCELLED, False)


def test_what_could_not_be_started_waits_for_a_change() -> None:
    assert could_not_start() == Outcome(FAIL, Reason.COULD_NOT_START, retry=False, counts=False)
    assert could_not_start(Reason.MISSING_BINARY).reason is Reason.MISSING_BINARY


@pytest.mark.parametrize(
    ("code", "stderr", "usage"),
    [
        (2, "Usage: x [OPTIONS]\nError: No such option: --depth", True),
        (2, "x.py: error: unrecognized arguments: --depth=0", True),
        (1, "TypeError [ERR_PARSE_ARGS_UNKNOWN_OPTION]: Unknown option '--depth'", True),
        (2, "wget: network is unreachable", False),
        (0, "No such option", False),
        (None, "No such option", False),
    ],
)
def test_a_usage_error_is_told_from_a_failure(code: int | None, stderr: str, usage: bool) -> None:
    assert is_usage_error(code, stderr) is usage


def test_every_combination_has_an_outcome() -> None:
    for code, end, says, files, stopped in product(
        [None, -15, 0, 1, 10], EndReason, [None, *Declared], [False, True], [False, True]
    ):
        status, reason, retry = run(code, end, says, files=files, stopped=stopped)
        assert not (retry and status in (OK, NO, SKIP))
        assert reason is not None or status in (OK, NO)
