"""Which hooks may start."""

from dataclasses import replace

import pytest

from archivebox.testing.simulated_hooks import hook_named
from archivebox.workers.execute.hook_plan import HookPlan
from archivebox.workers.execute.plan_events import Planned


def planned(text: str, plugin: str = "", after: tuple[str, ...] = (), exclusive: tuple[str, ...] = ()) -> Planned:
    is_described = ".bg." not in text
    return Planned(hook_named(f"on_Snapshot__{text}", plugin, exclusive=exclusive, after=after, described=is_described))


def plan_of(*planned: Planned, step: int) -> HookPlan:
    plan = HookPlan(planned, reason_to_skip=lambda _: None, needed=lambda _: ())
    plan.step = step
    return plan


def may_start(plan: HookPlan) -> list[str]:
    return [item.hook.name.what for item in plan.may_start()]


def test_hooks_of_a_step_start_together_and_those_of_the_next_wait() -> None:
    first, second, later = planned("60_a.py"), planned("61_b.py"), planned("70_c.py")
    plan = plan_of(later, second, first, step=6)
    assert may_start(plan) == ["a", "b"]
    first.status = second.status = "succeeded"
    assert may_start(plan) == []
    assert plan.step_is_over()
    plan.step = 7
    assert may_start(plan) == ["c"]


def test_a_step_waits_for_its_running_foreground_hook_and_for_none_in_the_background() -> None:
    front, back, derived = planned("60_front.py"), planned("61_back.finite.bg.py"), planned("62_derived.py")
    derived = Planned(replace(derived.hook, derived=True))
    plan = plan_of(front, back, derived, step=6)
    front.status = back.status = "started"
    assert not plan.step_is_over()
    front.status = "backoff"
    assert plan.step_is_over(), "what is tried again later holds up no step"
    front.status = "queued"
    assert not plan.step_is_over()


@pytest.mark.parametrize("name", ["on_Snapshot__60_dom.py", "on_Snapshot__60_dom", "dom", "page"])
def test_after_waits_until_all_that_it_names_are_settled(name: str) -> None:
    dom, text = planned("60_dom.py", plugin="page"), planned("61_text.py", after=(name, "absent"))
    plan = plan_of(dom, text, step=6)
    assert may_start(plan) == ["dom"]
    dom.status = "started"
    assert may_start(plan) == []
    dom.status = "backoff"
    assert may_start(plan) == ["text"]


def test_what_waits_for_a_daemon_starts_once_it_is_late_or_has_died() -> None:
    tab, listener, page = planned("20_tab.daemon.bg.py"), planned("21_log.bg.py", after=("tab",)), planned("22_go.py")
    plan = plan_of(tab, listener, page, step=2)
    assert may_start(plan) == ["tab"]
    tab.is_late = True
    assert may_start(plan) == ["tab", "log", "go"]
    tab.is_late, tab.status = False, "failed"
    assert may_start(plan) == ["log", "go"], "nobody waits for one that has died"


def test_a_listener_that_needs_the_page_holds_no_tab_of_its_own() -> None:
    tab, listener = planned("20_tab.daemon.bg.py"), planned("15_listener.daemon.bg.py")
    hooks = [replace(tab.hook, session=True), replace(listener.hook, session=True, page=True)]
    assert [hook.opens_page for hook in hooks] == [True, False]


def test_a_listener_of_an_early_step_starts_once_the_page_is_open() -> None:
    early, tab = planned("16_early.py"), planned("20_tab.daemon.bg.py")
    tab.hook = replace(tab.hook, session=True, described=True)
    listener = planned("15_listener.daemon.bg.py", after=("tab",))
    listener.hook = replace(listener.hook, session=True, page=True, described=True)
    plan = plan_of(early, Planned(tab.hook), Planned(listener.hook), planned("30_go.py"), step=1)
    assert may_start(plan) == ["early"], "who comes before the page does not wait for what listens to it"
    early.status = "succeeded"
    assert plan.step_is_over()
    plan.step = 2
    assert may_start(plan) == ["tab"]
    opener = next(item for item in plan.planned if item.hook.opens_page)
    opener.status, opener.is_late = "started", True
    assert may_start(plan) == ["listener"]
    assert not plan.step_is_over(), "the navigation would come before it listens"


def test_what_ends_by_itself_and_needs_the_page_waits_for_it_whatever_its_step() -> None:
    icon = Planned(replace(planned("11_icon.bg.py").hook, page=True, finite=True))
    go, settle = (Planned(replace(planned(text).hook, session=True)) for text in ("30_go.py", "49_settle.py"))
    plan = plan_of(icon, go, settle, step=3)
    assert may_start(plan) == ["go"]
    go.status = "failed"
    assert may_start(plan) == ["icon"]
    assert may_start(plan_of(Planned(icon.hook), step=1)) == ["icon"], "nobody brings a page"


def test_a_circle_holds_nobody_up(caplog: pytest.LogCaptureFixture) -> None:
    a, b = planned("60_a.py", after=("b",)), planned("61_b.py", after=("a",))
    plan = plan_of(a, b, step=6)
    assert may_start(plan) == ["b"]
    b.status = "failed"
    assert may_start(plan) == ["a"]
    assert "is after on_Snapshot__60_a.py, which in turn waits for it" in caplog.text


def test_holders_of_a_resource_go_in_the_order_of_their_names() -> None:
    first = planned("51_a.py", exclusive=("tab",), after=("c",))
    second, third = planned("52_b.py", exclusive=("tab",)), planned("53_c.py")
    plan = plan_of(first, second, third, step=5)
    assert may_start(plan) == ["c"]
    third.status = "skipped"
    assert may_start(plan) == ["a"]


def test_a_holder_that_is_after_another_lets_those_behind_it_pass() -> None:
    picture = planned("51_picture.py", exclusive=("tab",), after=("text",))
    text, other = planned("55_text.py", exclusive=("tab",)), planned("59_other.py", exclusive=("tab",))
    plan = plan_of(picture, text, other, step=5)
    assert may_start(plan) == ["text"]
    text.status = "succeeded"
    assert may_start(plan) == ["picture"]


def test_who_has_done_with_the_page_gives_it_to_the_next_while_it_works_on() -> None:
    hook = replace(planned("51_picture.py", exclusive=("tab", "printer")).hook, page=True, ready=True)
    picture, pdf, paper = (
        Planned(hook),
        planned("52_pdf.py", exclusive=("tab",)),
        planned("53_p.py", exclusive=("printer",)),
    )
    plan = plan_of(picture, pdf, paper, step=5)
    picture.status, picture.has_run, picture.is_running = "started", True, True
    assert may_start(plan) == []
    picture.said_ready = True
    assert may_start(plan) == ["pdf"]
    assert not plan.step_is_over()
