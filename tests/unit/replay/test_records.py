"""Records are read where they lie and never past their end, also where one URL was answered twice within a second."""

import gzip
from collections.abc import Callable
from pathlib import Path

import pytest

from archivebox.replay.addresses import ReplayContext
from archivebox.replay.files import NotThereError
from archivebox.replay.index import Location, load, opened, read_request_body
from archivebox.replay.recorded import RecordedRequest, reply_to
from tests.webserver.recording import WARC, Page, pack_recording, record_all

PLACE = ReplayContext("token", "http://127.0.0.1:8000", "20261122090000")
URL = "http://a.example/"
PAGE = b"<title>Dup</title><h1>Hello</h1>" + b"<p>word</p>" * 2000


def leave(_folder: Path) -> None:
    """The recorder's own file, as it is while the page is captured."""


def pack_as_before(folder: Path) -> None:
    pack_recording(folder, with_record_ids=False)


def pack_shared(folder: Path) -> None:
    """Of a page whose large bodies the owner had in an earlier page: what is left of its own are revisit records."""
    store, earlier = folder / ".shared", folder / "earlier"
    record_all(earlier, [("http://b.example/first", Page(PAGE)), ("http://b.example/n", Page(b"other"))])
    pack_recording(earlier, store=store)
    pack_recording(folder, store=store)


pytestmark = pytest.mark.parametrize("pack", [leave, pack_recording, pack_as_before, pack_shared])


@pytest.fixture
def folder(tmp_path: Path, pack: Callable[[Path], None]) -> Path:
    """A page that asks for itself, and polls a counter, all within one second."""
    record_all(
        tmp_path,
        [
            (URL, Page(PAGE)),
            (URL, Page(PAGE, "text/html; charset=utf-8")),
            (f"{URL}n", Page(b"1", "application/json", headers=(("X-Number", "first"),))),
            (f"{URL}n", Page(b"2", "application/json")),
            (f"{URL}n", Page(b"1", "application/json", headers=(("X-Number", "third"),))),
            (f"{URL}same", Page(b"1", "text/plain")),
            (f"{URL}save", Page(b"saved", "text/plain", method="POST", sent=b'{"a": 1}')),
        ],
    )
    pack(tmp_path)
    return tmp_path


def shown(folder: Path, url: str) -> bytes:
    reply = reply_to(folder, RecordedRequest(PLACE, url))
    try:
        return b"".join(iter(lambda: reply.read(1000), b""))
    finally:
        reply.close()


def test_a_page_that_was_answered_twice_is_shown_and_nothing_else(folder: Path) -> None:
    body = shown(folder, URL)
    assert b"<h1>Hello</h1>" in body
    assert b"WARC/1.1" not in body
    assert b"secret" not in body
    assert shown(folder, f"{URL}same") == b"1"


def test_each_answer_to_one_url_within_a_second_has_its_own_headers_and_body(folder: Path) -> None:
    answers = load(folder).answers(f"{URL}n")
    bodies, numbers = [], []
    for one in answers:
        assert one.body is not None
        with opened(folder, one.head) as (headers, _), opened(folder, one.body) as (_, body):
            numbers.append(headers.get("x-number", ""))
            bodies.append(body.read(one.size))
    assert bodies == [b"1", b"2", b"1"]
    assert numbers == ["first", "", "third"]


def test_no_block_gives_more_than_its_record_has(folder: Path) -> None:
    for one in (*load(folder).answers(URL), *load(folder).answers(f"{URL}n")):
        assert one.body is not None
        with opened(folder, one.body) as (_, body):
            assert len(body.read(1 << 20)) == one.size
            assert body.read(1 << 20) == b""
        with opened(folder, one.body) as (_, body):
            body.skip(one.size + 100)
            assert body.read(1) == b""


def test_a_revisit_record_has_no_body(folder: Path) -> None:
    revisits = [one for one in load(folder).answers(URL) if one.head != one.body]
    assert revisits
    with opened(folder, revisits[-1].head) as (headers, body):
        assert headers["content-type"] == "text/html; charset=utf-8"
        assert body.read(1 << 20) == b""


def test_what_was_sent_with_a_request_is_found(folder: Path) -> None:
    (answer,) = load(folder).answers(f"{URL}save", "POST")
    assert read_request_body(folder, answer.head, 100) == b'{"a": 1}'
    assert read_request_body(folder, answer.head, 4) == b'{"a"'
    assert load(folder).find(f"{URL}save") is None, "it answers nobody who did not send it"


def test_where_no_record_begins_nothing_is_read(folder: Path) -> None:
    place = load(folder).answers(URL)[0].head
    for offset in (place.offset + 1, 1 << 30):
        with pytest.raises(NotThereError), opened(folder, Location(place.folder, place.name, offset, place.length)):
            pass


def test_what_is_cut_in_the_middle_ends_there(folder: Path) -> None:
    (answer,) = load(folder).answers(f"{URL}save", "POST")
    whole = folder / answer.head.folder / answer.head.name
    data = whole.read_bytes()
    at = answer.head.offset
    head = gzip.decompress(data[at : at + answer.head.length]) if answer.head.is_packed else data[at:]
    if not answer.head.is_packed:
        whole.write_bytes(data[: at + head.index(b"saved") + 2])
        with opened(folder, answer.head) as (_, body):
            assert body.read(100) == b"sa"
    else:
        whole.write_bytes(data[: at + 20])
        with pytest.raises(NotThereError), opened(folder, answer.head):
            pass
    assert answer.head.name.startswith(WARC)
