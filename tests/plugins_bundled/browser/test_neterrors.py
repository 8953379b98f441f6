"""What the browser and the crawl's way out say of a page that could not be had, in words for people."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path

import pytest

from archivebox.plugins.chrome.neterrors import problem_of
from archivebox.plugins.chrome.refusals import retry_after

URL = "http://example.com/"
SOCKS = "net::ERR_SOCKS_CONNECTION_FAILED"


@pytest.mark.parametrize(
    ("code", "status", "sentence", "transient", "reason"),
    [
        (
            "net::ERR_CERT_DATE_INVALID",
            0,
            "the server's certificate has expired or is not valid yet",
            False,
            "tls_failed",
        ),
        ("net::ERR_CERT_WEAK_KEY", 0, "the server's certificate is not valid", False, "tls_failed"),
        ("net::ERR_CONNECTION_REFUSED", 0, "no server listens at that address and port", True, "connection_refused"),
        ("net::ERR_CONNECTION_RESET", 0, "the server broke the connection off", True, "connection_lost"),
        ("net::ERR_CONNECTION_RESET", 200, "the server broke the connection off", True, "connection_lost"),
        ("net::ERR_CONNECTION_TIMED_OUT", 0, "the server did not answer", True, "no_answer"),
        ("net::ERR_HTTP_RESPONSE_CODE_FAILURE", 404, "the server answered 404 without a page", False, "no_page"),
        ("net::ERR_HTTP_RESPONSE_CODE_FAILURE", 429, "the server answered 429 without a page", True, "no_page"),
        ("net::ERR_HTTP_RESPONSE_CODE_FAILURE", 503, "the server answered 503 without a page", True, "no_page"),
        ("net::ERR_INVALID_CHUNKED_ENCODING", 200, "the server sent a broken chunk", True, "connection_lost"),
        ("net::ERR_ABORTED", 304, "the server answered 304 without a page", False, "no_page"),
        ("net::ERR_ABORTED", 204, "the server answered 204 without a page", False, "no_page"),
        ("net::ERR_OF_A_LATER_BROWSER", 0, "net::ERR_OF_A_LATER_BROWSER", True, ""),
        (SOCKS, 0, "the crawl's proxy made no connection", True, ""),
    ],
)
def test_each_failure_has_its_words_and_says_whether_it_may_pass(
    code: str, status: int, sentence: str, transient: bool, reason: str
) -> None:
    problem = problem_of(code, URL, status)
    assert problem.sentence.removesuffix(f" ({code})") == sentence
    assert (problem.transient, problem.reason) == (transient, reason)


@pytest.mark.parametrize(
    ("said", "transient", "reason"),
    [
        ("no_such_name", False, "no_such_host"),
        ("private_address", False, "private_address"),
        ("connection_refused", True, "connection_refused"),
        ("unreachable", True, "unreachable"),
        ("timeout", True, "no_answer"),
        ("proxy_failed", True, ""),
    ],
)
def test_where_the_way_out_made_no_connection_its_log_has_the_word(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: str, transient: bool, reason: str
) -> None:
    line = {"event": "failed", "host": "example.com", "port": 80, "reason": said, "message": "What happened."}
    lines = [line | {"message": "Earlier."}, line, line | {"port": 443}, line | {"host": "other"}, {"event": "closed"}]
    (tmp_path / "egress").mkdir()
    (tmp_path / "egress" / "connections.jsonl").write_text(
        "".join(json.dumps(each) + "\n" for each in lines) + '{"torn'
    )
    monkeypatch.setenv("CRAWL_OUTPUT_DIR", str(tmp_path))
    problem = problem_of(SOCKS, URL)
    assert (problem.sentence, problem.transient, problem.reason) == ("What happened.", transient, reason)


@pytest.mark.parametrize(
    ("status", "wish", "seconds"),
    [(429, "120", 120), (503, "7", 7), (200, "120", 0), (429, "", 0), (429, "soon", 0), (503, "Tue, 14 Nov 2023", 0)],
)
def test_a_server_says_for_how_long_it_wishes_to_be_left_alone(status: int, wish: str, seconds: int) -> None:
    assert retry_after({"status": status, "headers": {"Retry-After": wish}}) == seconds


def test_the_wish_may_be_a_moment() -> None:
    date = format_datetime(datetime.now(UTC) + timedelta(hours=2), usegmt=True)
    assert 7_000 < retry_after({"status": 429, "headers": {"retry-after": date}}) <= 7_200
