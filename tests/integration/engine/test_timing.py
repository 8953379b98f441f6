"""The contract's chapter on timing: order, side by side, exclusive resources, readiness, `after`, background hooks.

Order is read from a ledger that the hooks write themselves; nothing here looks at a clock.
"""

import pytest

from tests.integration.engine.driver import Collection

NOTE = 'note() { echo "$1" >> "$DATA_DIR/ledger"; }\n'
SEEN = 'seen() { until grep -qx "$1" "$DATA_DIR/ledger"; do sleep 0.05; done; }\n'
"""Waits for another hook's line: hooks that wait for each other come to an end only side by side."""
READY_DAEMON = (
    NOTE
    + 'trap "note {0}-told; exit 0" TERM\nnote {0}-starts\nsleep 1\nnote {0}-ready\n'
    + "echo ready\nwhile :; do sleep 0.1; done\n"
)


def note(name: str) -> str:
    return f"{NOTE}note {name}-starts\nnote {name}-ends\n"


def test_described_foreground_hooks_of_a_step_run_side_by_side(forked: Collection) -> None:
    hooks = {
        "on_Snapshot__10_one.sh": NOTE + SEEN + "note one\nseen two\nnote one-ends\n",
        "on_Snapshot__11_two.sh": NOTE + SEEN + "note two\nseen one\nnote two-ends\n",
    }
    forked.plugin("pair", hooks, config={"x-hooks": {name: {} for name in hooks}})
    forked.run(forked.add())
    assert {row["status"] for row in forked.results().values()} == {"noresults"}
    assert set(forked.ledger) == {"one", "two", "one-ends", "two-ends"}


def test_foreground_hooks_that_nothing_describes_run_in_the_order_of_their_numbers(forked: Collection) -> None:
    """Whatever becomes of those before them; the background and what is described go on meanwhile."""

    def slow(name: str, code: int) -> str:
        return NOTE + SEEN + f"note {name}-starts\nseen beside\nsleep 0.2\nnote {name}-ends\nexit {code}\n"

    forked.plugin("navigate", {"on_Snapshot__30_navigate.sh": slow("navigate", 1)})
    forked.plugin("seo", {"on_Snapshot__38_seo.sh": slow("seo", 0)})
    forked.plugin("accessibility", {"on_Snapshot__39_accessibility.sh": note("accessibility")})
    described: dict[str, object] = {"x-hooks": {"on_Snapshot__37_beside.sh": {}}}
    forked.plugin(
        "beside", {"on_Snapshot__37_beside.sh": NOTE + SEEN + "seen navigate-starts\nnote beside\n"}, config=described
    )
    forked.run(forked.add())
    expected = [f"{name}-{word}" for name in ("navigate", "seo", "accessibility") for word in ("starts", "ends")]
    assert [line for line in forked.ledger if line != "beside"] == expected


def test_no_more_hooks_than_slots_run_at_a_time(forked: Collection) -> None:
    forked.settings["HOOK_CONCURRENCY"] = "1"
    hooks = {f"on_Snapshot__{10 + n}_h{n}.sh": note(f"h{n}") for n in range(6)}
    forked.plugin("queue", hooks, config={"x-hooks": {name: {} for name in hooks}})
    forked.run(forked.add())
    assert forked.ledger == [f"h{n}-{word}" for n in range(6) for word in ("starts", "ends")]


@pytest.mark.default
def test_holders_of_one_resource_run_one_at_a_time_in_file_name_order(forked: Collection) -> None:
    hooks = {f"on_Snapshot__1{n}_h{n}.sh": NOTE + f"note h{n}-starts\nsleep 0.1\nnote h{n}-ends\n" for n in range(4)}
    exclusive = {name: {"exclusive": ["lamp"]} for name in hooks}
    forked.plugin("turns", hooks, config={"x-hooks": exclusive})
    forked.run(forked.add())
    assert forked.ledger == [f"h{n}-{word}" for n in range(4) for word in ("starts", "ends")]


def test_a_resource_of_the_machine_is_held_by_one_hook_of_all_pages(each_mode: Collection) -> None:
    """A third of them dies of its own hand: a resource is free when its holder has ended, however it ended."""
    work = NOTE + 'note starts\nsleep 0.1\nnote ends\n[ "${RANDOM: -1}" -gt 3 ] || kill -9 $$\n'
    config = {"x-hooks": {"on_Snapshot__10_lathe.sh": {"exclusive": ["machine:lathe"]}}}
    each_mode.plugin("lathe", {"on_Snapshot__10_lathe.sh": work}, config=config)
    each_mode.settings |= {"MAX_ATTEMPTS": "1"}
    each_mode.watch_with(2)
    each_mode.wait_sealed(each_mode.add(*[f"http://h{n}.test/" for n in range(6)]))
    each_mode.leave()
    assert len({row["parent_id"] for row in each_mode.hooks("lathe")}) == 2, "each worker had some"
    assert each_mode.ledger == ["starts", "ends"] * 6


