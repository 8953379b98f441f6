"""Pages that do not want to be archived: every hook ends, with a reason."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from archivebox.plugins.base.cdp import CDPConnection
from tests.plugins_bundled.browser.chain import NAVIGATE, PAGE_HOOKS, Crawl, Snapshot
from tests.site.serve import Site
from tests.webserver.server import free_ports

pytestmark = pytest.mark.browser
SCREENSHOT, PDF, DOM, TITLE, HEADERS, FAVICON, OUTLINKS = PAGE_HOOKS


def page(crawl: Crawl, site: Site, path: str) -> Snapshot:
    name = f"hostile_{path.strip('/').replace('/', '_')}"
    return crawl.snapshot(name, site.url.rstrip("/") + path, CHROME_PAGELOAD_TIMEOUT="2", TIMEOUT="30")


def tabs(crawl: Crawl) -> list[dict[str, str]]:
    """All pages that the browser has open, as it lists them itself."""
    connection = CDPConnection.open(crawl.session()["socket"])
    listed: list[dict[str, str]] = connection.call("Target.getTargets")["targetInfos"]
    connection.close()
    return [each for each in listed if each["type"] == "page"]


@pytest.mark.default
def test_a_busy_page_is_freed_and_captured(crawl: Crawl, site: Site) -> None:
    busy = page(crawl, site, "/busy")
    assert busy.navigate().status == "succeeded"
    assert busy.run(SCREENSHOT).status == "succeeded"
    assert busy.run(TITLE).status == "succeeded"


@pytest.mark.parametrize("hook", [NAVIGATE, TITLE])
def test_a_page_that_got_busy_for_ever_after_it_had_settled_is_freed(crawl: Crawl, site: Site, hook: str) -> None:
    busy = page(crawl, site, "/colour")
    assert busy.navigate().status == "succeeded"
    tab = busy.json("chrome/target.json")
    script = CDPConnection.open(tab["socket"], tab["target_id"])
    script.call("Runtime.evaluate", {"expression": "setTimeout(() => { for (;;); })"})
    outcome = busy.run(hook)
    script.close()
    assert outcome.status == "succeeded", outcome


@contextlib.contextmanager
def standing_still(crawl: Crawl, page: Snapshot) -> Iterator[None]:
    """The page's process answers nothing any more, whatever is done to it: its state is stopped (T)."""
    browser = CDPConnection.open(crawl.session()["socket"])
    listed = browser.call("SystemInfo.getProcessInfo")["processInfo"]
    known = {process["id"] for process in listed if process["type"] == "renderer"}
    page.navigate()
    listed = browser.call("SystemInfo.getProcessInfo")["processInfo"]
    browser.close()
    (pid,) = {process["id"] for process in listed if process["type"] == "renderer"} - known
    os.kill(pid, signal.SIGSTOP)
    yield
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def test_a_page_that_answers_nothing_is_closed_and_those_who_wait_are_told(tmp_path: Path, site: Site) -> None:
    with Crawl(tmp_path, TIMEOUT="60") as crawl:
        dead = page(crawl, site, "/colour")
        with standing_still(crawl, dead):
            waiting = [dead.start(hook, TIMEOUT="60") for hook in (SCREENSHOT, TITLE)]
            assert dead.tab is not None
            holder = dead.tab.wait()
            assert holder.retry == "later"
            assert "answered nothing" in holder.stderr
            assert [hook.wait().retry for hook in waiting] == ["new_page", "new_page"]
            assert dead.navigate().status == "succeeded", "in a new tab of the same browser"


def test_dialogs_are_answered_even_at_the_end(crawl: Crawl, site: Site) -> None:
    dialogs = page(crawl, site, "/alert")
    assert dialogs.navigate().status == "succeeded"
    assert dialogs.run(PDF).status == "succeeded"
    assert dialogs.close().code == 0
    deadline = time.monotonic() + 90.0  # the tab goes a moment after its holder
    while (still := dialogs.url in {tab["url"] for tab in tabs(crawl)}) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not still


def test_popups_do_not_stay(crawl: Crawl, site: Site) -> None:
    popups = page(crawl, site, "/popup")
    assert popups.navigate().status == "succeeded"
    opened = [tab["url"] for tab in tabs(crawl) if "popup=" in tab["url"] or tab["url"].endswith("/blue")]
    assert not opened
    assert popups.close().code == 0


def test_a_redirect_loop_fails_softly_and_names_the_reason(crawl: Crawl, site: Site) -> None:
    loop = page(crawl, site, "/redirect-loop")
    outcome = loop.navigate()
    assert (outcome.code, outcome.status) == (0, "failed"), outcome
    assert outcome.result is not None
    assert outcome.result["output_str"] == "it redirects in circles (net::ERR_TOO_MANY_REDIRECTS)"
    assert outcome.result["reason"] == "redirect_loop"
    shot = loop.run(SCREENSHOT)
    assert (shot.code, shot.status) == (10, "skipped"), "a picture of the browser's error page would be a lie"
    assert not list((loop.folder / "screenshot").iterdir())


BROKEN_OFF = "only a part of the page came: the server broke the connection off (net::ERR_CONNECTION_RESET)"


