"""Who gets a tab and when: no page is taken before there is a place for it, and none holds up the others.

The tab is artificial: a daemon that says it is ready, and goes when it is told. Order and overlap are read from the
ledger and from the rows; nothing here looks at a clock.
"""

from itertools import accumulate

import pytest

from tests.integration.engine.driver import Collection

BASE = (
    'note() { echo "$1" >> "$DATA_DIR/ledger"; }\n'
    'seen() { until grep -qx "$1" "$DATA_DIR/ledger"; do sleep 0.05; done; }\n'
    'host=$(echo "$1" | sed "s|.*//||;s|/.*||")\n'
)
TAB = BASE + 'trap "note $host-closes; exit 0" TERM\nnote $host-opens\necho ready\nwhile :; do sleep 0.05; done\n'


DONE = {"succeeded", "noresults"}


def tabs(made: Collection, shot: str = "note $host-shot\n", *, count: int = 1, workers: int = 1) -> None:
    """A tab for each page, a hook that needs it, and so many tabs."""
    tab = "on_Snapshot__20_tab.daemon.bg.sh"
    made.plugin("tab", {tab: TAB}, config={"x-hooks": {tab: {"session": True, "ready": True}}})
    made.plugin("shot", {"on_Snapshot__51_shot.sh": BASE + shot + "note $host-done\n"})
    made.settings |= {"TABS": str(count), "WORKERS": str(workers), "HOOK_CONCURRENCY": "8"}


def waiting_tabs(made: Collection, until: str, shot: str = "note $host-shot\n") -> None:
    """One tab, and a load in which pages of ``bad`` hosts wait for their servers; nobody becomes late by the clock."""
    waits = f"""case $host in bad*) echo '{{"type":"Waiting"}}'; note $host-waits; {until} ;; esac\n"""
    hook = "on_Snapshot__30_load.sh"
    made.plugin("load", {hook: BASE + waits}, config={"x-hooks": {hook: {"session": True, "exclusive": ["tab"]}}})
    tabs(made, shot)
    made.settings |= {"ARCHIVEBOX_LATE_SECONDS": "600", "TIMEOUT": "600"}


def bad(count: int) -> list[str]:
    return [f"http://bad{number}.test/" for number in range(count)]


def waiting(made: Collection) -> list[str]:
    return [line for line in made.ledger if line.endswith("-waits")]


def good(count: int) -> list[str]:
    return [f"http://good{number}.test/" for number in range(count)]


def most_open(made: Collection) -> int:
    """How many tabs were in use at a time, by the ledger; one may open while another closes."""
    count, most = 0, 0
    for line in made.ledger:
        count += line.endswith("-opens")
        count -= line.endswith("-done")
        most = max(most, count)
    return most


def test_a_worker_takes_no_more_pages_than_it_has_tabs_and_one_ahead(forked: Collection) -> None:
    tabs(forked, "note $host-waits\nseen go\n")
    crawl = forked.add(*good(8))
    forked.watch()
    forked.wait("a page has the tab", lambda: any(line.endswith("-waits") for line in forked.ledger))
    forked.wait("one is ahead", lambda: len(forked.rows("Snapshot", "pk", owner__isnull=False)) == 2)
    forked.add("http://another.test/", PLUGINS=["nothing"])  # the worker looks at what there is once more
    forked.wait_sealed(crawl_of(forked, "http://another.test/"))
    assert len(forked.rows("Snapshot", "pk", owner__isnull=False)) == 2
    (forked.root / "ledger").open("a").write("go\n")
    forked.wait_sealed(crawl)
    forked.leave()
    assert most_open(forked) == 1


def crawl_of(made: Collection, url: str) -> str:
    return str(made.row("Snapshot", "crawl_id", url=url)["crawl_id"])


def test_the_pages_of_one_host_are_spread_over_the_workers_and_their_tabs(forked: Collection) -> None:
    """The first two pages wait for each other: with one tab open neither comes to an end."""
    pair = 'note $host-shot\nuntil [ "$(grep -c -- -shot "$DATA_DIR/ledger")" -ge 2 ]; do sleep 0.05; done\nsleep 0.1\n'
    tabs(forked, pair, count=2, workers=2)
    forked.watch_with(2)
    crawl = forked.add(*[f"http://one.test/{number}" for number in range(8)])
    forked.wait_sealed(crawl)
    forked.leave()
    assert most_open(forked) == 2
    assert len({row["parent_id"] for row in forked.hooks("shot")}) == 2


def test_a_worker_uses_the_tabs_that_the_others_leave(forked: Collection) -> None:
    """Two pages of which one worker has both: the second worker never comes to be."""
    tabs(forked, "note shot-$host\nseen shot-good0.test\nseen shot-good1.test\n", count=2, workers=2)
    forked.run(forked.add(*good(2)))
    assert most_open(forked) == 2


