"""The live page: an artificial one, a file that a daemon holds and that is gone when it dies."""

import json
import signal

import pytest

from tests.integration.engine.driver import Collection, identity_of
from tests.marks import first_by_default

LEDGER = 'note() { echo "$1" >> "$DATA_DIR/ledger"; }\n'
TAB = (
    LEDGER
    + 'trap "rm -f page; note tab-closes; exit 0" TERM\nnote tab-opens\n'
    + "echo $$ > holder\necho blank > page\necho ready\nwhile :; do sleep 0.1; done\n"
)
NAVIGATE = LEDGER + "note navigates\n[ -e ../tab/page ] || exit 9\necho loaded > ../tab/page\n"
SHOT = (
    LEDGER + "grep -q loaded ../tab/page || { note no-page; exit 8; }\nnote shoots\n"
    "cp ../tab/page shot.txt\n[ -e done ] || { touch done; exit 1; }\n"
)
AFTERWARDS = LEDGER + "note afterwards\n"


def browser(made: Collection, shot: str = SHOT, **declared: bool) -> None:
    """``declared``: what is said of the hook that shoots, beside that it needs the page."""
    made.plugin(
        "tab",
        {"on_Snapshot__20_tab.daemon.bg.sh": TAB},
        config={"x-hooks": {"on_Snapshot__20_tab.daemon.bg.sh": {"session": True, "ready": True}}},
    )
    made.plugin(
        "navigate",
        {"on_Snapshot__30_navigate.sh": NAVIGATE},
        config={"x-hooks": {"on_Snapshot__30_navigate.sh": {"session": True}}},
    )
    made.plugin(
        "shot",
        {"on_Snapshot__51_shot.sh": shot},
        config={"x-hooks": {"on_Snapshot__51_shot.sh": {"page": True, **declared}}},
    )
    made.plugin("afterwards", {"on_Snapshot__60_afterwards.sh": AFTERWARDS})


@pytest.mark.default
def test_a_retried_page_hook_gets_its_page_again(forked: Collection) -> None:
    browser(forked)
    crawl = forked.add()
    forked.run(crawl)
    assert forked.ledger[:3] == ["tab-opens", "navigates", "shoots"]
    assert set(forked.ledger[3:]) == {"afterwards", "tab-closes"}, "in any order: the tab is not needed any more"
    before = forked.results()
    assert before["shot"]["status"] == "backoff"
    assert forked.actor.ask("time_has_come") == 1
    forked.run_until("the retry", lambda: forked.results()["shot"]["status"] == "succeeded")
    assert forked.ledger[5:] == ["tab-opens", "navigates", "shoots", "tab-closes"]
    after = forked.results()
    for name in ("tab", "navigate", "afterwards"):
        assert after[name]["status"] == before[name]["status"]
    assert len(forked.hooks("tab")) == len(forked.hooks("navigate")) == len(forked.hooks("shot")) == 2


@pytest.mark.default
@first_by_default(1, "leaves", ["", "mkdir -p many; (cd many; seq 50000 | xargs touch)\n"])
def test_a_page_that_dies_is_opened_again_for_what_needs_it(forked: Collection, leaves: str) -> None:
    """The tab is killed between the navigation and the picture; its many files take a while to list."""
    browser(forked, SHOT.replace("[ -e done ] || { touch done; exit 1; }\n", ""))
    (forked.root / "plugins" / "tab" / "on_Snapshot__20_tab.daemon.bg.sh").write_text(leaves + TAB)
    kill = (
        "pid=$(cat ../.hooks/on_Snapshot__20_tab.daemon.bg.sh.*.pid)\nkill -9 $pid\nrm ../tab/page\n"
        # Dying takes a moment.
        "while [ -e /proc/$pid ] && ! grep -q 'State:.Z' /proc/$pid/status; do sleep 0.01; done\n"
    )
    forked.plugin("crash", {"on_Snapshot__40_crash.sh": LEDGER + "note crash\n" + kill})
    forked.run(forked.add())
    shot = forked.results()["shot"]
    assert shot["status"] == "succeeded", (shot, forked.ledger)
    assert forked.ledger[:6] == ["tab-opens", "navigates", "crash", "tab-opens", "navigates", "shoots"]
    assert set(forked.ledger[6:]) == {"afterwards", "tab-closes"}


