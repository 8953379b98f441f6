"""Pages in whose place something else is shown: waited for, kept as evidence, and never said to be archived."""

from datetime import UTC, datetime

import pytest

from tests.integration.engine.driver import Collection
from tests.integration.engine.test_sessions import TAB

NOTE = 'note() { echo "$1" >> "$DATA_DIR/ledger"; }\n'
NAVIGATE = """
import json, os, pathlib, sys
data = pathlib.Path(os.environ["DATA_DIR"])
said = {name: value for name, _, value in (one.lstrip("-").partition("=") for one in sys.argv[1:])}
kind = (data / "site").read_text()
if kind == "by host":
    kind = "busy" if "one.test" in said["url"] else "page"
with (data / "ledger").open("a") as ledger:
    ledger.write(f"finds-{kind}\\n")
pathlib.Path("../tab/page").write_text(kind)
status, mime = (429, "text/plain") if kind.startswith("busy") else (200, "text/html")
wish = {"retry_after": 30} if kind == "busy until" else {}
print(json.dumps({"type": "Snapshot", "id": said["snapshot-id"], "http_status": status, "mime_type": mime, **wish}))
failed = {"type": "ArchiveResult", "status": "failed", "output_str": "why"}
if kind.startswith("busy"):
    print(json.dumps({**failed, "retry": "later", "reason": "server_busy", **wish, "output_json": wish}))
    sys.exit(1)
if kind == "wall":
    print(json.dumps({**failed, "reason": "login_wall"}))
"""
SHOT = NOTE + 'note "shoots-$(cat ../tab/page)"\ntouch "$(cat ../tab/page).txt"\n'
LINKS = NOTE + 'note links\necho \'{"type":"Snapshot","url":"http://one.test/next"}\'\n'
TITLE = (
    NOTE + 'echo \'{"type":"ArchiveResult","status":"succeeded","output_str":"A title"}\'\necho A title > title.txt\n'
)
DERIVED = NOTE + "note derives\n"
WHOLE = ["tab-opens", "finds-page", "shoots-page", "links", "derives", "tab-closes"]


def site(made: Collection, kind: str) -> None:
    """What the site shows from now on: a page, that it is busy, or its log-in page."""
    (made.root / "site").write_text(kind)


def plugins(made: Collection) -> None:
    def one(name: str, hook: str, script: str, **declared: object) -> None:
        made.plugin(name, {hook: script}, config={"x-hooks": {hook: declared}})

    one("tab", "on_Snapshot__20_tab.daemon.bg.sh", TAB, session=True, ready=True)
    one("navigate", "on_Snapshot__30_navigate.py", NAVIGATE, session=True)
    one("shot", "on_Snapshot__51_shot.sh", SHOT, page=True, applies={"mime": "text/html"})
    one("title", "on_Snapshot__54_title.sh", TITLE, page=True)
    made.plugin("links", {"on_Snapshot__70_links.sh": LINKS})
    one("derived", "on_Snapshot__90_derived.sh", DERIVED, derived=True)


def statuses(made: Collection) -> dict[str, str]:
    return {name: row["status"] for name, row in made.results().items()}


def page(made: Collection) -> dict[str, object]:
    return made.row("Snapshot", "status", "http_status", "mime_type", "title", "retry_at", depth=0)


def visit_again(made: Collection, *crawls: str) -> None:
    before = len(made.hooks("navigate"))
    assert made.actor.ask("time_has_come") >= 1
    made.watch()
    made.wait("another visit", lambda: len(made.hooks("navigate")) > before)
    made.wait_sealed(*crawls)
    made.leave()


@pytest.mark.default
@pytest.mark.database
def test_a_busy_server_is_left_alone_until_the_page_comes(forked: Collection) -> None:
    plugins(forked)
    site(forked, "busy")
    forked.run(forked.add())
    assert forked.ledger == ["tab-opens", "finds-busy", "tab-closes", "derives"], "nothing else was asked of it"
    results = forked.results()
    assert (results["navigate"]["status"], results["navigate"]["reason"]) == ("backoff", "server_busy")
    assert (results["shot"]["status"], results["shot"]["reason"]) == ("backoff", "nothing_came")
    assert results["shot"]["attempts"] == 0
    assert {results[name]["retry_at"] for name in ("shot", "title", "links")} == {results["navigate"]["retry_at"]}
    assert page(forked)["retry_at"] == results["navigate"]["retry_at"], "when the server said"
    (forked.root / "ledger").unlink()
    site(forked, "page")
    visit_again(forked)
    assert [line for line in forked.ledger if line != "tab-closes"] == WHOLE[:-1]
    assert set(statuses(forked).values()) <= {"succeeded", "noresults"}
    assert (page(forked)["http_status"], page(forked)["title"]) == (200, "A title")


