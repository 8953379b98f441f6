"""What does not apply starts no process: conditions on URL, type and status, judged from what the navigation told."""

import pytest

from tests.integration.engine.driver import Collection

NAVIGATE = (
    'id=$(echo "$EXTRA_CONTEXT" | sed \'s/.*"snapshot_id": *"\\([^"]*\\)".*/\\1/\')\n'
    'echo "{\\"type\\": \\"Snapshot\\", \\"id\\": \\"$id\\", \\"final_url\\": \\"https://example.com/b.pdf\\", '
    '\\"http_status\\": 404, \\"mime_type\\": \\"application/pdf\\"}"\n'
)
NOTE = 'echo "$(basename "$PWD")" >> "$DATA_DIR/ledger"\n'
CONDITIONS = {
    "pages": {"mime": "text/.*"},
    "papers": {"mime": "application/pdf"},
    "found": {"status": "2.."},
    "lost": {"status": "4.."},
    "elsewhere": {"url": "^https://nowhere\\.test/"},
    "beside": {"mime": "text/.*"},
}


def plugins(made: Collection, navigate: str = NAVIGATE) -> None:
    """Hooks with conditions; ``beside`` is of the navigation's own step, so that it has to wait for it."""
    entry = {"on_Snapshot__30_navigate.sh": {"session": True}}
    made.plugin("navigate", {"on_Snapshot__30_navigate.sh": navigate}, config={"x-hooks": entry})
    for name, conditions in CONDITIONS.items():
        hook = f"on_Snapshot__{35 if name == 'beside' else 60}_{name}.sh"
        made.plugin(name, {hook: NOTE}, config={"x-hooks": {hook: {"applies": conditions}}})


FAILS = """echo '{"type":"ArchiveResult","status":"failed"}'; exit 1\n"""
"""A navigation that says that this page is not to be had."""


@pytest.mark.default
def test_what_does_not_apply_is_skipped_without_a_process(forked: Collection) -> None:
    plugins(forked)
    forked.run(forked.add())
    results = forked.results()
    assert sorted(forked.ledger) == ["lost", "papers"]
    assert {name: results[name]["reason"] for name in ("pages", "found", "elsewhere", "beside")} == {
        "pages": "not_applicable:application/pdf",
        "found": "not_applicable:status 404",
        "elsewhere": "not_applicable:such URLs",
        "beside": "not_applicable:application/pdf",
    }
    assert {results[name]["status"] for name in ("pages", "found", "elsewhere", "beside")} == {"skipped"}
    started = forked.rows("Process", "plugin", process_type="hook")
    assert sorted(row["plugin"] for row in started) == ["lost", "navigate", "papers"]
    page = forked.row("Snapshot", "final_url", "http_status", "mime_type")
    assert page == {"final_url": "https://example.com/b.pdf", "http_status": 404, "mime_type": "application/pdf"}


def test_the_status_that_a_navigation_of_another_dialect_reports_is_that_of_the_page(forked: Collection) -> None:
    says = (
        """# abx_plugins\necho '{"type":"ArchiveResult","status":"succeeded","output_str":"page loaded http=404"}'\n"""
    )
    forked.plugin("chrome", {"on_Snapshot__30_chrome_navigate.sh": says})
    for name in ("found", "lost"):
        hook = f"on_Snapshot__60_{name}.sh"
        forked.plugin(name, {hook: NOTE}, config={"x-hooks": {hook: {"applies": CONDITIONS[name]}}})
    forked.run(forked.add())
    assert (forked.ledger, forked.row("Snapshot", "http_status")["http_status"]) == (["lost"], 404)


def test_what_needs_facts_waits_for_the_retry_of_a_navigation(forked: Collection) -> None:
    plugins(forked, f"[ -e tried ] || {{ touch tried; exit 3; }}\n{NAVIGATE}")
    forked.plugin("any", {"on_Snapshot__60_any.sh": NOTE})
    forked.run(forked.add())
    assert forked.ledger == ["any"]
    results = forked.results()
    assert {name: results[name]["status"] for name in CONDITIONS if name != "elsewhere"} == dict.fromkeys(
        set(CONDITIONS) - {"elsewhere"}, "backoff"
    )
    assert {results[name]["retry_at"] for name in ("pages", "papers")} == {results["navigate"]["retry_at"]}
    forked.actor.ask("time_has_come")
    forked.run_until("the second try", lambda: sorted(forked.ledger) == ["any", "lost", "papers"])
    assert forked.results()["pages"]["reason"] == "not_applicable:application/pdf"


def test_a_page_lost_in_its_navigation_is_opened_anew_before_hooks_are_judged(forked: Collection) -> None:
    says = """echo '{"type":"ArchiveResult","status":"failed","retry":"new_page"}'"""
    plugins(forked, f"[ -e lost ] || {{ touch lost; {says}; exit 1; }}\n{NAVIGATE}")
    forked.run(forked.add())
    assert sorted(forked.ledger) == ["lost", "papers"]
    assert forked.results()["navigate"]["attempts"] == 1


def test_what_is_finite_and_in_the_background_waits_for_a_later_navigation(forked: Collection) -> None:
    plugins(forked)
    for name, mime in {"early": "application/pdf", "refused": "text/.*"}.items():
        hook = f"on_Snapshot__11_{name}.bg.sh"
        entry = {"finite": True, "applies": {"mime": mime}}
        forked.plugin(name, {hook: NOTE}, config={"x-hooks": {hook: entry}})
    forked.run(forked.add())
    assert sorted(forked.ledger) == ["early", "lost", "papers"]
    assert forked.results()["refused"]["reason"] == "not_applicable:application/pdf"