LOST = (
    '[ -e lost ] || { touch lost; echo \'{"type":"ArchiveResult","status":"failed","retry":"new_page"}\'; exit 1; }\n'
)


def test_a_hook_that_says_its_page_is_lost_gets_a_new_one_and_no_attempt_is_counted(forked: Collection) -> None:
    """Its holder does not know yet: it is told to stop, so that never two hold a page."""
    browser(forked, LEDGER + LOST + "note shoots\n")
    forked.run(forked.add())
    results = forked.results()
    assert results["shot"]["status"] == "succeeded"
    assert [results[name]["attempts"] for name in ("tab", "navigate", "shot")] == [1, 1, 1]
    opened_twice = ["tab-opens", "navigates", "tab-closes", "tab-opens", "navigates", "shoots"]
    assert forked.ledger[:6] == opened_twice


PACKED = (
    LEDGER + "note shoots\necho ready\n"
    'until grep -q tab-closes "$DATA_DIR/ledger"; do sleep 0.02; done\n'
    "note packs\nexit 1\n"
)


def test_a_hook_that_released_its_page_continues_and_fails_alone(forked: Collection) -> None:
    browser(forked, PACKED, ready=True)
    forked.run(forked.add())
    assert forked.ledger == ["tab-opens", "navigates", "shoots", "tab-closes", "packs", "afterwards"]
    assert forked.results()["shot"]["status"] == "backoff", "no page was lost, so this counts"


def test_nothing_is_kept_of_a_tab_whose_navigation_broke(forked: Collection) -> None:
    """It is opened and loaded anew first: what a blank tab shows would be taken for the page."""
    browser(forked, LEDGER + "note shoots-$(cat ../tab/page)\n")
    first = "[ -e went ] || { touch went; exit 9; }\n"
    (forked.root / "plugins" / "navigate" / "on_Snapshot__30_navigate.sh").write_text(first + NAVIGATE)
    forked.run(forked.add())
    assert [line for line in forked.ledger if line.startswith("shoots")] == ["shoots-loaded"]
    assert forked.results()["navigate"]["status"] == "succeeded"


def test_without_any_page_its_hooks_fail_with_a_reason_and_the_rest_goes_on(forked: Collection) -> None:
    browser(forked)
    (forked.root / "plugins" / "tab" / "on_Snapshot__20_tab.daemon.bg.sh").write_text(LEDGER + "note no-tab\nexit 1\n")
    forked.run(forked.add())
    results = forked.results()
    assert results["shot"]["reason"] == "no_session"
    assert results["afterwards"]["status"] == "noresults"
    assert "shoots" not in forked.ledger
    assert forked.ledger.count("no-tab") > 1, "it was opened as often as a page may be"
    assert (results["tab"]["status"], results["tab"]["attempts"]) == ("backoff", 1), "which is one try"


def test_where_the_browser_never_starts_no_tab_waits_for_it(forked: Collection) -> None:
    browser(forked)
    name = "on_Crawl__01_browser.daemon.bg.sh"
    (forked.root / "plugins" / "tab" / name).write_text("exit 1\n")
    config = forked.root / "plugins" / "tab" / "config.json"
    declared = json.loads(config.read_text())
    declared["x-hooks"][name] = {"ready": True}
    config.write_text(json.dumps(declared))
    forked.run(forked.add())
    results = forked.results()
    assert "tab-opens" not in forked.ledger
    assert {results[one]["reason"] for one in ("tab", "shot")} == {"no_session"}
    assert results["afterwards"]["status"] == "noresults"
    assert {results[one]["status"] for one in ("tab", "shot")} == {"backoff"}