HOLDER = NOTE + 'note "up"\ntrap "note down; exit 0" TERM\necho ready\nwhile :; do sleep 0.05; done\n'


def test_so_many_crawls_hold_a_browser_at_a_time(forked: Collection) -> None:
    forked.plugin("holder", {"on_Crawl__20_holder.daemon.bg.sh": HOLDER})
    forked.plugin("page", {"on_Snapshot__10_page.sh": note("page")})
    forked.settings |= {"CRAWLS_IN_FLIGHT": "1", "SNAPSHOTS_IN_FLIGHT": "8"}
    forked.run(*[forked.add(f"http://h{n}.test/") for n in range(4)])
    assert forked.ledger == ["up", "page-starts", "page-ends", "down"] * 4


def test_a_long_crawl_makes_room_for_one_that_waits(forked: Collection) -> None:
    forked.plugin("holder", {"on_Crawl__20_holder.daemon.bg.sh": HOLDER})
    forked.plugin("page", {"on_Snapshot__10_page.sh": NOTE + 'note "$1"\nsleep 0.2\n'})
    forked.settings |= {"CRAWLS_IN_FLIGHT": "1", "SNAPSHOTS_IN_FLIGHT": "1", "CRAWL_TURN": "0.1"}
    long = forked.add(*[f"http://long{n}.test/" for n in range(8)])
    forked.watch()
    forked.wait_ledger("--url=http://long0.test/")
    short = forked.add("http://short.test/")
    forked.wait_sealed(long, short)
    forked.leave()
    pages = [line for line in forked.ledger if line.startswith("--url")]
    assert len(pages) == 9
    assert pages.index("--url=http://short.test/") < 8
    running = [0]
    for line in forked.ledger:
        running.append(running[-1] + {"up": 1, "down": -1}.get(line, 0))
    assert max(running) == 1


def test_a_step_begins_when_the_one_before_is_over(forked: Collection) -> None:
    hooks = {f"on_Snapshot__{step}{n}_s{step}{n}.sh": note(f"s{step}{n}") for step in range(10) for n in (0, 9)}
    forked.plugin("steps", hooks)
    forked.run(forked.add())
    steps = [int(line[1]) for line in forked.ledger]
    assert steps == sorted(steps)
    assert len(steps) == 40


@pytest.mark.default
def test_foreground_hooks_wait_for_a_daemon_that_sorts_before_them(each_mode: Collection) -> None:
    each_mode.plugin(
        "stage",
        {
            "on_Snapshot__10_before.sh": note("before"),
            "on_Snapshot__20_daemon.daemon.bg.sh": READY_DAEMON.replace("{0}", "daemon"),
            "on_Snapshot__21_listener.bg.sh": note("listener"),
            "on_Snapshot__22_same_step.sh": note("same_step"),
            "on_Snapshot__30_later.sh": note("later"),
        },
        config={"x-hooks": {"on_Snapshot__21_listener.bg.sh": {}}},
    )
    each_mode.run(each_mode.add())
    ready = each_mode.position("daemon-ready")
    assert each_mode.position("before-starts") < each_mode.position("daemon-starts") < ready
    assert ready < each_mode.position("same_step-starts") < each_mode.position("later-starts")
    assert each_mode.position("listener-starts") < ready, "a background hook that is described starts at once"
    assert each_mode.ledger[-1] == "daemon-told"


def test_nobody_waits_longer_than_the_ready_time(forked: Collection) -> None:
    silent = NOTE + 'trap "note told; exit 0" TERM\nnote silent-starts\nwhile :; do sleep 0.1; done\n'
    forked.plugin("mute", {"on_Snapshot__10_mute.daemon.bg.sh": silent, "on_Snapshot__11_goes_on.sh": note("goes_on")})
    forked.run(forked.add())
    assert forked.ledger == ["silent-starts", "goes_on-starts", "goes_on-ends", "told"]


