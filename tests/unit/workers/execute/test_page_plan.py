"""The life of a page, decided by its plan alone; and what is promised of it, in many random lives."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from archivebox.contract.applies import PageFacts
from archivebox.contract.hook import Hook
from archivebox.contract.outcomes import EndedRun, Retry, Status
from archivebox.contract.records import EndReason
from archivebox.testing.simulate import failures
from archivebox.testing.simulated_hooks import hook_named
from archivebox.workers.execute.page_plan import PagePlan
from archivebox.workers.execute.plan_events import (
    BeginStep,
    Done,
    Ended,
    Happened,
    OpenAnew,
    Planned,
    Requeue,
    Settle,
    Settled,
    Sign,
    Start,
    Started,
    Stop,
)

LIVES = 2_000
PART = 10_000
BEGAN = datetime(2026, 1, 1, tzinfo=UTC)
TAB = hook_named("on_Snapshot__20_tab.daemon.bg.py", session=True)
GO = hook_named("on_Snapshot__30_go.py", session=True, page=True)
SHOT = hook_named("on_Snapshot__51_shot.py", page=True)
INDEX = hook_named("on_Snapshot__90_index.py", derived=True)
HASHES = hook_named("on_Snapshot__93_hashes.py", derived=True)


def result_of(hook: Hook, status: str, began: float | None = None, seconds: float | None = None) -> Planned:
    """A hook with a result; its last run began so many seconds after the page, and took so many."""
    item = Planned(hook, status, UUID(int=1))
    item.started_at = None if began is None else BEGAN + timedelta(seconds=began)
    item.ended_at = None if item.started_at is None or seconds is None else item.started_at + timedelta(seconds=seconds)
    return item


def resumed_plan(*items: Planned, running: tuple[Planned, ...] = (), ended: tuple[Planned, ...] = ()) -> PagePlan:
    """The plan of a page whose worker died; ``ended``: those whose end nobody has judged."""
    plan = PagePlan(
        items,
        PageFacts("http://one.test/", 200, "text/html"),
        reason_to_skip=lambda _: None,
        reason_against=lambda _, __: None,
        needed=lambda _: (),
        max_attempts=3,
    )
    for item in running:
        plan.apply(Started(item, item.started_at, is_ready=True))
    for item in ended:
        plan.apply(Started(item, item.started_at, is_ready=True, unwatched=True, ended_at=item.ended_at))
    plan.apply(Happened(Sign.TAKEN_OVER))
    begin_steps(plan)
    return plan


def begin_steps(plan: PagePlan) -> None:
    """Pass the steps that are over."""
    while (actions := plan.next_actions(0.0)) and isinstance(actions[0], BeginStep):
        plan.apply(Done(actions[0]))


def test_a_tab_that_was_opened_anew_and_not_loaded_counts_as_no_page() -> None:
    """Its worker died before the navigation was run again."""
    tab, go, shot = result_of(TAB, "succeeded", 10), result_of(GO, "succeeded", 1, 1), result_of(SHOT, "queued")
    (action,) = resumed_plan(tab, go, shot, running=(tab,)).next_actions(0.0)
    assert isinstance(action, Stop)
    assert action.loses_page


def test_a_navigation_that_runs_again_holds_up_what_needs_its_page() -> None:
    tab, go, shot = result_of(TAB, "succeeded", 10), result_of(GO, "succeeded", 11), result_of(SHOT, "queued")
    plan = resumed_plan(tab, go, shot, running=(tab, go))
    assert plan.next_actions(0.0) == []
    plan.apply(Ended(go, EndedRun(0, EndReason.EXITED, Status.SUCCEEDED, session=True), BEGAN + timedelta(seconds=12)))
    (settle,) = plan.next_actions(0.0)
    assert isinstance(settle, Settle)
    plan.apply(Settled(settle, "succeeded"))
    begin_steps(plan)
    assert Start(shot) in plan.next_actions(0.0)


def test_a_navigation_that_died_with_its_worker_counts_as_no_earlier_success() -> None:
    tab, go, shot = result_of(TAB, "succeeded", 10), result_of(GO, "succeeded", 11, 1), result_of(SHOT, "queued")
    plan = resumed_plan(tab, go, shot, running=(tab,), ended=(go,))
    assert plan.next_actions(0.0) == [], "it is judged first"
    died = EndedRun(-9, EndReason.SIGNALLED, session=True, taken_over=True, unwatched=True)
    plan.apply(Ended(go, died, go.ended_at))
    (requeue,) = plan.next_actions(0.0)
    assert isinstance(requeue, Requeue)


@pytest.mark.parametrize("sources", [(), ("index",)])
def test_what_is_derived_is_made_again_after_another_was_tried_again_alone(sources: tuple[str, ...]) -> None:
    hashes = hook_named("on_Snapshot__93_hashes.py", derived=True, sources=sources)
    index, after = result_of(INDEX, "queued", 1, 1), result_of(hashes, "succeeded", 2, 1)
    plan = resumed_plan(index, after)
    run_to_seal(plan, index, BEGAN + timedelta(hours=1))
    assert after.is_running, "nothing of it was seen by this worker, but that its source is newer"


def run_to_seal(plan: PagePlan, item: Planned, now: datetime) -> None:
    """Start and end a hook, and do whatever else is asked, until another one is started or nothing is left."""
    while actions := plan.next_actions(0.0):
        action = actions[0]
        if isinstance(action, Start):
            plan.apply(Started(action.item, now))
            if action.item is not item:
                return
            plan.apply(Ended(item, EndedRun(0, EndReason.EXITED, Status.SUCCEEDED), now + timedelta(seconds=1)))
        elif isinstance(action, Settle):
            plan.apply(Settled(action, str(action.result.status)))
        else:
            plan.apply(Done(action, now))


def test_a_clock_that_is_set_back_makes_nothing_derived_older_than_its_sources() -> None:
    dom, hashes = result_of(hook_named("on_Snapshot__50_dom.py"), "queued"), result_of(HASHES, "succeeded", 60, 1)
    plan = resumed_plan(dom, hashes)
    run_to_seal(plan, dom, BEGAN)
    assert hashes.is_running


def test_a_navigation_that_did_not_finish_is_tried_again_where_all_else_is_had() -> None:
    """The page may have come after all, so that everything else of it is had."""
    tab, go, shot = result_of(TAB, "started", 0), result_of(GO, "started", 1), result_of(SHOT, "succeeded", 2, 1)
    plan = resumed_plan(tab, go, shot, running=(tab, go))
    end = EndedRun(1, EndReason.EXITED, Status.FAILED, None, Retry.LATER, session=True)
    plan.apply(Ended(go, end, BEGAN + timedelta(seconds=3)))
    (settle,) = plan.next_actions(0.0)
    assert isinstance(settle, Settle)
    assert settle.result.retry


def test_a_navigation_that_is_tried_again_has_its_page_opened_again() -> None:
    tab, go, shot = result_of(TAB, "succeeded", 0, 9), result_of(GO, "queued", 1, 1), result_of(SHOT, "succeeded", 2, 1)
    (action,) = resumed_plan(tab, go, shot).next_actions(0.0)
    assert isinstance(action, OpenAnew)


def test_what_is_promised_of_a_page_holds_in_random_lives() -> None:
    """The last three: a listener that ended early put off the rest, where nothing had come the time before; what an
    earlier worker had left began after its navigation had been put off; a page that came early was not settled.
    """
    assert failures([*range(LIVES), 6331, 33767, 89389]) == []


@pytest.mark.slow
@pytest.mark.parametrize("first", range(LIVES, LIVES + 10 * PART, PART))
def test_what_is_promised_of_a_page_holds_in_many_random_lives(first: int) -> None:
    assert failures(range(first, first + PART)) == []
