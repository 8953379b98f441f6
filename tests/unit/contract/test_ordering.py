"""Who waits for whom."""

from dataclasses import replace
from pathlib import Path

from archivebox.contract.hook import Hook
from archivebox.contract.hooknames import parse_hook_name
from archivebox.contract.ordering import Waits, waits


def hook(text: str, plugin: str = "", after: tuple[str, ...] = (), *, described: bool = True, **flags: bool) -> Hook:
    name = parse_hook_name(f"on_Snapshot__{text}")
    assert name is not None
    exclusive = ("tab",) if name.step == 5 else ()
    ready, finite, derived = (flags.get(flag, False) for flag in ("ready", "finite", "derived"))
    hook = Hook(plugin or name.what, Path(name.file_name), name, exclusive=exclusive, after=after, described=described)
    hook = replace(hook, session=flags.get("session", False))
    return replace(hook, ready=name.daemon or ready, finite=name.finite or finite, derived=derived)


def after_of(found: Waits) -> dict[str, list[str]]:
    return {key.name.what: [other.name.what for other in others] for key, others in found.after.items()}


def test_foreground_hooks_that_nothing_describes_keep_their_order_within_a_step() -> None:
    found = waits(
        [
            hook("30_navigate.js", session=True),
            hook("37_beside.js"),
            hook("38_seo.js", described=False),
            hook("38_listens.bg.js", described=False),
            hook("39_accessibility.js", described=False),
            hook("41_next.js", described=False),
        ]
    )
    assert after_of(found) == {"seo": ["navigate"], "accessibility": ["navigate", "seo"], "next": []}


def test_an_order_that_would_close_a_circle_is_not_kept() -> None:
    found = waits([hook("30_navigate.js", session=True, after=("seo",)), hook("38_seo.js", described=False)])
    assert after_of(found) == {"navigate": ["seo"], "seo": []}


def test_a_foreground_hook_waits_for_every_ready_hook_before_it() -> None:
    found = waits(
        [
            hook("30_navigate.js"),
            hook("20_tab.daemon.bg.js"),
            hook("21_console.bg.js", after=("tab",)),
            hook("23_ssl.bg.js", ready=True),
            hook("40_late.daemon.bg.js"),
            hook("10_early.js"),
        ]
    )
    assert {key.name.what: [other.name.what for other in others] for key, others in found.ready.items()} == {
        "early": [],
        "navigate": ["tab", "ssl"],
    }
    assert after_of(found) == {"console": ["tab"]}
    assert found.warnings == ()


def test_a_background_hook_without_a_description_waits_like_one_in_the_foreground() -> None:
    tab = hook("10_tab.daemon.bg.js", described=False)
    plain = hook("15_plain.bg.js", described=False)
    listener = hook("21_console.daemon.bg.js", described=False)
    found = waits([tab, plain, listener, hook("22_ours.bg.js"), hook("23_media.finite.bg.py", described=False)])
    assert {key.name.what: [other.name.what for other in others] for key, others in found.ready.items()} == {
        "tab": [],
        "plain": ["tab"],
        "console": ["tab"],
        "media": ["tab", "console"],
    }


def test_after_names_a_file_a_stem_what_it_does_or_a_plugin() -> None:
    dom = hook("53_dom.js", plugin="page")
    for name in ("on_Snapshot__53_dom.js", "on_Snapshot__53_dom", "dom", "page"):
        found = waits([dom, hook("57_text.py", after=(name,))])
        assert after_of(found) == {"text": ["dom"]}
    assert after_of(waits([dom, hook("57_text.py", after=("absent",))])) == {"text": []}


def test_a_later_step_and_a_circle_are_ignored_with_a_warning() -> None:
    later = waits([hook("30_a.js", after=("b",)), hook("40_b.js")])
    assert after_of(later) == {"a": []}
    assert "later step" in later.warnings[0]
    circle = waits([hook("60_a.py", after=("b",)), hook("61_b.py", after=("c",)), hook("62_c.py", after=("a",))])
    assert after_of(circle) == {"a": ["b"], "b": ["c"], "c": []}
    assert "in turn waits for it" in circle.warnings[0]


def test_the_end_of_what_works_until_it_is_told_to_stop_is_not_waited_for() -> None:
    listener = hook("21_listens.bg.py")
    ignored = waits([listener, hook("50_a.py", after=("listens",))])
    assert after_of(ignored) == {"a": []}
    assert "until it is told to stop" in ignored.warnings[0]
    ready, finite = hook("21_listens.bg.py", ready=True), hook("21_listens.finite.bg.py")
    for other in (ready, finite):
        assert after_of(waits([other, hook("50_a.py", after=("listens",))])) == {"a": ["listens"]}
    assert after_of(waits([listener, hook("90_made.py", after=("listens",), derived=True)])) == {"made": ["listens"]}


def test_circles_through_readiness_and_exclusive_order_are_seen() -> None:
    readiness = waits([hook("20_tab.daemon.bg.js", after=("go",)), hook("25_go.js")])
    assert after_of(readiness) == {"tab": []}
    assert len(readiness.warnings) == 1
    text = replace(hook("53_text.js", after=("pdf",)), exclusive=())
    exclusive = waits([hook("51_shot.js", after=("text",)), hook("52_pdf.js"), text])
    assert after_of(exclusive) == {"shot": ["text"], "text": []}
    assert len(exclusive.warnings) == 1


def test_one_that_is_after_another_holder_of_its_resource_gives_way() -> None:
    shot, pdf = hook("51_shot.js", after=("dom",)), hook("52_pdf.js", after=("shot", "dom"))
    found = waits([shot, pdf, hook("53_dom.js"), hook("54_title.js")])
    assert after_of(found) == {"shot": ["dom"], "pdf": ["shot", "dom"]}
    assert found.giving_way == {shot, pdf}
    assert found.warnings == ()


def test_after_may_name_a_hook_of_a_later_step_that_needs_the_page() -> None:
    links = replace(hook("75_links.js"), page=True)
    assert after_of(waits([hook("51_shot.js", after=("links",)), links])) == {"shot": ["links"]}
    waiting = replace(links, after=("wget",))
    assert after_of(waits([hook("51_shot.js", after=("links",)), hook("61_wget.js"), waiting]))["shot"] == []


def test_a_background_page_hook_may_follow_what_opens_the_page_in_a_later_step() -> None:
    tab = replace(hook("20_tab.daemon.bg.js"), session=True)
    listener = replace(hook("15_listener.daemon.bg.js", after=("tab",)), page=True)
    found = waits([listener, tab, hook("16_early.py"), hook("30_navigate.js")])
    assert after_of(found) == {"listener": ["tab"]}
    assert found.warnings == ()
    ready = {key.name.what: [other.name.what for other in others] for key, others in found.ready.items()}
    assert ready == {"early": [], "navigate": ["listener", "tab"]}


def test_a_hook_is_never_after_itself_by_its_plugins_name() -> None:
    found = waits([hook("60_a.py", plugin="p"), hook("61_b.py", plugin="p", after=("p",))])
    assert after_of(found) == {"b": ["a"]}