RECORDER = "on_Snapshot__24_recorder.daemon.bg.sh"
RECORDS = (
    LEDGER
    + 'trap "echo whole > recording; note recorded; exit 0" TERM\n'
    + "kill -0 $(cat ../tab/holder) || "
    + """{ echo '{"type":"ArchiveResult","status":"failed","retry":"later"}'; exit 1; }\n"""
    + "grep -q blank ../tab/page || { note late; exit 7; }\n"
)
LISTENS = "note records\necho ready\nwhile :; do sleep 0.1; done\n"


def recorder(made: Collection, script: str, name: str = "recorder") -> None:
    """What listens to the page from before it is loaded; ``script``: after it has found the page."""
    declared = {"session": True, "page": True, "ready": True, "after": ["tab"]}
    hook = RECORDER.replace("recorder", name)
    made.plugin(name, {hook: RECORDS + script}, config={"x-hooks": {hook: declared}})


@pytest.mark.default
def test_after_a_kill_of_all_no_listener_starts_before_the_page_is_open_again(forked: Collection) -> None:
    """All die between the word of the tab and the start of what listens to it: the worker is held still there."""
    browser(forked, LEDGER + "note shoots\n")
    recorder(forked, LISTENS)
    hook = forked.root / "plugins" / "tab" / "on_Snapshot__20_tab.daemon.bg.sh"
    holds = "[ -e held ] || { touch held; sleep 1; kill -STOP $PPID; echo ready; note held; }\necho ready\n"
    hook.write_text(TAB.replace("echo ready\n", holds))
    forked.add()
    forked.watch()
    forked.wait_ledger("held")
    forked.kill()
    forked.watch()
    forked.wait_sealed()
    forked.leave()
    assert forked.ledger[:6] == ["tab-opens", "held", "tab-opens", "records", "navigates", "shoots"]
    assert forked.results()["recorder"]["status"] == "succeeded"


@pytest.mark.parametrize("victim", ["recorder", "navigate", "tab"])
def test_where_a_session_hook_is_killed_alone_the_page_is_opened_anew(forked: Collection, victim: str) -> None:
    waits = "[ -e waited ] || { touch waited; note waits; exec sleep 600; }\n"
    browser(forked, LEDGER + "note shoots\n")
    recorder(forked, LISTENS)
    hook = forked.root / "plugins" / "navigate" / "on_Snapshot__30_navigate.sh"
    hook.write_text(NAVIGATE.replace("note navigates\n", waits + "note navigates\n"))
    forked.add()
    forked.watch()
    forked.wait_ledger("waits")
    (row,) = forked.wait("on record", lambda: [row for row in forked.hooks(victim) if row["status"] == "running"])
    identity_of(row).signal(signal.SIGKILL)
    forked.wait_sealed()
    forked.leave()
    after = forked.ledger[forked.ledger.index("waits") + 1 :]
    assert [line for line in after if line not in {"recorded", "tab-closes"}] == [
        "tab-opens",
        "records",
        "navigates",
        "shoots",
        "afterwards",
    ]
    results = forked.results()
    assert {name: row["attempts"] for name, row in results.items() if row["status"] in {"failed", "backoff"}} == {}
    assert results["recorder"]["status"] == "succeeded"


def test_listeners_that_break_are_tried_again_with_the_whole_page(forked: Collection) -> None:
    """They wait for their retry as any other hook does, and start on no page that they have not seen load."""
    browser(forked, LEDGER + "note shoots\n")
    for name in ("recorder", "listener", "another"):
        recorder(forked, "[ -e broke ] || { touch broke; exit 3; }\n" + LISTENS, name)
    forked.run(forked.add())
    assert (forked.results()["recorder"]["status"], forked.results()["recorder"]["reason"]) == ("backoff", "crashed")
    before = len(forked.ledger)
    assert forked.actor.ask("time_has_come") == 3
    forked.run_until("the retry", lambda: forked.results()["recorder"]["status"] == "succeeded")
    assert forked.ledger[before : before + 5] == ["tab-opens", "records", "records", "records", "navigates"]
    assert forked.ledger[before:].count("recorded") == 3
    assert {name for name, row in forked.results().items() if row["status"] != "succeeded"} == {
        "navigate",
        "afterwards",
        "shot",
    }


