"""What comes instead of the page is known as that, and a page that resembles it is a page."""

from __future__ import annotations

from typing import Any

import pytest

from archivebox.plugins.base.cdp import CDPConnection
from archivebox.plugins.chrome.refusals import check_of, find_visitor_check, is_login_wall, may_go_on, refresh_of
from tests.plugins_bundled.browser.chain import NAVIGATE, PAGE_HOOKS, PATIENCE, SETTLE, Crawl, Outcome, Snapshot
from tests.site.serve import Site

NOTHING: dict[str, Any] = {
    "url": "http://a.test/x", "title": "", "text": "", "check": "", "refresh": None, "timer": False, "status": 200,
    "said": "",
}  # fmt: skip
DOM = PAGE_HOOKS[2]
LONG = "word " * 500
LATER = "3600000"  # milliseconds: after all tests, as pages stay open until the last has ended, in a browser of all


@pytest.mark.parametrize(
    ("came", "is_wall"),
    [
        ("https://a.test/login?next=/article", True),
        ("https://login.a.test/", True),
        ("https://accounts.b.test/v3/signin/identifier?continue=https://a.test/article", True),
        ("https://a.test/users/sign_in", True),
        ("https://a.test/wp-login.php?redirect_to=https%3A%2F%2Fa.test%2Farticle", True),
        ("https://a.test/#/login", True),
        ("https://sso.b.test/saml2/idp", True),
        ("https://a.test/members?return=%2Farticle", True),
        ("https://www.a.test/article", False),
        ("https://a.test/Article/", False),
        ("https://a.test/article/index.html", False),
        ("https://a.test/2026/article", False),
        ("https://b.test/", False),
    ],
)
def test_a_log_in_page_at_another_address_is_a_wall(came: str, is_wall: bool) -> None:
    assert is_login_wall("http://a.test/article", came, password=True, user=True) is is_wall
    assert not is_login_wall("http://a.test/article", came, password=False, user=False), "without a form it is none"


@pytest.mark.parametrize(
    ("asked", "came"),
    [
        ("http://a.test/login", "https://a.test/login/"),
        ("http://a.test/login", "https://a.test/users/sign_in"),
        ("http://login.a.test/", "https://login.a.test/v2/login"),
        ("http://a.test/oauth/authorize?client=1", "https://a.test/login?next=/oauth/authorize"),
    ],
)
def test_a_log_in_page_that_was_asked_for_is_the_page(asked: str, came: str) -> None:
    assert not is_login_wall(asked, came, password=True, user=True)


def test_a_page_about_log_ins_with_a_field_for_mail_is_a_page() -> None:
    assert not is_login_wall("http://a.test/docs", "http://a.test/docs/auth/", password=False, user=True)


@pytest.mark.parametrize(
    ("seen", "may_go", "check"),
    [
        ({"check": "Cloudflare"}, True, True),
        ({"said": "AWS WAF", "text": LONG}, True, True),
        ({"check": "Cloudflare", "text": LONG}, False, False),
        ({"title": "Just a moment...", "status": 403}, True, True),
        ({"text": "Verify you are human", "timer": True}, True, True),
        ({"text": "Making sure you're not a bot!"}, True, False),
        ({"text": LONG, "title": "Just a moment", "timer": True}, False, False),
        ({"text": "Loading", "timer": True}, True, False),
        ({"text": "Loading", "refresh": 10.0, "status": 403}, True, False),
        ({"text": "The weather, every ten minutes", "refresh": 600.0}, False, False),
        ({"text": "Forbidden", "status": 403}, False, False),
    ],
)
def test_a_check_says_what_it_is_and_a_short_page_that_goes_on_is_waited_for(
    seen: dict[str, Any], may_go: bool, check: bool
) -> None:
    assert may_go_on(NOTHING | seen) is may_go
    assert (find_visitor_check(NOTHING | seen, went_on=False) is not None) is check


def test_words_that_stay_after_the_page_loaded_itself_again_are_a_check() -> None:
    seen = NOTHING | {"text": "Checking your browser"}
    assert find_visitor_check(seen, went_on=False) is None
    assert find_visitor_check(seen, went_on=True) is not None


def test_answers_say_that_they_are_a_check_and_when_to_come_again() -> None:
    assert check_of({"headers": {"CF-Mitigated": "challenge"}}) == "Cloudflare"
    assert check_of({"headers": {"x-amzn-waf-action": "captcha"}}) == "AWS WAF"
    assert check_of({"headers": {"server": "cloudflare"}}) == ""
    assert refresh_of({"headers": {"Refresh": "5; url=/x"}}) == 5.0
    assert refresh_of({"headers": {}}) is None