@pytest.mark.default
def test_a_finite_hook_is_not_told_to_stop_and_the_seal_waits_for_it(each_mode: Collection) -> None:
    finite = NOTE + SEEN + 'trap "note told; exit 1" TERM\nnote finite-starts\nseen daemon-told\nnote finite-ends\n'
    each_mode.plugin(
        "downloads",
        {
            "on_Snapshot__10_daemon.daemon.bg.sh": READY_DAEMON.replace("{0}", "daemon"),
            "on_Snapshot__60_finite.finite.bg.sh": finite,
            "on_Snapshot__90_last.sh": note("last"),
        },
    )
    each_mode.run(each_mode.add())
    assert each_mode.results()["finite"]["status"] == "noresults"
    assert "told" not in each_mode.ledger
    at = each_mode.position
    assert at("last-ends") < at("daemon-told") < at("finite-ends")


def test_derived_hooks_run_again_after_a_late_result(forked: Collection) -> None:
    finite = NOTE + SEEN + "seen chain-starts\necho late > late.txt\nnote finite-ends\n"
    forked.plugin("late", {"on_Snapshot__60_late.finite.bg.sh": finite})
    forked.plugin(
        "derived",
        {
            "on_Snapshot__92_derived.sh": NOTE + "note derived-starts\nls ../late 2>/dev/null > list.txt; exit 0\n",
            "on_Snapshot__91_other.sh": "exit 0\n",
        },
        config={
            "x-hooks": {
                "on_Snapshot__92_derived.sh": {"derived": True},
                "on_Snapshot__91_other.sh": {"derived": True, "sources": ["dom"]},
            }
        },
    )
    forked.plugin("end", {"on_SnapshotEnd__10_end.sh": note("end")})
    chain = {"on_Snapshot__93_chain.sh": {"derived": True, "sources": ["derived"]}}
    forked.plugin("chain", {"on_Snapshot__93_chain.sh": NOTE + "note chain-starts\n"}, config={"x-hooks": chain})
    forked.run(forked.add())
    once = ["derived-starts", "chain-starts"]
    assert forked.ledger == [*once, "finite-ends", *once, "end-starts", "end-ends"]
    assert len(forked.hooks("derived")) == len(forked.hooks("chain")) == 2
    assert len(forked.hooks("other")) == 1, "what it is made from did not change"
    assert forked.results()["derived"]["output_files"]["list.txt"]["size"] == len("late.txt\n")
    assert forked.results()["derived"]["status"] == "succeeded"


def test_a_derived_hook_runs_again_after_what_became_final_while_it_ran(forked: Collection) -> None:
    derived = NOTE + 'note derived-starts\nuntil [ -e "$DATA_DIR/go" ]; do sleep 0.05; done\nls ../late > list.txt\n'
    made = {"x-hooks": {"on_Snapshot__92_made.sh": {"derived": True}}}
    forked.plugin("late", {"on_Snapshot__60_late.finite.bg.sh": SEEN + "seen derived-starts\necho late > late.txt\n"})
    forked.plugin("made", {"on_Snapshot__92_made.sh": derived}, config=made)
    crawl = forked.add()
    forked.watch()
    forked.wait("the late result", lambda: forked.rows("ArchiveResult", plugin="late", status="succeeded"))
    (forked.root / "go").touch()
    forked.wait_sealed(crawl)
    forked.leave()
    assert forked.ledger == ["derived-starts", "derived-starts"]


@pytest.mark.default
def test_crawl_hooks_frame_all_snapshots(forked: Collection) -> None:
    forked.plugin(
        "crawl",
        {
            "on_Crawl__10_setup.sh": note("setup"),
            "on_CrawlSetup__11_older_name.sh": note("older_name"),
            "on_Crawl__20_browser.daemon.bg.sh": READY_DAEMON.replace("{0}", "browser"),
            "on_Crawl__30_breaks.sh": "exit 3\n",
            "on_CrawlEnd__10_end.sh": note("end"),
            "on_Snapshot__10_page.sh": NOTE + 'note "page"\n',
            "on_SnapshotEnd__10_page_end.sh": NOTE + 'note "page_end"\n',
        },
    )
    forked.run(forked.add("http://one.test/", "http://two.test/", "http://two.test/b"))
    lines = forked.ledger
    first, last = lines.index("page"), len(lines) - 1 - lines[::-1].index("page_end")
    assert set(lines[:first]) == {
        "setup-starts", "setup-ends", "older_name-starts", "older_name-ends", "browser-starts", "browser-ready",
    }  # fmt: skip
    assert lines[last + 1 :] == ["browser-told", "end-starts", "end-ends"]
    assert lines.count("page") == lines.count("page_end") == 3
    assert forked.row("CrawlRun", "status")["status"] == "sealed"
    assert [run["exit_code"] for run in forked.hooks("breaks")] == [3]


