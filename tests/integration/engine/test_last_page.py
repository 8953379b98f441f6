"""The browser of a crawl ends while its last page is being sealed, which is sealed once, whatever comes just then."""

import signal
import time

import pytest

from tests.integration.engine.driver import Collection, identity_of
from tests.integration.engine.test_timing import NOTE
from tests.integration.engine.waiting import alive, one_alive

pytestmark = pytest.mark.database

BROWSER = NOTE + 'trap "note browser-told; exit 0" TERM\nnote browser-starts\necho ready\nwhile :; do sleep 0.1; done\n'
LEAVES = NOTE + '(trap "note held" TERM; until [ -e "$DATA_DIR/go" ]; do sleep 0.05; done) &\n'
"""What it leaves behind is deaf to TERM, and so keeps its page from the seal until the test lets it end."""
MOODY = NOTE + "note tries\n[ -e ok ] || { touch ok; exit 1; }\n"


def begin(made: Collection) -> None:
    """A page whose seal has begun, and for which the browser was told to end."""
    made.settings["STOP_GRACE"] = "600"
    name = "on_Crawl__01_browser.daemon.bg.sh"
    made.plugin("browser", {name: BROWSER}, config={"x-hooks": {name: {"ready": True}}})
    made.plugin("page", {"on_Snapshot__10_leaves.sh": LEAVES, "on_Snapshot__20_moody.sh": MOODY})
    made.add()
    made.watch()
    made.wait_ledger("held")
    made.wait_ledger("browser-told")
    made.wait("the seal", lambda: made.rows("Snapshot", "pk", status="started", finishing=True))


def end(made: Collection) -> None:
    (made.root / "go").touch()
    made.wait("the retry", lambda: made.results()["moody"]["status"] == "succeeded")
    made.wait_sealed()
    made.leave()
    assert made.row("Snapshot", "status", "finishing", "retry_at")["status"] == "sealed"
    assert made.row("CrawlRun", "status")["status"] == "sealed"
    assert made.ledger.count("tries") == 2
    assert made.ledger.count("browser-starts") == made.ledger.count("browser-told")


def test_a_retry_that_is_asked_for_just_then_has_a_browser_of_its_own(forked: Collection) -> None:
    begin(forked)
    assert forked.actor.ask("update_all") == 1
    end(forked)
    assert forked.ledger.count("browser-starts") == 2


def test_a_worker_that_is_killed_just_then_leaves_nothing_behind(forked: Collection) -> None:
    """Not even what a hook of its page left, which came to the orchestrator: the next worker ends it at the seal."""
    begin(forked)
    worker = one_alive(forked, "worker")
    worker.signal(signal.SIGKILL)
    forked.wait("another worker", lambda: [row for row in alive(forked, "worker") if identity_of(row) != worker])
    forked.wait("told again", lambda: forked.ledger.count("held") == 2)
    assert forked.actor.ask("update_all") == 1
    end(forked)


SLOW = NOTE + (
    'trap "note told; touch \\"$DATA_DIR/ending\\"; until [ -e \\"$DATA_DIR/go\\" ]; do sleep 0.05; done; '
    'rm -f \\"$DATA_DIR/ending\\"; exit 0" TERM\nnote starts\necho ready\nwhile :; do sleep 0.1; done\n'
)
USES = NOTE + 'if [ -e "$DATA_DIR/ending" ]; then note too-early; fi\n[ -e ok ] || { touch ok; exit 1; }\n'


def test_a_retry_that_falls_due_while_the_browser_ends_waits_for_the_next(forked: Collection) -> None:
    """It would ask a browser for a tab that has stopped listening, until all of its attempts are used up."""
    forked.settings["STOP_GRACE"] = "600"
    name = "on_Crawl__01_browser.daemon.bg.sh"
    forked.plugin("browser", {name: SLOW}, config={"x-hooks": {name: {"ready": True}}})
    forked.plugin("page", {"on_Snapshot__20_uses.sh": USES})
    forked.add()
    forked.watch()
    forked.wait_ledger("told")
    forked.wait("the seal", lambda: forked.rows("Snapshot", "pk", status="sealed"))
    assert forked.actor.ask("update_all") == 1
    time.sleep(2)  # what was begun too early would have said so
    (forked.root / "go").touch()
    forked.wait("the retry", lambda: forked.results()["uses"]["status"] in {"succeeded", "noresults"})
    forked.wait_sealed()
    forked.leave()
    assert "too-early" not in forked.ledger
    assert forked.ledger.count("starts") == 2
