"""The pages of the local web that are not what was asked for at first, or not the same twice."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from email.message import Message

import pytest

from tests.site import walls
from tests.site.charsets import ENCODED, texts
from tests.site.serve import Site


@pytest.fixture(scope="module")
def web() -> Iterator[Site]:
    with Site() as running:
        yield running


def ask(url: str, body: bytes | None = None, **headers: str) -> tuple[int, Message, bytes]:
    """Status, headers and body of an answer; redirects are followed."""
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    try:
        with urllib.request.urlopen(urllib.request.Request(url, body, sent), timeout=30) as answer:
            return answer.status, answer.headers, answer.read()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.headers, error.read()


def test_a_limit_says_how_long_it_lasts_and_ends_for_all_who_share_its_key(web: Site) -> None:
    status, headers, _ = ask(web.url_for("/limited?seconds=3600&key=one"), User_Agent="a")
    assert (status, headers["Retry-After"]) == (429, "3600")
    status, headers, _ = ask(web.url_for("/limited?seconds=3600&key=one"), User_Agent="b")
    assert 0 < int(headers["Retry-After"]) <= 3600
    assert ask(web.url_for("/limited?seconds=0&key=two"))[0] == 200


def test_a_challenge_lets_in_who_has_its_cookie(web: Site) -> None:
    status, _, body = ask(web.url_for("/challenge?status=403&ms=10"))
    assert (status, b"location.reload" in body) == (403, True)
    status, _, body = ask(web.url_for("/challenge?status=403&ms=10"), Cookie="harbour_pass=1")
    assert (status, b"Behind the challenge" in body) == (200, True)


def test_an_unavailable_page_says_when_to_come_again_only_if_asked_to(web: Site) -> None:
    assert ask(web.url_for("/unavailable"))[1]["Retry-After"] is None
    status, headers, body = ask(web.url_for("/unavailable?retry=2"))
    assert (status, headers["Retry-After"]) == (503, "2")
    assert b"lighthouse" in body


def test_a_log_in_wall_leads_to_the_form_that_others_ask_for(web: Site) -> None:
    status, _, wall = ask(web.url_for("/members/article"))
    assert (status, wall) == (200, ask(web.url_for("/login"))[2])
    assert walls.FORM.encode() in wall


@pytest.mark.parametrize("encoding", ENCODED)
def test_nothing_declares_a_legacy_encoding(web: Site, encoding: str) -> None:
    title, _, said, styled = texts(encoding)
    url = web.url_for(f"/charset/{encoding}")
    for part, words in (("", title), ("/said.js", said), ("/styled.css", styled)):
        _, headers, body = ask(url + part)
        assert headers.get_content_charset() is None
        assert b"charset=" not in body
        assert words in body.decode(encoding)
        with pytest.raises(UnicodeDecodeError):
            body.decode("utf-8")


def test_a_job_is_done_at_the_third_time_after_each_load(web: Site) -> None:
    for _ in range(2):
        ask(web.url_for("/apps/polling"))
        states = [json.loads(ask(web.url_for("/api/job"))[2])["state"] for _ in range(4)]
        assert states == ["queued", "running", "done", "done"]


def test_a_frame_shows_three_things_in_turn_from_each_load_on(web: Site) -> None:
    for _ in range(2):
        ask(web.url_for("/thrice"))
        shown = [ask(web.url_for("/thrice/frame"))[2] for _ in range(3)]
        assert [word in body for body, word in zip(shown, (b"first", b"second", b"third"), strict=True)] == [True] * 3


def test_queries_are_answered_by_what_is_posted(web: Site) -> None:
    url = web.url_for("/api/graphql")
    every = json.loads(ask(url, b'{"query": "{ items { id } }"}')[2])["data"]["items"]
    one = json.loads(ask(url, b'{"query": "", "variables": {"id": 2}}')[2])["data"]["item"]
    assert (len(every), one["name"]) == (6, "Paper lantern")
    assert ask(url)[0] == 405


def test_large_documents_are_as_large_as_asked(web: Site) -> None:
    body = ask(web.url_for("/large.html?mb=3"))[2]
    assert 3_000_000 < len(body) < 3_010_000
    assert body.endswith(b"</html>\n")


def test_a_swatch_has_the_colour_and_size_of_its_address(web: Site) -> None:
    body = ask(web.url_for("/swatches/2a9d8f-4x3"))[2]
    assert (int.from_bytes(body[16:20]), int.from_bytes(body[20:24])) == (4, 3)
    assert ask(web.url_for("/swatches/2a9d8"))[0] == 404