@pytest.mark.parametrize("deaths", [1, 4])
def test_a_dead_crawl_daemon_alone_is_started_again(forked: Collection, deaths: int) -> None:
    """However often, with a pause once that is often: its page goes on when it is there again."""
    dies = NOTE + (
        'trap "exit 0" TERM\nnote browser-starts\necho ready\n'
        f'if [ "$(grep -c browser-starts "$DATA_DIR/ledger")" -le {deaths} ]; then\n'
        "until [ -e ../page-runs ]; do sleep 0.05; done; kill -9 $$; fi\n"
        "while :; do sleep 0.1; done\n"
    )
    page = (
        NOTE
        + 'touch "$CRAWL_DIR/page-runs"\n'
        + f'until [ "$(grep -c browser-starts "$DATA_DIR/ledger")" = {deaths + 1} ]; do sleep 0.05; done\n'
    )
    browser = "on_Crawl__20_browser.daemon.bg.sh"
    hooks = {browser: dies, "on_Crawl__10_once.sh": note("once")}
    forked.plugin("browser", hooks, config={"x-hooks": {browser: {"ready": True}}})
    forked.plugin("page", {"on_Snapshot__10_page.sh": page})
    forked.run(forked.add())
    assert forked.ledger.count("browser-starts") == deaths + 1
    assert forked.ledger.count("once-starts") == 1
    assert [run["exit_code"] for run in forked.hooks("browser")][:deaths] == [-9] * deaths
    assert forked.results()["page"]["status"] == "noresults"


def test_a_clock_that_was_set_back_holds_nothing_up(forked: Collection) -> None:
    """Pages that were queued by the clock as it was are due, by whichever clock."""
    forked.settings["ARCHIVEBOX_LEASE_SECONDS"] = "6"
    forked.plugin("plain", {"on_Snapshot__10_plain.sh": "exit 10\n"})
    crawl = forked.add("http://one.test/", "http://two.test/")
    forked.actor.ask("clock_went_back", hours=1)
    forked.watch()
    forked.wait("both pages", lambda: len(forked.rows("Snapshot", "pk", crawl_id=crawl, status="sealed")) == 2)
    forked.leave()


TOGETHER = (
    NOTE
    + """
ends() {
  note "told $0"
  until [ "$(grep -c '^told' "$DATA_DIR/ledger")" = 3 ]; do sleep 0.02; done
  note "all told"
  exit 0
}
trap ends TERM
echo ready
while :; do sleep 0.05; done
"""
)


@pytest.mark.default
def test_background_hooks_are_told_to_end_together(each_mode: Collection) -> None:
    """Each waits until the others have been told as well, which takes for ever one after the other."""
    hooks = {f"on_Snapshot__1{n}_waits{n}.daemon.bg.sh": TOGETHER for n in range(3)}
    each_mode.plugin("together", hooks, config={"x-hooks": {name: {"ready": True} for name in hooks}})
    each_mode.plugin("page", {"on_Snapshot__50_page.sh": note("page")})
    each_mode.settings["SEAL_GRACE"] = "60"
    each_mode.run(each_mode.add())
    assert each_mode.ledger[:2] == ["page-starts", "page-ends"]
    assert each_mode.ledger[-3:] == ["all told"] * 3
    assert [row["exit_code"] for row in each_mode.processes(process_type="hook", plugin="together")] == [0, 0, 0]


def test_a_background_hook_has_what_is_left_of_its_own_time_at_the_seal(forked: Collection) -> None:
    """Longer than SEAL_GRACE, which is the least; and it is told once it is ready, long after the page is done."""
    says = '{"type":"ArchiveResult","status":"succeeded","output_str":"whole"}'
    winds_down = f"end=$((SECONDS + 4)); while ((SECONDS < end)); do sleep 0.1; done; echo '{says}'; exit 0"
    hook = "on_Snapshot__20_slow.bg.sh"
    trap = f"sleep 0.5\nwind_down() {{ {winds_down}; }}\ntrap wind_down TERM\n"
    body = f"{trap}echo ready\nwhile :; do sleep 0.05; done\n"
    forked.plugin("slow", {hook: body}, config={"x-hooks": {hook: {"ready": True}}})
    forked.run(forked.add())
    (run,) = forked.hooks("slow")
    ended = (run["exit_code"], run["end_reason"], forked.results()["slow"]["status"])
    assert ended == (0, "sealed", "succeeded"), (run, forked.results()["slow"])
