"""What the browser and the crawl's way out say of a page that could not be had, in words for people."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path

import pytest

from archivebox.plugins.chrome.answers import retry_after
from archivebox.plugins.chrome.neterrors import problem_of

URL = "http://example.com/"
SOCKS = "net::ERR_SOCKS_CONNECTION_FAILED"


@pytest.mark.parametrize(
    ("code", "status", "sentence", "transient"),
    [
        ("net::ERR_CERT_DATE_INVALID", 0, "the server's certificate has expired or is not valid yet", False),
        ("net::ERR_CERT_WEAK_KEY", 0, "the server's certificate is not valid", False),
        ("net::ERR_CONNECTION_REFUSED", 0, "nobody answers at that address and port", False),
        ("net::ERR_CONNECTION_RESET", 0, "the server broke the connection off", True),
        ("net::ERR_CONNECTION_RESET", 200, "the server broke the connection off", True),
        ("net::ERR_CONNECTION_TIMED_OUT", 0, "the server did not answer", True),
        ("net::ERR_HTTP_RESPONSE_CODE_FAILURE", 404, "the server answered 404 without a page", False),
        ("net::ERR_HTTP_RESPONSE_CODE_FAILURE", 429, "the server answered 429 without a page", True),
        ("net::ERR_HTTP_RESPONSE_CODE_FAILURE", 503, "the server answered 503 without a page", True),
        ("net::ERR_ABORTED", 204, "the server answered 204 without a page", False),
        ("net::ERR_OF_A_LATER_BROWSER", 0, "net::ERR_OF_A_LATER_BROWSER", True),
        (SOCKS, 0, SOCKS, True),
    ],
)
def test_each_failure_has_its_words_and_says_whether_it_may_pass(
    code: str, status: int, sentence: str, transient: bool
) -> None:
    problem = problem_of(code, URL, status)
    assert problem.sentence.removesuffix(f" ({code})") == sentence
    assert problem.transient is transient


@pytest.mark.parametrize(
    ("reason", "transient"), [("no_such_name", False), ("private_address", False), ("timeout", True)]
)
def test_where_the_way_out_made_no_connection_its_log_has_the_word(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reason: str, transient: bool
) -> None:
    said = {"event": "failed", "host": "example.com", "port": 80, "reason": reason, "message": "What happened."}
    lines = [said | {"message": "Earlier."}, said, said | {"port": 443}, said | {"host": "other"}, {"event": "closed"}]
    (tmp_path / "egress").mkdir()
    (tmp_path / "egress" / "connections.jsonl").write_text(
        "".join(json.dumps(line) + "\n" for line in lines) + '{"torn'
    )
    monkeypatch.setenv("CRAWL_OUTPUT_DIR", str(tmp_path))
    problem = problem_of(SOCKS, URL)
    assert (problem.sentence, problem.transient) == ("What happened.", transient)


@pytest.mark.parametrize(
    ("status", "wish", "seconds"),
    [(429, "120", 120), (503, "7", 7), (200, "120", 0), (429, "", 0), (429, "soon", 0), (503, "Tue, 14 Nov 2023", 0)],
)
def test_a_server_says_for_how_long_it_wishes_to_be_left_alone(status: int, wish: str, seconds: int) -> None:
    assert retry_after({"status": status, "headers": {"Retry-After": wish}}) == seconds


def test_the_wish_may_be_a_moment() -> None:
    date = format_datetime(datetime.now(UTC) + timedelta(hours=2), usegmt=True)
    assert 7_000 < retry_after({"status": 429, "headers": {"retry-after": date}}) <= 7_200