def visited(crawl: Crawl, site: Site, path: str, **settings: str) -> tuple[Snapshot, Outcome]:
    name = path.strip("/").replace("/", "_").replace("?", "_")
    snapshot = crawl.snapshot(name, site.url.rstrip("/") + path, **settings)
    return snapshot, snapshot.navigate()


def go_on(page: Snapshot, url: str) -> None:
    """Have a script of the page replace it, and wait until that has loaded."""
    tab = page.json("chrome/target.json")
    script = CDPConnection.open(tab["socket"], tab["target_id"])
    script.call("Page.enable")
    script.call("Runtime.evaluate", {"expression": f"void (location.href = {url!r})"})
    for method in ("Page.frameNavigated", "Page.loadEventFired"):  # the page before may have its load told only now
        while (event := script.next_event(PATIENCE)) is not None and event.method != method:
            pass
    script.close()


@pytest.mark.browser
@pytest.mark.parametrize("status", [200, 403, 503])
def test_a_check_that_loads_itself_again_is_given_the_time(crawl: Crawl, site: Site, status: int) -> None:
    """In a browser that has not its cookie yet: each test of this file has the same."""
    with Crawl(crawl.root / f"fresh-{status}", TIMEOUT="30") as fresh:
        page, outcome = visited(fresh, site, f"/challenge?status={status}&ms=1200")
        assert outcome.status == "succeeded", outcome
        assert page.json("chrome/navigation.json")["status"] == 200
        assert page.run(DOM).status == "succeeded"
        assert "Behind the challenge" in (page.folder / "dom" / "output.html").read_text()


@pytest.mark.browser
def test_a_check_that_takes_too_long_is_no_page_and_tried_again(crawl: Crawl, site: Site) -> None:
    page, outcome = visited(crawl, site, f"/challenge?status=403&ms={LATER}", CHROME_CHECK_TIME="1")
    assert outcome.result is not None
    assert (outcome.status, outcome.retry, outcome.result["reason"]) == ("failed", "later", "challenge"), outcome
    assert any(record["type"] == "Waiting" for record in outcome.records), "the next page had its tab"
    assert page.json("chrome/navigation.json")["error"] == "", "it is there to be kept as evidence"


@pytest.mark.browser
@pytest.mark.parametrize(
    ("path", "after"), [("/limited?seconds=600&key=r", 600), ("/unavailable?retry=7", 7), ("/unavailable", 0)]
)
def test_a_server_that_puts_us_off_is_asked_again_when_it_says(crawl: Crawl, site: Site, path: str, after: int) -> None:
    _, outcome = visited(crawl, site, path)
    assert outcome.result is not None
    assert (outcome.status, outcome.retry, outcome.result["reason"]) == ("failed", "later", "server_busy"), outcome
    assert after - 5 <= outcome.result.get("retry_after", 0) <= after
    assert not any(record["type"] == "Waiting" for record in outcome.records), "there is nothing to wait for here"


@pytest.mark.browser
def test_a_log_in_page_instead_of_the_page_is_said_to_be_that(crawl: Crawl, site: Site) -> None:
    _, outcome = visited(crawl, site, "/members/article")
    assert outcome.result is not None
    assert (outcome.status, outcome.retry, outcome.result["reason"]) == ("failed", None, "login_wall"), outcome
    assert outcome.result["output_str"].startswith("the site led to its log-in page, ")


@pytest.mark.browser
@pytest.mark.parametrize(
    "path",
    ["/login", "/about-429", "/account", "/redirect/elsewhere", "/reload", "/script-built", "/status/404", "/500"],
)
def test_a_page_that_resembles_a_refusal_is_a_page(crawl: Crawl, site: Site, path: str) -> None:
    page, outcome = visited(crawl, site, path)
    assert outcome.status == "succeeded", outcome
    assert page.json("chrome/navigation.json")["refused"] == ""


@pytest.mark.browser
def test_a_page_that_goes_where_nobody_is_has_not_come(crawl: Crawl, site: Site) -> None:
    # On a busy machine the page goes on later than 0.25 s after its load, when it counts as settled.
    page, outcome = visited(crawl, site, "/nowhere", CHROME_QUIET_TIME="3")
    assert outcome.result is not None
    assert (outcome.status, outcome.result["reason"]) == ("failed", "no_such_host"), outcome
    assert outcome.result["output_str"].startswith("the page went on to http://nowhere.invalid/: there is no host")
    record = page.json("chrome/navigation.json")
    assert (record["status"], record["final_url"]) == (None, page.url)
    facts = [each for each in outcome.records if each["type"] == "Snapshot"]
    assert [each["http_status"] for each in facts] == [0]
    assert page.run(DOM).status == "skipped"