@pytest.mark.parametrize(
    ("path", "sentence", "reason"),
    [("/never", "the server did not answer within 2 s", "no_answer"), ("/torn", BROKEN_OFF, "connection_lost")],
)
def test_what_may_pass_by_itself_is_said_in_words_and_tried_again(
    crawl: Crawl, site: Site, path: str, sentence: str, reason: str
) -> None:
    bad = page(crawl, site, path)
    outcome = bad.navigate()
    assert outcome.result is not None
    assert (outcome.result["output_str"], outcome.retry) == (sentence, "later"), outcome
    assert outcome.result["reason"] == reason
    outcome = bad.run(DOM)
    assert outcome.result is not None
    assert (outcome.result["output_str"], outcome.retry) == (f"The page did not load: {sentence}", "later")
    assert outcome.result["reason"] == "nothing_came"


def test_what_breaks_off_twice_is_kept_as_far_as_it_came(crawl: Crawl, site: Site) -> None:
    bad = crawl.snapshot("torn_twice", site.url_for("/torn"))
    assert bad.navigate().retry == "later"
    outcome = bad.navigate()
    assert outcome.result is not None
    said = (outcome.status, outcome.result["reason"], outcome.result["output_str"])
    assert said == ("succeeded", "files_missing", f"200 {bad.url} (stopped: {BROKEN_OFF})")
    assert bad.run(SCREENSHOT).status == "succeeded"
    assert bad.run(DOM).status == "succeeded"
    assert "The first half" in (bad.folder / "dom" / "output.html").read_text()
    bad.close()


def test_what_will_not_pass_is_said_in_words_and_not_tried_again(crawl: Crawl, site: Site) -> None:
    """No such host, no TLS there."""
    for name, url, words, reason in (
        ("name", "http://no-such-host.invalid/", "there is no host of that name", "no_such_host"),
        ("tls", site.url.replace("http:", "https:"), "no secure connection could be agreed on", "tls_failed"),
    ):
        bad = crawl.snapshot(name, url)
        outcome = bad.navigate()
        assert (outcome.code, outcome.status, outcome.retry) == (0, "failed", None), outcome
        assert outcome.result is not None
        assert outcome.result["output_str"].startswith(f"{words} (net::ERR_")
        assert outcome.result["reason"] == reason
        assert bad.run(TITLE).status == "skipped"
        bad.close()


@pytest.mark.parametrize(
    ("path", "sentence"),
    [
        ("/empty", "the server sent nothing readable: an empty document"),
        ("/not-modified", "the server answered 304 without a page"),
    ],
)
def test_an_answer_without_a_page_is_no_page_and_not_tried_again(
    crawl: Crawl, site: Site, path: str, sentence: str
) -> None:
    outcome = page(crawl, site, path).navigate()
    assert outcome.result is not None
    said = (outcome.status, outcome.result["output_str"], outcome.result["reason"], outcome.retry)
    assert said == ("failed", sentence, "no_page", None)


def test_a_port_where_nobody_answers_is_tried_again(crawl: Crawl) -> None:
    bad = crawl.snapshot("port", f"http://127.0.0.1:{free_ports()}/")
    outcome = bad.navigate()
    assert outcome.result is not None
    assert (outcome.result["reason"], outcome.retry) == ("connection_refused", "later"), outcome
    bad.close()


def test_what_a_server_shows_to_those_without_a_login_is_a_page(crawl: Crawl, site: Site) -> None:
    closed = page(crawl, site, "/auth-basic")
    outcome = closed.navigate()
    assert outcome.result is not None
    assert outcome.result["output_str"] == f"401 {closed.url}"
    assert closed.run(DOM).status == "succeeded"
    assert "<h1>401</h1>" in (closed.folder / "dom" / "output.html").read_text()


def test_half_a_page_is_captured_as_it_is(crawl: Crawl, site: Site) -> None:
    half = page(crawl, site, "/stall")
    outcome = half.navigate()
    assert outcome.result is not None
    assert outcome.result["output_str"] == f"200 {half.url} (stopped: still loading after 2 s)"
    assert half.json("chrome/navigation.json")["stopped"] == "still loading after 2 s"
    assert half.run(DOM).status == "succeeded"
    assert "The first half" in (half.folder / "dom" / "output.html").read_text()


def test_a_refresh_loop_is_stopped(crawl: Crawl, site: Site) -> None:
    loop = crawl.snapshot("loop", site.url_for("/refresh-loop"))
    loop.navigate()
    record = loop.json("chrome/navigation.json")
    assert record["navigations"] >= 10
    assert record["stopped"].startswith("sent itself elsewhere")
    assert loop.run(SCREENSHOT).status == "succeeded"


def test_a_loop_that_is_stopped_between_two_documents_has_the_next(crawl: Crawl, site: Site) -> None:
    loop = crawl.snapshot("late_loop", site.url_for("/late-loop"))
    outcome = loop.navigate()
    assert outcome.result is not None
    assert str(outcome.result["output_str"]).startswith(f"200 {loop.url} (stopped: sent itself elsewhere")
    assert loop.run(DOM).status == "succeeded"
    assert "<h1>Late loop</h1>" in (loop.folder / "dom" / "output.html").read_text()


def test_an_answer_without_a_page_says_so(crawl: Crawl, site: Site) -> None:
    outcome = page(crawl, site, "/status/204").navigate()
    assert outcome.result is not None
    assert outcome.result["output_str"] == "the server answered 204 without a page"


@pytest.mark.parametrize("url", ["file:///etc/passwd", "chrome://version", "javascript:1", "data:text/html,x"])
def test_only_web_addresses_are_opened(crawl: Crawl, url: str) -> None:
    refused = crawl.snapshot("refused_scheme", url).open_tab()
    outcome = refused.run(NAVIGATE)
    assert (outcome.code, outcome.status) == (1, "failed"), outcome
    assert refused.run(TITLE).status == "failed"
    assert refused.close().code == 0
