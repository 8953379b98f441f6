"""Which failures are final: the table, and that what comes of a run follows it."""

from itertools import product
from typing import Any

import pytest

from archivebox.contract.failures import BY_KILL, FAILURES, FINAL, Retried
from archivebox.contract.outcomes import DECLARABLE, DECLARABLE_REASONS, EndedRun, Outcome, Retry, Status, outcome
from archivebox.contract.records import EndReason

CODES = [None, 0, 1, 3, 10, 126, 127, -9, -11, -15]
WORDS = [None, *DECLARABLE]
AGAIN = [None, *Retry]
KINDS: list[dict[str, Any]] = [
    {},
    {"session": True},
    {"session": True, "background": True, "listens": True},
    {"background": True},
    {"background": True, "finite": True},
]
TAKEN_OVER: list[dict[str, Any]] = [{}, {"taken_over": True}, {"taken_over": True, "unwatched": True}]


def failures() -> list[tuple[EndedRun, Outcome]]:
    every = product(CODES, EndReason, WORDS, AGAIN, KINDS, TAKEN_OVER)
    runs = [
        EndedRun(code, end, said, again=again, **kind, **taken)
        for code, end, said, again, kind, taken in every
        if again is None or said is Status.FAILED
    ]
    judged = [(run, outcome(run)) for run in runs]
    return [(run, found) for run, found in judged if found.status in {Status.FAILED, Status.QUEUED}]


def test_each_failure_has_a_reason_that_the_table_knows() -> None:
    assert {found.reason for _, found in failures()} - FAILURES.keys() == set()
    assert DECLARABLE_REASONS - FAILURES.keys() == set()


def test_what_is_tried_again_never_has_a_reason_that_is_final() -> None:
    assert [run for run, found in failures() if found.retry and found.reason in FINAL] == []


def test_no_failure_that_a_kill_may_cause_waits_for_somebody_to_ask() -> None:
    assert {FAILURES[reason].retried for reason in BY_KILL} <= {
        Retried.IMMEDIATELY,
        Retried.BACK_OFF,
        Retried.AS_DECLARED,
    }


@pytest.mark.parametrize("kind", KINDS)
def test_who_was_killed_without_a_word_runs_again(kind: dict[str, Any]) -> None:
    assert outcome(EndedRun(-9, EndReason.SIGNALLED, **kind)).retry
    assert outcome(EndedRun(None, EndReason.LOST, **kind)).retry
    assert outcome(EndedRun(-9, EndReason.SIGNALLED, taken_over=True, unwatched=True, **kind)).retry
