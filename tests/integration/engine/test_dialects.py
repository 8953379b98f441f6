"""Hooks as other people write them: both dialects of ArchiveBox, unmodified in a data folder."""

import pytest

from tests.integration.engine.driver import Collection

SAY = 'say() { echo "$1" >> "$DATA_DIR/ledger"; }\n'
SEEN = 'seen() { until grep -qx "$1" "$DATA_DIR/ledger" 2>/dev/null; do sleep 0.05; done; }\n'
DOWNLOAD = """
import os, sys, time

def say(line):
    with open(os.environ["DATA_DIR"] + "/ledger", "a") as ledger:
        ledger.write(line + "\\n")

again = os.path.exists("half")
open("half", "w").write("half")
say("begun")
for _ in range(10 if again else 1200):
    time.sleep(0.05)
os.replace("half", "whole")
print('{"type": "ArchiveResult", "status": "succeeded", "output_str": "whole"}')
"""
"""As the older 63_ytdlp.bg.py: no handler for TERM; what it leaves at its first end is half a file."""


def test_a_download_that_was_cut_off_runs_again_and_is_no_success_before(each_mode: Collection) -> None:
    each_mode.plugin(
        "older", {"on_Snapshot__63_download.bg.py": DOWNLOAD, "on_Snapshot__90_last.sh": SEEN + "seen begun\n"}
    )
    each_mode.run(each_mode.add())
    result = each_mode.results()["download"]
    assert (result["status"], result["output_str"], result["attempts"]) == ("succeeded", "whole", 1)
    assert list(result["output_files"]) == ["whole"]
    ends = [(run["exit_code"], run["end_reason"]) for run in each_mode.hooks("download")]
    assert ends == [(-15, "sealed"), (0, "exited")]
    (learned,) = (each_mode.root / "run" / "finite-hooks").read_text().splitlines()
    assert learned.endswith(" older/on_Snapshot__63_download.bg.py")


@pytest.mark.database
def test_what_was_learned_of_a_script_holds_for_the_next_page(forked: Collection) -> None:
    quick = 'os.path.exists(os.environ["DATA_DIR"] + "/quick")'
    download = DOWNLOAD.replace("else 1200", f"else 40 if {quick} else 1200")
    forked.plugin(
        "older", {"on_Snapshot__63_download.bg.py": download, "on_Snapshot__90_last.sh": SEEN + "seen begun\n"}
    )
    forked.run(forked.add("http://one.test/"))
    assert len(forked.hooks("download")) == 2
    (forked.root / "quick").touch()
    forked.run(forked.add("http://two.test/"))
    assert [run["end_reason"] for run in forked.hooks("download")] == ["sealed", "exited", "exited"]


def test_a_listener_that_left_only_an_empty_file_has_no_results(forked: Collection) -> None:
    listener = SAY + 'trap "exit 0" TERM\n: > ssl.jsonl\nsay listens\nwhile :; do sleep 0.05; done\n'
    forked.plugin("older", {"on_Snapshot__23_ssl.bg.sh": listener, "on_Snapshot__30_last.sh": SEEN + "seen listens\n"})
    forked.run(forked.add())
    assert forked.results()["ssl"]["status"] == "noresults"


def test_a_background_hook_is_not_ended_by_its_own_timeout(forked: Collection) -> None:
    """As the older chrome_launch.bg.js: the browser of a crawl that takes longer than one hook may."""
    browser = SAY + 'trap "say browser-told; exit 0" TERM\nsay browser\nwhile :; do sleep 0.05; done\n'
    listener = SAY + 'trap "say listener-told; exit 0" TERM\nsay listener\nwhile :; do sleep 0.05; done\n'
    page = SAY + SEEN + "seen browser\nseen listener\nsleep 2.5\nsay page\n"
    forked.plugin("browser", {"on_Crawl__20_chrome_launch.bg.sh": browser}, config=short("BROWSER"))
    forked.plugin("listener", {"on_Snapshot__21_console.bg.sh": listener}, config=short("LISTENER"))
    forked.plugin("page", {"on_Snapshot__30_page.sh": page})
    forked.run(forked.add())
    told = forked.ledger[forked.position("page") + 1 :]
    assert told == ["listener-told", "browser-told"]
    assert [run["end_reason"] for run in forked.hooks("chrome_launch")] == ["sealed"]


def short(name: str) -> dict[str, object]:
    return {"properties": {f"{name}_TIMEOUT": {"type": "integer", "default": 1}}}


def test_background_hooks_of_the_newer_dialect_start_each_after_the_one_before(forked: Collection) -> None:
    ready = SAY + 'trap "exit 0" TERM\nsay {0}-starts\nsleep 0.3\nsay {0}\necho ready\nwhile :; do sleep 0.05; done\n'
    names = ["10_chrome_tab", "21_consolelog", "23_ssl"]
    hooks = {f"on_Snapshot__{name}.daemon.bg.sh": ready.replace("{0}", name[3:]) for name in names}
    forked.plugin("chrome", hooks)
    media = {"on_Snapshot__22_media.finite.bg.sh": SAY + "say media\n", "on_Snapshot__30_page.sh": SEEN + "seen ssl\n"}
    forked.plugin("media", media)
    forked.run(forked.add())
    order = [line for line in forked.ledger if line != "media"]
    assert order == [f"{name}{suffix}" for name in ("chrome_tab", "consolelog", "ssl") for suffix in ("-starts", "")]
    assert forked.position("consolelog") < forked.position("media")