def test_a_page_that_never_loads_holds_up_no_other(forked: Collection) -> None:
    """It ends only when eight others have ended."""
    waits = "".join(f"seen good{number}.test-shot\n" for number in range(8))
    tabs(forked, f"case $host in bad.test) {waits.replace(chr(10), ';')} ;; *) note $host-shot ;; esac\n", count=2)
    forked.settings["WORKERS"] = "2"
    forked.run(forked.add("http://bad.test/", *good(8)))
    assert forked.results()["shot"]["status"] == "noresults"


def test_late_pages_leave_their_tabs_to_others(forked: Collection) -> None:
    """Both of the first two wait for the third, and there is one tab."""
    forked.settings["ARCHIVEBOX_LATE_SECONDS"] = "0.3"
    tabs(forked, "case $host in good*) note $host-shot ;; *) seen good0.test-shot ;; esac\n")
    forked.run(forked.add("http://bad.test/", *good(1)))
    assert forked.ledger.index("good0.test-opens") < forked.ledger.index("bad.test-closes")


def test_a_page_that_waits_for_its_server_holds_up_no_other(forked: Collection) -> None:
    """Neither by its tab nor by its hook, of which one runs at a time; it goes on when all others are done."""
    waiting_tabs(forked, "seen good3.test-done")
    forked.settings["HOOK_CONCURRENCY"] = "1"
    forked.run(forked.add(*bad(2), *good(4)))
    assert {row["status"] for row in forked.rows("ArchiveResult", "status")} <= DONE
    assert {"bad0.test-done", "bad1.test-done"} <= set(forked.ledger)


def test_so_many_stand_aside_and_no_more(forked: Collection) -> None:
    """With one tab five, beside one that is late and one that is fresh: of nine that wait, two have no tab."""
    waiting_tabs(forked, "seen go")
    crawl = forked.add(*bad(9))
    forked.watch()
    forked.wait("as many wait as may", lambda: len(waiting(forked)) == 7)
    forked.add("http://another.test/", PLUGINS=["nothing"])  # the worker looks at what there is once more
    forked.wait_sealed(crawl_of(forked, "http://another.test/"))
    assert len(waiting(forked)) == 7
    (forked.root / "ledger").open("a").write("go\n")
    forked.wait_sealed(crawl)
    forked.leave()
    assert {row["status"] for row in forked.rows("ArchiveResult", "status", snapshot__crawl=crawl)} <= DONE


def test_those_that_come_back_are_at_work_as_many_at_a_time_as_have_places(forked: Collection) -> None:
    """A fresh one and a late one: the first two end only when both are at work."""
    pair = 'note $host-shot\nuntil [ "$(grep -c -- -shot "$DATA_DIR/ledger")" -ge 2 ]; do sleep 0.05; done\nsleep 0.1\n'
    waiting_tabs(forked, "seen go", pair)
    crawl = forked.add(*bad(4))
    forked.watch()
    forked.wait("all wait", lambda: len(waiting(forked)) == 4)
    (forked.root / "ledger").open("a").write("go\n")
    forked.wait_sealed(crawl)
    forked.leave()
    assert most_at_work(forked) == 2


def most_at_work(made: Collection) -> int:
    """How many pages were being looked at at a time, by the ledger."""
    return max(accumulate(line.endswith("-shot") - line.endswith("-done") for line in made.ledger))


def test_what_is_tried_again_and_waits_takes_no_place_of_a_late_page(forked: Collection) -> None:
    """There is one place for late ones: the retry waits for a page that comes when another is late."""
    again = "if [ -e ../tried ]; then seen good0.test-shot; fi"
    shot = (
        "case $host in bad0.test) [ -e ../tried ] || { touch ../tried; exit 1; } ;; old.test) seen good0.test-shot ;;"
    )
    waiting_tabs(forked, again, f"{shot} *) note $host-shot ;; esac\n")
    forked.settings["ARCHIVEBOX_LATE_SECONDS"] = "0.3"
    forked.run(forked.add(*bad(1)))
    assert forked.actor.ask("time_has_come") == 1
    forked.watch()
    forked.wait("the retry waits", lambda: len(waiting(forked)) == 2)
    fresh = forked.add("http://old.test/", *good(1))
    forked.wait_sealed(fresh)
    forked.wait("the retry", lambda: forked.results(snapshot__url=bad(1)[0])["shot"]["status"] in DONE)
    forked.wait_sealed()
    forked.leave()


def test_a_new_crawl_has_a_tab_whatever_the_others_do(forked: Collection) -> None:
    tabs(forked, "note $host-waits\ncase $host in new.test) ;; *) seen new.test-waits ;; esac\n")
    old = forked.add(*good(4))
    forked.watch()
    forked.wait("the old one has the tab", lambda: any(line.endswith("-waits") for line in forked.ledger))
    new = forked.add("http://new.test/")
    forked.wait_sealed(old, new)
    forked.leave()