def test_after_a_failed_navigation_only_the_url_is_judged_and_nobody_waits(forked: Collection) -> None:
    plugins(forked, FAILS)
    for name, hook, entry in (
        ("early", "on_Snapshot__11_early.bg.sh", {"finite": True, "applies": {"mime": "text/.*"}}),
        ("next", "on_Snapshot__39_next.sh", {"after": ["early"]}),
        ("scroll", "on_Snapshot__45_scroll.sh", {"session": True}),
    ):
        forked.plugin(name, {hook: NOTE}, config={"x-hooks": {hook: entry}})
    forked.run(forked.add())
    assert sorted(forked.ledger) == sorted({*CONDITIONS, "early", "next", "scroll"} - {"elsewhere"})


def test_what_was_told_once_holds_for_a_retry(forked: Collection) -> None:
    """The facts stand on the page's row: a retry without the navigation judges by them."""
    plugins(forked)
    moody = "on_Snapshot__70_moody.sh"
    forked.plugin("moody", {moody: NOTE + "[ -e tried ] || { touch tried; exit 1; }\n"}, config={
        "x-hooks": {moody: {"applies": {"mime": "application/pdf"}}}
    })  # fmt: skip
    forked.run(forked.add())
    assert forked.actor.ask("time_has_come") == 1
    forked.run_until("the retry", lambda: forked.results()["moody"]["status"] == "succeeded")
    assert forked.ledger.count("moody") == 2
    assert len(forked.hooks("navigate")) == 1


def test_where_nothing_came_only_what_is_for_any_url_starts_until_something_comes(forked: Collection) -> None:
    """A name that does not exist; tried again, it does, and all that was skipped for that runs."""
    nothing = NAVIGATE.replace("404", "0").replace("application/pdf", "")
    plugins(forked, f"[ -e tried ] || {{ touch tried\n{nothing}exit 3\n}}\n{NAVIGATE}")
    forked.plugin("any", {"on_Snapshot__60_any.sh": NOTE})
    forked.run(forked.add())
    assert forked.ledger == ["any"]
    skipped = {name: row["reason"] for name, row in forked.results().items() if row["status"] == "skipped"}
    assert skipped == dict.fromkeys(CONDITIONS, "nothing_came") | {"elsewhere": "not_applicable:such URLs"}
    forked.actor.ask("update_all")
    forked.run_until("the second try", lambda: sorted(forked.ledger) == ["any", "lost", "papers"])
    assert forked.results()["pages"]["reason"] == "not_applicable:application/pdf"


def test_where_no_server_answers_the_navigation_alone_is_tried_again(forked: Collection) -> None:
    """All that needs the page says so with one reason, without a process, and runs when the page has come."""
    nothing = NAVIGATE.replace("404", "0").replace("application/pdf", "")
    says = """echo '{"type":"ArchiveResult","status":"failed","retry":"later","reason":"no_answer"}'"""
    plugins(forked, f"[ -e tried ] || {{ touch tried\n{nothing}{says}; exit 1\n}}\n{NAVIGATE}")
    hook = "on_Snapshot__63_video.bg.sh"
    entry = {"finite": True, "applies": {"status": "..."}}
    forked.plugin("video", {hook: NOTE}, config={"x-hooks": {hook: entry}})
    forked.plugin(
        "page", {"on_Snapshot__60_page.sh": NOTE}, config={"x-hooks": {"on_Snapshot__60_page.sh": {"page": True}}}
    )
    forked.run(forked.add())
    assert forked.ledger == []
    results = forked.results()
    assert (results["navigate"]["status"], results["navigate"]["reason"]) == ("backoff", "no_answer")
    waiting = {name: (row["status"], row["reason"]) for name, row in results.items() if row["reason"] == "nothing_came"}
    assert waiting == dict.fromkeys([*CONDITIONS.keys() - {"elsewhere"}, "video", "page"], ("skipped", "nothing_came"))
    forked.actor.ask("time_has_come")
    forked.run_until("the second try", lambda: sorted(forked.ledger) == ["lost", "page", "papers", "video"])


def test_a_navigation_whose_tab_died_keeps_no_hook_from_having_the_page_opened_anew(forked: Collection) -> None:
    """It says where it was going, and gives no reason that is of the address."""
    nothing = NAVIGATE.replace("404", "0").replace("application/pdf", "")
    plugins(forked, nothing + """echo '{"type":"ArchiveResult","status":"failed","retry":"later"}'; exit 1""")
    hook = "on_Snapshot__60_page.sh"
    forked.plugin("page", {hook: NOTE}, config={"x-hooks": {hook: {"page": True}}})
    forked.run(forked.add())
    assert forked.ledger == ["page"]


def test_a_page_that_was_had_stays_so_when_its_server_is_silent_later(forked: Collection) -> None:
    nothing = NAVIGATE.replace("404", "0").replace("application/pdf", "")
    says = """echo '{"type":"ArchiveResult","status":"failed","retry":"later","reason":"no_answer"}'"""
    plugins(forked, f"if [ -e tried ]; then {nothing}{says}; exit 1; fi\ntouch tried\n{NAVIGATE}")
    tab, hook = "on_Snapshot__20_tab.daemon.bg.sh", "on_Snapshot__60_moody.sh"
    holds = "trap 'exit 0' TERM\necho ready\nwhile :; do sleep 0.05; done\n"
    forked.plugin("tab", {tab: holds}, config={"x-hooks": {tab: {"session": True, "ready": True}}})
    forked.plugin("moody", {hook: NOTE + "exit 1\n"}, config={"x-hooks": {hook: {"page": True}}})
    forked.run(forked.add())
    forked.actor.ask("time_has_come")
    forked.run_until("the retry", lambda: len(forked.hooks("navigate")) == 2)
    assert forked.results()["navigate"]["status"] == "succeeded"
    assert forked.row("Snapshot", "http_status") == {"http_status": 404}