def test_the_server_says_when_the_next_visit_is(forked: Collection) -> None:
    plugins(forked)
    site(forked, "busy until")
    before = datetime.now(UTC)
    forked.run(forked.add())
    retry_at = datetime.fromisoformat(str(forked.results()["navigate"]["retry_at"]))
    assert (retry_at - before).total_seconds() < 48, "sooner than the back-off of a minute"


@pytest.mark.database
def test_other_pages_go_on_while_one_waits_for_its_server(forked: Collection) -> None:
    plugins(forked)
    site(forked, "by host")
    forked.run(forked.add("http://one.test/", "http://two.test/", "http://three.test/"))
    found = {row["url"]: row["http_status"] for row in forked.rows("Snapshot", "url", "http_status", depth=0)}
    assert found == {"http://one.test/": 429, "http://two.test/": 200, "http://three.test/": 200}


def test_a_server_that_stays_busy_is_asked_so_often_and_its_answer_kept_as_evidence(forked: Collection) -> None:
    plugins(forked)
    site(forked, "busy")
    crawl = forked.add(max_depth=1)
    forked.run(crawl)
    visit_again(forked)
    assert "shoots-busy" not in forked.ledger
    (forked.root / "plugins" / "shot" / "config.json").write_text(
        '{"x-hooks": {"on_Snapshot__51_shot.sh": {"page": true}}}'
    )
    visit_again(forked)
    results = forked.results()
    assert (results["navigate"]["status"], results["navigate"]["reason"]) == ("failed", "server_busy")
    assert (results["navigate"]["attempts"], results["navigate"]["retry_at"]) == (3, None)
    assert results["shot"]["status"] == "succeeded", "what the site shows is evidence"
    assert forked.ledger.count("shoots-busy") == 1
    assert page(forked)["title"] == "", "the page has not said its title"
    assert len(forked.rows("Snapshot", "url")) == 1, "nor where it leads"


def evidence(made: Collection) -> str:
    plugins(made)
    site(made, "wall")
    crawl = made.add()
    made.run(crawl)
    results = made.results()
    assert (results["navigate"]["status"], results["navigate"]["reason"]) == ("failed", "login_wall")
    assert (results["shot"]["status"], results["shot"]["output_files"].keys()) == ("succeeded", {"wall.txt"})
    assert page(made)["retry_at"] is None, "somebody has to log in first"
    (made.root / "ledger").unlink()
    return crawl


def test_what_was_evidence_is_made_anew_once_the_page_comes(forked: Collection) -> None:
    evidence(forked)
    site(forked, "page")
    assert forked.actor.ask("update_all") == 1
    forked.run()
    results = forked.results()
    assert (results["navigate"]["status"], results["navigate"]["reason"]) == ("noresults", "")
    assert results["shot"]["output_files"].keys() == {"page.txt"}, "nothing of the log-in page is left"
    assert forked.ledger.count("shoots-page") == forked.ledger.count("links") == 1
    assert page(forked)["title"] == "A title"


def test_what_was_evidence_is_known_after_a_kill(forked: Collection) -> None:
    """The reason of the refusal is on record until the navigation has found the page."""
    evidence(forked)
    script = forked.root / "plugins" / "navigate" / "on_Snapshot__30_navigate.py"
    site(forked, "page")
    waits = 'import os, time\nopen(os.environ["DATA_DIR"] + "/ledger", "a").write("navigates\\n")\ntime.sleep(60)\n'
    script.write_text(waits)
    forked.actor.ask("update_all")
    forked.watch()
    forked.wait_ledger("navigates")
    forked.kill()
    script.write_text(NAVIGATE)
    forked.run()
    assert forked.results()["shot"]["output_files"].keys() == {"page.txt"}


def test_a_page_that_was_had_stays_when_a_later_visit_is_refused(forked: Collection) -> None:
    plugins(forked)
    moody = NOTE + 'note "moody-$(cat ../tab/page)"\n[ "$(cat "$DATA_DIR/site")" = page2 ]\n'
    forked.plugin(
        "moody", {"on_Snapshot__52_moody.sh": moody}, config={"x-hooks": {"on_Snapshot__52_moody.sh": {"page": True}}}
    )
    site(forked, "page")
    forked.run(forked.add())
    assert statuses(forked)["moody"] == "backoff"
    site(forked, "busy")
    visit_again(forked)
    results = forked.results()
    assert (results["navigate"]["status"], results["shot"]["status"]) == ("noresults", "succeeded")
    assert (results["moody"]["status"], results["moody"]["attempts"]) == ("backoff", 2)
    assert "moody-busy" not in forked.ledger, "what is missing of the page is not made of what is shown instead"
    assert page(forked)["http_status"] == 200
    assert page(forked)["mime_type"] == "text/html"
    visit_again(forked)
    results = forked.results()
    assert (results["moody"]["status"], results["moody"]["reason"]) == ("failed", "nothing_came")
    assert results["navigate"]["status"] == "noresults"