def test_what_is_tried_again_takes_no_tab_of_a_fresh_page(forked: Collection) -> None:
    """The second try of one page lasts until all pages of a later crawl are done; there is one tab."""
    again = "if [ -e tried ]; then note again; seen good3.test-shot; else touch tried; exit 1; fi\n"
    tabs(forked, f"case $host in old.test) {again.strip()} ;; *) note $host-shot ;; esac\n")
    forked.run(forked.add("http://old.test/"))
    assert forked.actor.ask("time_has_come") == 1
    forked.watch()
    forked.wait_ledger("again")
    fresh = forked.add(*good(4))
    forked.wait_sealed(fresh)
    forked.wait("the retry", lambda: forked.results(snapshot__url="http://old.test/")["shot"]["status"] in DONE)
    forked.wait_sealed()
    forked.leave()


@pytest.mark.default
def test_the_tab_is_given_back_before_the_programs_run(forked: Collection) -> None:
    tabs(forked)
    forked.plugin("program", {"on_Snapshot__61_program.sh": BASE + "seen good0.test-closes\nnote program\n"})
    forked.run(forked.add(*good(1)))
    assert forked.results()["program"]["status"] == "noresults"
    assert forked.results()["tab"]["status"] in DONE


def test_a_late_hook_that_needs_the_page_runs_before_the_programs(forked: Collection) -> None:
    """Unless it says that it comes after one of them."""
    tabs(forked)
    hooks = {"on_Snapshot__75_links.sh": BASE + "note links\n", "on_Snapshot__76_more.sh": BASE + "note more\n"}
    needs = {
        "on_Snapshot__75_links.sh": {"page": True},
        "on_Snapshot__76_more.sh": {"page": True, "after": ["program"]},
    }
    forked.plugin("links", hooks, config={"x-hooks": needs})
    forked.plugin("program", {"on_Snapshot__61_program.sh": BASE + "note program\n"})
    forked.run(forked.add(*good(1)))
    assert set(forked.ledger[1:4]) == {"good0.test-shot", "good0.test-done", "links"}
    assert forked.ledger[4:] == ["program", "more", "good0.test-closes"]


def test_what_listens_to_the_page_is_told_before_its_tab(forked: Collection) -> None:
    tabs(forked)
    listener = BASE + 'trap "note listener-told; sleep 0.2; exit 0" TERM\nnote listens\nwhile :; do sleep 0.05; done\n'
    hook = "on_Snapshot__21_listener.bg.sh"
    forked.plugin("listener", {hook: listener}, config={"x-hooks": {hook: {"page": True, "after": ["tab"]}}})
    forked.run(forked.add(*good(1)))
    assert forked.ledger[-2:] == ["listener-told", "good0.test-closes"]


def test_a_background_hook_that_does_not_say_keeps_the_page_to_the_end(forked: Collection) -> None:
    """As listeners do that were written for other versions."""
    tabs(forked)
    listener = BASE + 'trap "note listener-told; exit 0" TERM\nwhile :; do sleep 0.05; done\n'
    forked.plugin("listener", {"on_Snapshot__21_listener.bg.sh": listener})
    forked.plugin("program", {"on_Snapshot__61_program.sh": BASE + "sleep 0.3\nnote program\n"})
    forked.run(forked.add(*good(1)))
    assert forked.ledger[-3:] == ["program", "listener-told", "good0.test-closes"]


@pytest.mark.default
def test_derived_hooks_run_once_when_all_else_is_final(forked: Collection) -> None:
    tabs(forked)
    forked.plugin(
        "listener",
        {"on_Snapshot__21_listener.bg.sh": BASE + "trap 'note told; exit 0' TERM\nwhile :; do sleep 0.05; done\n"},
    )
    derived = {"on_Snapshot__57_text.sh": BASE + "note text\n", "on_Snapshot__93_hashes.sh": BASE + "note hashes\n"}
    kinds = {
        "on_Snapshot__57_text.sh": {"derived": True, "sources": ["shot", "program"], "exclusive": []},
        "on_Snapshot__93_hashes.sh": {"derived": True},
    }
    forked.plugin("derived", derived, config={"x-hooks": kinds})
    forked.plugin("program", {"on_Snapshot__61_program.sh": BASE + "sleep 0.2\nnote program\n"})
    forked.run(forked.add(*good(1)))
    at = forked.position
    assert at("program") < at("text") < at("hashes")
    assert at("told") < at("hashes")
    assert (len(forked.hooks("text")), len(forked.hooks("hashes"))) == (1, 1)
