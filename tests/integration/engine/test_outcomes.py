"""Every row of the contract's table of outcomes, with real hooks."""

from typing import NamedTuple

import pytest

from tests.integration.engine.driver import Collection


class Expected(NamedTuple):
    """What a hook's run comes to: of its result, and of its process."""

    status: str
    reason: str
    exit_code: int | None
    end_reason: str = "exited"


FOREGROUND = {
    "says_succeeded": Expected("succeeded", "", 0),
    "says_noresults": Expected("noresults", "", 0),
    "says_skipped": Expected("skipped", "not_applicable", 0),
    "says_failed": Expected("failed", "declared", 0),
    "says_nothing": Expected("noresults", "", 0),
    "ten": Expected("skipped", "not_applicable", 10),
    "ten_succeeded": Expected("skipped", "not_applicable", 10),
    "one_failed": Expected("failed", "declared", 1),
    "three": Expected("backoff", "crashed", 3),
    "partial": Expected("backoff", "crashed", 4),
    "raises": Expected("backoff", "crashed:RuntimeError: never mind", 1),
    "killed": Expected("backoff", "signalled", -9, "signalled"),
    "wrong_option": Expected("failed", "usage_error", 2),
    "shell_succeeded": Expected("succeeded", "", 0),
    "last_word": Expected("noresults", "", 0),
    "file": Expected("succeeded", "", 0),
}
SLOW = {
    "slow": Expected("backoff", "timeout", -15, "timeout"),
    "slow_succeeded": Expected("succeeded", "", -15, "timeout"),
    "slow_deaf": Expected("backoff", "timeout", -9, "timeout"),
}
BACKGROUND = {
    "stop_succeeded": Expected("succeeded", "", 0, "sealed"),
    "stop_failed": Expected("failed", "declared", 0, "sealed"),
    "stop_nothing": Expected("noresults", "", 0, "sealed"),
    "stop_badly": Expected("noresults", "", 5, "sealed"),
    "stop_ten": Expected("skipped", "not_applicable", 10, "sealed"),
    "ends_itself": Expected("succeeded", "", 0, "exited"),
    "stop_file": Expected("succeeded", "", 0, "sealed"),
    "waits": Expected("noresults", "", 0),
}


def outcomes(made: Collection) -> dict[str, Expected]:
    """What every hook that has a process came to."""
    runs = {row["archiveresult_id"]: row for row in made.processes(process_type="hook")}
    return {
        name: Expected(row["status"], row["reason"], runs[row["pk"]]["exit_code"], runs[row["pk"]]["end_reason"])
        for name, row in made.results().items()
        if row["pk"] in runs
    }


@pytest.mark.default
@pytest.mark.database
def test_foreground_hooks_come_to_what_the_table_says(each_mode: Collection) -> None:
    each_mode.tiny("outcomes", "outcomes_files")
    each_mode.run(each_mode.add())
    found = outcomes(each_mode)
    del found["no_interpreter"]
    assert found == FOREGROUND
    results = each_mode.results()
    assert results["no_interpreter"]["status"] == "failed"
    assert results["no_interpreter"]["reason"].startswith("could_not_start:")
    assert results["file"]["output_files"] == {"page.txt": {"size": 5, "mimetype": "text/plain"}}
    assert results["says_failed"]["output_str"] == "said failed"
    assert {name for name, row in results.items() if row["retry_at"]} == {"three", "partial", "raises", "killed"}
    assert results["three"]["attempts"] == 1
    assert results["partial"]["output_str"] == "half of it", "what it said before it failed is kept"
    assert each_mode.row("Snapshot", "title", "tags__name") == {"title": "Kept as well", "tags__name": "kept"}


@pytest.mark.default
def test_timeouts_come_to_what_the_table_says(each_mode: Collection) -> None:
    each_mode.tiny("outcomes_slow")
    each_mode.run(each_mode.add())
    assert outcomes(each_mode) == SLOW


@pytest.mark.default
def test_background_hooks_come_to_what_the_table_says(each_mode: Collection) -> None:
    each_mode.tiny("outcomes_bg", "outcomes_bg_files")
    each_mode.run(each_mode.add())
    assert outcomes(each_mode) == BACKGROUND


def test_a_disabled_plugin_starts_no_process(forked: Collection) -> None:
    forked.tiny("switched_off", "outcomes_files")
    forked.run(forked.add(SWITCHED_OFF_ENABLED="false"))
    result = forked.results()["off"]
    assert (result["status"], result["reason"]) == ("skipped", "disabled:SWITCHED_OFF_ENABLED")
    assert not forked.hooks("off")


def test_a_hook_of_the_crawl_is_judged_by_the_same_table(forked: Collection) -> None:
    """One that ends with 0 and says that it failed has failed; one that is not for this crawl (10) has not."""
    said = 'echo \'{"type": "ArchiveResult", "status": "failed", "output_str": "no"}\'\n'
    forked.plugin("says", {"on_Crawl__10_says.sh": said, "on_Crawl__20_passes.sh": "exit 10\n"})
    forked.plugin("page", {"on_Snapshot__50_page.sh": "exit 0\n"})
    forked.run(forked.add())
    assert forked.row("CrawlRun", "reason")["reason"] == "hook_failed:on_Crawl__10_says.sh"
    assert forked.results()["page"]["status"] == "noresults", "a failed hook of the crawl skips nothing"


def test_only_its_own_files_are_a_hooks_result(forked: Collection) -> None:
    """Hooks of one plugin share its folder; what a program keeps for itself is nobody's result."""
    forked.plugin(
        "shares",
        {
            "on_Snapshot__10_writes.sh": "echo kept > page.html\n",
            "on_Snapshot__20_silent.sh": "exit 0\n",
            "on_Snapshot__30_served.daemon.bg.sh": "echo $$ > daemon.pid\necho ready\nwhile :; do sleep 0.1; done\n",
            "on_Snapshot__40_beside.sh": "echo kept > other.html\n",
        },
    )
    forked.plugin("alone", {"on_Snapshot__50_alone.sh": "[ -e kept ] || { touch -d 2000-01-01 kept; echo > kept; }\n"})
    forked.run(forked.add())
    assert {name: row["status"] for name, row in forked.results().items()} == {
        "writes": "succeeded",
        "silent": "noresults",
        "served": "noresults",
        "beside": "succeeded",
        "alone": "succeeded",
    }
    assert not [row for row in forked.results().values() if "daemon.pid" in row["output_files"]]
