"""What came of a run, by log and exit status."""

import pytest

from archivebox.plugins.wget.outcome import Fetch, judge, read_log, read_log_of_wget2

LOG = """\
  HTTP/1.1 301 Moved Permanently
  Location: /b
  HTTP/1.1 200 OK
  Content-Length: 3
2026-11-21 10:18:18 URL:http://a.test/b [3/3] -> "a.test/a name "quoted".html" [1]
  HTTP/1.1 404 Not Found
http://a.test/lost.png:
2026-11-21 10:18:18 ERROR 404: Not Found.
  HTTP/1.1 200 OK
2026-11-21 10:18:18 URL:http://a.test/x.css [3/3] -> "a.test/x.css" [1]
"""
LOG_2 = """\
[0] Downloading 'http://a.test/robots.txt' ...
Saving 'a.test/robots.txt'
HTTP response 200 OK [http://a.test/robots.txt]
HTTP response 301 Moved Permanently [http://a.test/a]
Adding URL: http://a.test/b
Saving 'a.test/a.html'
# got header 137 bytes:
HTTP response 200 OK [http://a.test/b]
HTTP ERROR response 404 Not Found [http://a.test/lost.png]
"""


def test_the_first_file_saved_is_the_page() -> None:
    fetch = read_log(LOG.splitlines())

    assert fetch == Fetch('a.test/a name "quoted".html', "http://a.test/b", 200, "OK", errors=1)


def test_the_page_in_the_log_of_wget2() -> None:
    fetch = read_log_of_wget2(LOG_2.splitlines(), "http://a.test/a")

    assert fetch == Fetch("a.test/a.html", "http://a.test/b", 200, "OK", errors=1)


def test_robots_txt_itself_may_be_the_page() -> None:
    fetch = read_log_of_wget2(LOG_2.splitlines()[:3], "http://a.test/robots.txt")

    assert fetch.path == "a.test/robots.txt"


@pytest.mark.parametrize(
    ("exit_code", "status", "verdict"),
    [
        (8, 404, "failed"),
        (8, 410, "failed"),
        (6, 401, "failed"),
        (8, 302, "failed"),
        (8, 408, "try again"),
        (8, 429, "try again"),
        (8, 500, "try again"),
        (0, 503, "try again"),
        (4, 0, "try again"),
        (4, 200, "try again"),
        (5, 0, "try again"),
        (3, 200, "try again"),
        (7, 0, "try again"),
        (1, 0, "try again"),
        (0, 200, "try again"),
        (2, 0, "misconfigured"),
    ],
)
def test_without_a_page_the_verdict_is_by_cause(exit_code: int, status: int, verdict: str) -> None:
    assert judge(exit_code, Fetch(status=status, reason="said so"))[0] == verdict


@pytest.mark.parametrize("exit_code", [0, 1, 3, 4, 5, 6, 7, 8, -15])
def test_a_saved_page_counts_whatever_came_after_it(exit_code: int) -> None:
    assert judge(exit_code, Fetch(path="a.html", status=200)) == ("succeeded", "a.html")