@pytest.mark.browser
def test_nothing_is_kept_of_a_page_that_goes_where_nobody_is_later(crawl: Crawl, site: Site) -> None:
    page, outcome = visited(crawl, site, "/colour")
    assert outcome.status == "succeeded"
    go_on(page, "http://nowhere.invalid/")
    outcome = page.run(DOM)
    assert (outcome.status, outcome.retry) == ("failed", "new_page"), outcome
    assert not list((page.folder / "dom").iterdir())


@pytest.mark.browser
def test_the_status_is_that_of_the_document_that_is_kept_in_the_end(crawl: Crawl, site: Site) -> None:
    page, outcome = visited(crawl, site, f"/late/notice?ms={LATER}")
    assert outcome.status == "succeeded", outcome
    assert page.json("chrome/navigation.json")["status"] == 403
    go_on(page, site.url_for("/after"))
    outcome = page.run(SETTLE)
    assert outcome.status == "succeeded", outcome
    facts = [each for each in outcome.records if each["type"] == "Snapshot"]
    assert [(each["http_status"], each["final_url"]) for each in facts] == [(200, site.url_for("/after"))]
    record = page.json("chrome/navigation.json")
    assert (record["status"], record["final_url"], record["mime"]) == (200, site.url_for("/after"), "text/html")
    assert page.run(DOM).status == "succeeded"


@pytest.mark.browser
@pytest.mark.parametrize(
    ("kind", "goes", "said"),
    [
        ("letters", "/login?next=/late/letters", ("failed", None, "login_wall")),
        ("visitors", f"/challenge?status=403&ms={LATER}", ("failed", "later", "challenge")),
    ],
)
def test_what_replaces_the_page_after_its_load_is_known_as_what_it_is(
    crawl: Crawl, site: Site, kind: str, goes: str, said: tuple[str, str | None, str]
) -> None:
    page, outcome = visited(crawl, site, f"/late/{kind}?ms={LATER}", CHROME_CHECK_TIME="1")
    assert outcome.status == "succeeded", outcome
    go_on(page, site.url_for(goes))
    outcome = page.run(SETTLE)
    assert outcome.result is not None
    assert (outcome.status, outcome.retry, outcome.result.get("reason")) == said, outcome
    assert page.json("chrome/navigation.json")["refused"] == said[2]


@pytest.mark.browser
def test_a_check_that_a_script_puts_in_place_of_the_page_is_a_check(crawl: Crawl, site: Site) -> None:
    page, _ = visited(crawl, site, "/colour", CHROME_CHECK_TIME="1")
    tab = page.json("chrome/target.json")
    script = CDPConnection.open(tab["socket"], tab["target_id"])
    check = "document.body.innerHTML = '<form id=challenge-form><h1>Just a moment</h1></form>'"
    script.call("Runtime.evaluate", {"expression": check})
    script.close()
    outcome = page.run(SETTLE)
    assert outcome.result is not None
    assert (outcome.status, outcome.result.get("reason")) == ("failed", "challenge"), outcome


@pytest.mark.browser
def test_a_wall_that_comes_while_the_page_is_kept_is_waited_for_the_next_time(crawl: Crawl, site: Site) -> None:
    page, outcome = visited(crawl, site, "/late/letters?ms=2500")
    assert outcome.status == "succeeded", outcome
    assert page.run(SETTLE).status == "succeeded"
    assert page.tab is not None
    ended = page.tab.wait()  # by itself
    assert (ended.status, ended.retry) == ("failed", "later"), ended
    assert page.run(DOM).retry == "new_page"
    again = page.open_tab().run(NAVIGATE)
    assert again.result is not None
    assert (again.status, again.result.get("reason")) == ("failed", "login_wall"), again


@pytest.mark.browser
def test_a_page_that_goes_on_to_another_one_while_it_is_kept_is_left_alone(crawl: Crawl, site: Site) -> None:
    page, _ = visited(crawl, site, "/colour")
    assert page.run(SETTLE).status == "succeeded"
    go_on(page, site.url_for("/after"))
    assert page.run(DOM).status == "succeeded"
    assert page.tab is not None
    assert page.tab.process.poll() is None