def test_a_hook_winds_its_program_down_before_that_is_told(each_mode: Collection) -> None:
    """The TERM of the end goes to the hook; its program gets one only when the hook has ended, or 2 s later.

    One alone, however long it takes to end: to a second many programs answer by dropping what they were about to write.
    """
    slow = "n=0; while [ $((n += 1)) -lt 40 ]; do sleep 0.02; done"
    told = f"trap 'echo program-told >> \"$DATA_DIR/ledger\"; {slow}; exit 0' TERM"
    program = f"{told}; while :; do sleep 0.05; done"
    hook = SAY + (
        f"sh -c '{program.replace(chr(39), chr(39) + chr(92) + chr(39) + chr(39))}' &\n"
        'trap "say hook-told; sleep 0.5; say hook-done; exit 0" TERM\n'
        "say up\necho ready\nwhile :; do sleep 0.05; done\n"
    )
    each_mode.plugin("winds", {"on_Snapshot__20_winds.daemon.bg.sh": hook})
    each_mode.plugin("page", {"on_Snapshot__30_page.sh": SEEN + "seen up\n"})
    each_mode.settings["SEAL_GRACE"] = "10"
    each_mode.run(each_mode.add())
    assert each_mode.ledger == ["up", "hook-told", "hook-done", "program-told"]


NEWER = "# emit_archive_result_record\n"
"""By which a hook of the newer dialect is known."""
NEWER_TAB = """
trap 'rm session; echo closed >> "$DATA_DIR/ledger"; exit 0' TERM
echo yes > session
echo opened >> "$DATA_DIR/ledger"
echo ready
while :; do sleep 0.05; done
"""
NEWER_HOOK = """
[ -e ../chrome/loaded ] && [ -e ../chrome/session ] || exit 7
echo {0} >> "$DATA_DIR/ledger"
"""


def test_what_is_tried_again_of_the_newer_dialect_gets_its_tab_again(forked: Collection) -> None:
    """Its hooks say nothing of what they need: the tab stays for those of late steps, too."""
    load = "[ -e session ] || exit 7\n: > loaded\nsay loaded\n"
    hooks = {"on_Snapshot__10_chrome_tab.daemon.bg.sh": NEWER_TAB, "on_Snapshot__30_chrome_navigate.sh": SAY + load}
    forked.plugin("chrome", {name: NEWER + body for name, body in hooks.items()})
    forked.plugin(
        "title", {"on_Snapshot__54_title.sh": NEWER_HOOK.format("title") + "[ -e again ] || { : > again; exit 1; }\n"}
    )
    forked.plugin("links", {"on_Snapshot__75_links.sh": NEWER_HOOK.format("links")})
    forked.run(forked.add())
    assert forked.ledger == ["opened", "loaded", "title", "links", "closed"]
    assert forked.results()["title"]["status"] == "backoff"
    assert forked.actor.ask("time_has_come") == 1
    forked.run()
    assert forked.ledger[5:] == ["opened", "loaded", "title", "closed"]
    results = forked.results()
    assert results["title"]["status"] in {"succeeded", "noresults"}
    assert {results[name]["attempts"] for name in ("chrome_tab", "chrome_navigate", "links")} == {1}


def test_a_tab_of_the_newer_dialect_that_a_stranger_ends_is_opened_again(forked: Collection) -> None:
    """As the hook of another collection does, which takes all browsers on the machine for left ones."""
    load = "[ -e session ] || exit 7\n: > loaded\nsay loaded\n"
    tab = NEWER_TAB.replace("echo yes >", "echo $$ >")
    hooks = {"on_Snapshot__10_chrome_tab.daemon.bg.sh": tab, "on_Snapshot__30_chrome_navigate.sh": SAY + load}
    forked.plugin("chrome", {name: NEWER + body for name, body in hooks.items()})
    stranger = "[ -e ended ] || { : > ended; kill $(cat ../chrome/session); sleep 0.5; }\n"
    forked.plugin("first", {"on_Snapshot__51_first.sh": NEWER_HOOK.format("first") + stranger})
    forked.plugin("title", {"on_Snapshot__54_title.sh": NEWER_HOOK.format("title")})
    forked.run(forked.add())
    assert forked.ledger == ["opened", "loaded", "first", "closed", "opened", "loaded", "title", "closed"]
    assert {result["status"] for result in forked.results().values()} <= {"succeeded", "noresults"}


def test_hooks_of_the_newer_dialect_see_that_crawl_and_page_are_at_work(forked: Collection) -> None:
    """One of them ends the browsers of all that are not; nothing of that is left in the folders."""
    launch = "trap 'exit 0' TERM\necho ready\nwhile :; do sleep 0.05; done\n"
    forked.plugin(
        "chrome",
        {
            "on_CrawlSetup__90_chrome_launch.daemon.bg.sh": launch,  # which names nothing of its dialect
            "on_Snapshot__10_chrome_tab.daemon.bg.sh": NEWER + NEWER_TAB,
        },
    )
    sweep = """
import json, os, time
for name in ("CRAWL_DIR", "SNAP_DIR"):
    with open(os.environ[name] + "/.heartbeat.json") as file:
        said = json.load(file)
    os.kill(said["owner_pid"], 0)
    assert time.time() - said["last_alive_at"] <= said["kill_after_seconds"]
"""
    forked.plugin("sweep", {"on_Snapshot__54_sweep.py": sweep})
    forked.run(forked.add())
    assert forked.results()["sweep"]["status"] == "noresults", forked.hooks("sweep")
    assert not list(forked.root.glob("users/**/.heartbeat.json*"))