def test_a_recorder_that_is_killed_while_it_winds_down_has_not_recorded(forked: Collection) -> None:
    """It leaves a file, by which it would be judged; its page is opened anew."""
    forked.settings["SEAL_GRACE"] = "60"
    browser(forked, LEDGER + "note shoots\n")
    recorder(forked, LISTENS)
    hook = forked.root / "plugins" / "recorder" / RECORDER
    killed = 'trap "[ -e killed ] || { echo half > killed; note killed; kill -9 $$; }; '
    hook.write_text(hook.read_text().replace('trap "', killed))
    forked.run(forked.add())
    assert forked.ledger.count("killed") == 1
    assert forked.ledger.count("records") == forked.ledger.count("navigates") == 2
    assert forked.results()["recorder"]["status"] == "succeeded"


def test_a_page_whose_proxy_dies_while_it_loads_is_opened_anew(forked: Collection) -> None:
    browser(forked, LEDGER + "note shoots\n")
    hook = forked.root / "plugins" / "navigate" / "on_Snapshot__30_navigate.sh"
    asks = "curl --silent --noproxy '*' --output /dev/null http://${http_proxy#*@}/\nnote asks\n"
    waits = 'until [ -e "$DATA_DIR/killed" ]; do sleep 0.05; done\n'
    hook.write_text(NAVIGATE + asks + waits)
    forked.add()
    forked.watch()
    forked.wait_ledger("asks")  # a proxy that has not begun to serve the crawl takes nothing with it
    proxies = {"worker_type": "egress", "status": "running", "pid__isnull": False}
    (row,) = forked.wait("the proxy", lambda: forked.processes(**proxies))
    identity_of(row).signal(signal.SIGKILL)
    forked.wait("the next proxy", lambda: [one for one in forked.processes(**proxies) if one["pk"] != row["pk"]])
    (forked.root / "killed").touch()
    forked.wait_sealed()
    forked.leave()
    lines = forked.ledger  # a worker that notices the death late has taken a picture before
    opened_twice = ["tab-opens", "navigates", "asks", "tab-closes", "tab-opens", "navigates", "asks"]
    assert [line for line in lines if line != "shoots"][:7] == opened_twice
    assert "shoots" in lines[lines.index("tab-closes") :]


def test_pages_of_a_dead_worker_that_hold_tabs_are_resumed_before_others(forked: Collection) -> None:
    """Those that were queued before would fill the next worker, and wait there for the tabs."""
    forked.settings["TABS"] = "1"
    browser(forked, LEDGER + "note shoots\n")
    hook = forked.root / "plugins" / "navigate" / "on_Snapshot__30_navigate.sh"
    hook.write_text(NAVIGATE + 'until [ -e "$DATA_DIR/killed" ]; do sleep 0.05; done\n')
    forked.add(*(f"http://one.test/{number}" for number in range(6)))
    forked.watch()
    forked.wait_ledger("navigates")
    forked.wait("the row of its process", lambda: forked.hooks("navigate", status="running", pid__isnull=False))
    (worker,) = forked.processes(status="running", worker_type="worker")
    identity_of(worker).signal(signal.SIGKILL)
    forked.wait("the next worker", lambda: forked.rows("Snapshot", "pk", owner__isnull=False, owner__gt=worker["pk"]))
    (forked.root / "killed").touch()
    forked.wait_sealed()
    forked.leave()
    assert forked.ledger.count("shoots") == 6
    assert forked.ledger.count("navigates") == 6, "hooks went on where their worker died"
