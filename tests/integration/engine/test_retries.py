"""What is tried again, when, how often, and what a program that was missing holds up."""

import signal
from collections.abc import Callable

import pytest

from tests.integration.engine.driver import FINAL, Collection, identity_of

pytestmark = pytest.mark.database

NOTE = 'note() { echo "$1" >> "$DATA_DIR/ledger"; }\n'


def again(made: Collection, runs: int, name: str) -> None:
    """Let the back-off be over; the result is run again while somebody watches."""
    assert made.actor.ask("time_has_come") >= 1
    made.run_until(f"run {runs} of {name}", lambda: made.results()[name]["attempts"] == runs)


@pytest.mark.default
def test_back_off_runs_the_failed_hook_alone_until_it_works(forked: Collection) -> None:
    forked.plugin("good", {"on_Snapshot__10_good.sh": NOTE + "note good\n"})
    third_time = NOTE + 'note tries\nprintf x >> tries\n[ "$(cat tries)" = xxx ]\n'
    forked.plugin("moody", {"on_Snapshot__20_moody.sh": third_time})
    forked.plugin("later", {"on_Snapshot__30_later.sh": NOTE + "note later\n"})
    forked.run(forked.add())
    assert forked.ledger == ["good", "tries", "later"]
    assert forked.row("Crawl", "status", "retry_at")["retry_at"], "its crawl wants to come back for it"
    again(forked, 2, "moody")
    assert forked.results()["moody"]["status"] == "backoff"
    again(forked, 3, "moody")
    assert forked.results()["moody"]["status"] == "succeeded"
    assert forked.ledger == ["good", "tries", "later", "tries", "tries"]
    assert [run["exit_code"] for run in forked.hooks("moody")] == [1, 1, 0], "every attempt stays on record"
    assert forked.row("Crawl", "status", "retry_at") == {"status": "sealed", "retry_at": None}


def test_a_retry_takes_place_by_itself_while_somebody_watches(forked: Collection) -> None:
    """Nothing wakes it: the timer for the earliest moment is what wakes the worker."""
    forked.plugin("moody", {"on_Snapshot__20_moody.sh": NOTE + "note tries\n[ -e ok ] || { touch ok; exit 1; }\n"})
    forked.add()
    forked.watch()
    forked.wait_sealed()
    forked.actor.ask("time_has_come")
    forked.wait("the retry", lambda: forked.results()["moody"]["status"] == "succeeded")
    forked.wait_sealed()
    forked.leave()


def test_attempts_are_used_up_and_update_tries_once_more(forked: Collection) -> None:
    forked.plugin("never", {"on_Snapshot__20_never.sh": NOTE + 'note tries\n[ -e "$DATA_DIR/go" ]\n'})
    forked.plugin("gone", {"on_Snapshot__21_gone.sh": 'note() { echo "$1" >> "$DATA_DIR/ledger"; }\n'
                           "note gone\necho '{\"type\": \"ArchiveResult\", \"status\": \"failed\"}'\n"})  # fmt: skip
    forked.run(forked.add())
    again(forked, 2, "never")
    again(forked, 3, "never")
    result = forked.results()["never"]
    assert (result["status"], result["attempts"], result["retry_at"]) == ("failed", 3, None)
    assert forked.actor.ask("time_has_come") == 0
    (forked.root / "go").touch()
    assert forked.actor.ask("update_all") == 1, "what said that it was not to be had is not asked again"
    forked.run()
    assert forked.results()["never"]["status"] == "noresults"
    assert forked.ledger.count("tries") == 4
    assert forked.ledger.count("gone") == 1


def test_update_runs_hooks_that_were_added_since(forked: Collection) -> None:
    forked.plugin("old", {"on_Snapshot__20_old.sh": NOTE + "note old\n"})
    forked.plugin("new", {"on_Snapshot__99_placeholder.sh": "exit 10\n"})
    forked.run(forked.add())
    (forked.root / "plugins" / "new" / "on_Snapshot__30_new.sh").write_text(NOTE + "note new\n")
    forked.actor.ask("update_all")
    forked.run_until("the new hook", lambda: forked.results().get("new", {}).get("status") in FINAL)
    assert forked.ledger == ["old", "new"]


def needs_a_program(made: Collection, script: str) -> Callable[[], None]:
    """A plugin `needs` whose program nobody has; what is returned puts it on the PATH, as a person would."""
    bin_dir = made.base / "bin"
    bin_dir.mkdir()
    made.settings["PATH"] = f"{bin_dir}:/usr/bin:/bin"
    program = {"type": "Binary", "name": "nobody-has-this", "binproviders": "env"}
    made.plugin("needs", {"on_Snapshot__20_needs.sh": NOTE + script}, binaries=[program])

    def install() -> None:
        path = bin_dir / "nobody-has-this"
        path.write_text("#!/bin/sh\necho 1.2.3\n")
        path.chmod(0o755)

    return install


