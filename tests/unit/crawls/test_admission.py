"""Does this URL belong?"""

import pytest

from archivebox.contract.reasons import Reason
from archivebox.crawls.admission import CrawlScope, Rules, admit, check_url, shown
from archivebox.lib.networks import OpenedNetworks
from archivebox.lib.patterns import compile_patterns
from archivebox.lib.urls import parse_url

SEED = parse_url("https://www.example.com/start")


@pytest.mark.parametrize(
    "text",
    [
        "https://example.com/",
        "http://127.0.0.1:8000/",
        "http://localhost/",
        "https://example.com/?u=a@b",
        "http://[::1]/",
    ],
)
def test_pages_of_the_web_are_taken(text: str) -> None:
    answer = admit(text, Rules(is_named=lambda _url: True))
    assert answer.admitted
    assert (answer.code, answer.sentence, answer.action) == (None, "", "")
    assert answer.url == parse_url(text)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", Reason.BAD_URL),
        ("not a url", Reason.BAD_URL),
        ("--version", Reason.BAD_URL),
        ("example.com", Reason.BAD_URL),
        ("https://example.com/\0", Reason.BAD_URL),
        ("https://example.com/" + "a" * 8_000, Reason.BAD_URL),
        ("https://user:hunter2@example.com/", Reason.BAD_URL),
        ("https://google.com@evil.example/", Reason.BAD_URL),
        ("javascript:alert(1)", Reason.SCHEME_REFUSED),
        ("file:///etc/passwd", Reason.SCHEME_REFUSED),
        ("ftp://example.com/", Reason.SCHEME_REFUSED),
        ("data:text/html,<script>", Reason.SCHEME_REFUSED),
        ("view-source:https://example.com", Reason.SCHEME_REFUSED),
        ("blob:https://example.com/x", Reason.SCHEME_REFUSED),
    ],
)
def test_what_is_no_page_of_the_web_is_refused_with_a_sentence(text: str, code: Reason) -> None:
    answer = admit(text, Rules(scope=CrawlScope.ALL, max_depth=None))
    assert not answer.admitted
    assert answer.code is code
    assert answer.sentence.endswith(".")
    assert answer.sentence.isprintable()
    assert "hunter2" not in answer.sentence
    assert len(answer.sentence) < 300
    assert answer.action


def test_a_setting_may_take_in_other_schemes() -> None:
    assert check_url("ftp://example.com/", {"http", "https", "ftp"}).admitted
    assert admit("file:///x", Rules(schemes=frozenset({"file"}))).admitted


@pytest.mark.parametrize(
    ("scope", "text", "admitted"),
    [
        (CrawlScope.PAGE, "https://www.example.com/start#part", True),
        (CrawlScope.PAGE, "https://www.example.com/other", False),
        (CrawlScope.HOST, "https://www.example.com/other", True),
        (CrawlScope.HOST, "http://www.example.com/other", True),
        (CrawlScope.HOST, "https://www.example.com:8443/", False),
        (CrawlScope.HOST, "https://example.com/", False),
        (CrawlScope.HOST, "https://www.example.com.evil.org/", False),
        (CrawlScope.DOMAIN, "https://example.com/", True),
        (CrawlScope.DOMAIN, "https://blog.example.com:8443/", True),
        (CrawlScope.DOMAIN, "https://notexample.com/", False),
        (CrawlScope.DOMAIN, "https://example.com.evil.org/", False),
        (CrawlScope.ALL, "https://anywhere.org/", True),
    ],
)
def test_links_stay_in_scope(scope: CrawlScope, text: str, admitted: bool) -> None:
    answer = admit(text, Rules(seeds=(SEED,), scope=scope, max_depth=1), depth=1)
    assert answer.admitted is admitted
    assert answer.code is (None if admitted else Reason.OUT_OF_SCOPE)


def test_what_a_person_gave_is_in_scope() -> None:
    assert admit("https://other.org/", Rules(seeds=(SEED,), scope=CrawlScope.PAGE)).admitted
    assert not admit("https://other.org/", Rules(scope=CrawlScope.HOST, max_depth=1), depth=1).admitted
    assert admit("https://other.org/", Rules(scope=CrawlScope.ALL, max_depth=1), depth=1).admitted


def test_depth_is_limited() -> None:
    rules = Rules(max_depth=2)
    assert [admit(SEED.href, rules, depth=depth).admitted for depth in range(4)] == [True, True, True, False]
    assert admit(SEED.href, rules, depth=3).code is Reason.TOO_DEEP
    assert admit(SEED.href, Rules(max_depth=None), depth=1_000).admitted
    assert not admit(SEED.href, Rules(), depth=1).admitted


def test_the_number_of_urls_is_limited() -> None:
    rules = Rules(max_urls=2)
    assert [admit(SEED.href, rules, url_count=count).admitted for count in range(4)] == [True, True, False, False]
    assert admit(SEED.href, rules, url_count=2).code is Reason.LIMIT_REACHED


def test_lists_hold_for_what_a_person_gave_too() -> None:
    rules = Rules(
        allow=compile_patterns(r"^https://(www\.)?example\.com/"), deny=compile_patterns("\\.ZIP$\n\n/private")
    )
    assert admit("https://example.com/a", rules).admitted
    assert admit("https://other.org/", rules).code is Reason.NOT_ALLOWED
    assert admit("https://example.com/a.zip", rules).code is Reason.DENIED
    assert admit("https://example.com/private/x", rules).code is Reason.DENIED
    assert "/private" in admit("https://example.com/private/x", rules).sentence


def test_a_text_of_unknown_origin_is_shown_safely() -> None:
    assert shown("https://a:b@x.org/?c@d") == "https://x.org/?c@d"
    assert shown("\x1b[2J\ud800\n") == "\ufffd[2J\ufffd\ufffd"
    assert len(shown("y" * 5_000)) == 100
    assert shown("") == "An empty line"


@pytest.mark.parametrize("host", ["10.0.0.1", "169.254.169.254", "localhost", "[::1]", "router"])
def test_links_into_private_networks_are_refused_unless_the_operator_named_them(host: str) -> None:
    url = f"http://{host}:8000/x"
    assert admit(url, Rules(max_depth=1), depth=0).code is Reason.PRIVATE_ADDRESS
    answer = admit(url, Rules(max_depth=1), depth=1)
    assert answer.code is Reason.PRIVATE_ADDRESS
    assert "PRIVATE_NETWORK_ALLOWLIST" in answer.action
    assert admit(url, Rules(max_depth=1, is_named=lambda _url: True), depth=1).admitted
    assert admit(url, Rules(max_depth=1, opened=OpenedNetworks.parse([f"{host}:8000"])), depth=1).admitted