@pytest.mark.default
@pytest.mark.once
def test_a_missing_program_fails_its_own_hooks_until_it_is_there(forked: Collection) -> None:
    install = needs_a_program(forked, "note needs\nnobody-has-this\n")
    forked.plugin("rest", {"on_Snapshot__30_rest.sh": NOTE + "note rest\n"})
    forked.run(forked.add())
    result = forked.results()["needs"]
    assert (result["status"], result["reason"]) == ("failed", "missing_binary:nobody-has-this")
    assert not forked.hooks("needs")
    assert forked.ledger == ["rest"]
    assert forked.row("Binary", "status", name="nobody-has-this")["status"] == "failed"
    install()
    forked.actor.ask("look_again_for", name="nobody-has-this")
    forked.run_until("the program is found", lambda: forked.results()["needs"]["status"] == "noresults")
    assert forked.ledger == ["rest", "needs"]
    assert forked.row("Binary", "abspath", name="nobody-has-this")["abspath"].endswith("/nobody-has-this")


@pytest.mark.once
def test_a_program_that_somebody_installed_is_found_by_the_next_crawl(forked: Collection) -> None:
    """The crawl asks `env` alone again, and what was missing it before is run as well."""
    install = needs_a_program(forked, 'note "needs $1"\n')
    forked.run(forked.add("http://one.test/"))
    said = forked.row("Binary", "message", "reason", name="nobody-has-this")
    forked.run(forked.add("http://two.test/"))
    assert forked.row("Binary", "message", "reason", name="nobody-has-this") == said, (
        "missing still, for the same reason"
    )
    install()
    forked.run()
    assert forked.ledger == [], "nobody looks without a reason"
    forked.add("http://three.test/")
    forked.watch()
    for host in ("one", "two", "three"):
        forked.wait_ledger(f"needs --url=http://{host}.test/")
    forked.wait_sealed()
    forked.leave()
    assert len(forked.ledger) == 3, "each once"


WORK = NOTE + 'note at-work\nuntil [ -e "$DATA_DIR/go" ]; do sleep 0.05; done\n'


@pytest.mark.once
def test_a_program_that_comes_while_its_page_is_at_work_is_used(forked: Collection) -> None:
    """The page is another worker's then, which sees to it at its seal."""
    install = needs_a_program(forked, "note needs\n")
    forked.plugin("work", {"on_Snapshot__30_work.sh": WORK})
    forked.add()
    forked.watch()
    forked.wait_ledger("at-work")
    install()
    forked.actor.ask("look_again_for", name="nobody-has-this")
    forked.wait("the program is found", lambda: forked.row("Binary", "status")["status"] == "succeeded")
    (forked.root / "go").touch()
    forked.wait("it is used", lambda: forked.results()["needs"]["status"] in FINAL - {"failed"})
    forked.wait_sealed()
    forked.leave()
    assert forked.ledger == ["at-work", "needs"]
    assert (forked.results()["needs"]["reason"], forked.results()["needs"]["retry_at"]) == ("", None)


def test_an_update_during_a_crawl_loses_nothing(forked: Collection) -> None:
    forked.plugin("moody", {"on_Snapshot__20_moody.sh": NOTE + "note tries\n[ -e ok ] || { touch ok; exit 1; }\n"})
    forked.plugin("work", {"on_Snapshot__30_work.sh": WORK})
    forked.add()
    forked.watch()
    forked.wait_ledger("at-work")
    forked.wait("the back-off", lambda: forked.results()["moody"]["status"] == "backoff")
    assert forked.actor.ask("update_all") == 1
    (forked.root / "go").touch()
    forked.wait("the retry", lambda: forked.results()["moody"]["status"] == "succeeded")
    forked.wait_sealed()
    forked.leave()
    assert forked.ledger == ["tries", "at-work", "tries"], "without waiting for the back-off"


@pytest.mark.default
def test_a_retry_that_was_asked_for_survives_the_death_of_the_worker(forked: Collection) -> None:
    forked.plugin("gone", {"on_Snapshot__20_gone.sh": NOTE + "note tries\n[ -e ok ] || { touch ok; exit 1; }\n"})
    forked.plugin("work", {"on_Snapshot__30_work.sh": WORK})
    forked.settings["MAX_ATTEMPTS"] = "1"
    forked.add()
    forked.watch()
    forked.wait_ledger("at-work")
    forked.wait("a failure", lambda: forked.results()["gone"]["status"] == "failed")
    assert forked.actor.ask("update_all") == 1
    identity_of(forked.processes(worker_type="worker", status="running")[0]).signal(signal.SIGKILL)
    (forked.root / "go").touch()
    forked.wait("the retry", lambda: forked.results()["gone"]["status"] == "succeeded")
    forked.wait_sealed()
    forked.leave()
    lost = ["at-work"] if forked.mode == "portable" else []  # nobody saw how it ended
    assert forked.ledger == ["tries", "at-work", "tries", *lost]


@pytest.mark.once
def test_a_hook_that_is_gone_keeps_no_page_from_its_end(forked: Collection) -> None:
    forked.plugin("moody", {"on_Snapshot__20_moody.sh": "exit 1\n", "on_Snapshot__21_other.sh": NOTE + "note other\n"})
    forked.run(forked.add())
    assert forked.results()["moody"]["status"] == "backoff"
    (forked.root / "plugins" / "moody" / "on_Snapshot__20_moody.sh").unlink()
    forked.actor.ask("time_has_come")
    forked.run_until("the end", lambda: forked.results()["moody"]["status"] == "failed")
    assert forked.results()["moody"]["reason"] == "missing_plugin:moody"
    assert forked.row("Snapshot", "status", "retry_at") == {"status": "sealed", "retry_at": None}
