"""What was recorded is found by its URL, or by what differs from it in nothing that matters, and comes as it was."""

import json
import os
import re
from pathlib import Path

import pytest

from archivebox.replay.addresses import ReplayContext
from archivebox.replay.index import bare, indices, load, loose
from archivebox.replay.recorded import RecordedRequest, Reply, reply_to
from tests.webserver.recording import WARC, Page, record

PLACE = ReplayContext("token", "http://127.0.0.1:8000", "20261122090000")
CLIP = bytes(range(256)) * 10


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A snapshot's folder with a recording of each kind of answer."""
    record(
        tmp_path,
        {
            "http://a.example/": Page(b'<p><img src="/p.png">', "text/html; charset=utf-8"),
            "http://a.example/p.png?v=1&w=2": Page(b"picture", "image/png"),
            "http://a.example/moved": Page(status=301, to="http://a.example/"),
            "http://a.example/loop": Page(status=302, to="http://a.example/loop2"),
            "http://a.example/loop2": Page(status=302, to="http://a.example/loop"),
            "http://a.example/clip.mp4": Page(CLIP, "video/mp4"),
            "http://a.example/list.csv": Page(b"a,b", "text/csv; charset=utf-8"),
            "http://a.example/map.xml": Page(b'<?xml version="1.0"?><urlset/>', "text/xml"),
            "http://a.example/icon.xml": Page(b'<svg xmlns="http://www.w3.org/2000/svg"/>', "application/xml"),
            "http://a.example/404": Page(b"<p>nothing", status=404),
            "http://a.example/deep": Page(b"<div>" * 100_000, "text/html", 404),
            "http://a.example/sniffed": Page(b"plain", ""),
            "http://a.example/film": Page(
                CLIP[:100], "video/mp4", 206, headers=(("Content-Range", "bytes 0-99/2560"),)
            ),
        },
        {"http://a.example/gone.png": "net::ERR_CONNECTION_RESET"},
    )
    return tmp_path


def reply(folder: Path, path: str, **more: str) -> tuple[Reply, bytes]:
    answer = reply_to(folder, RecordedRequest(PLACE, f"http://a.example{path}", **more), apart=True)  # type: ignore[arg-type]
    try:
        return answer, b"".join(iter(lambda: answer.read(64), b""))[: answer.size]
    finally:
        answer.close()


def test_a_file_comes_as_it_came(folder: Path) -> None:
    answer, body = reply(folder, "/p.png?v=1&w=2")
    assert (answer.status, answer.mimetype, body) == (200, "image/png", b"picture")


def test_a_page_leads_into_the_archive_and_says_how_it_is_written(folder: Path) -> None:
    answer, body = reply(folder, "/")
    assert answer.mimetype == "text/html; charset=utf-8"
    assert f'src="{PLACE.address("http://a.example/p.png")}"'.encode() in body


@pytest.mark.parametrize(
    "path", ["/p.png?w=2&v=1", "/p.png?v=1&w=2&_=1700000000000", "/p.png", "/p.png?v=1&w=2&ts=1700000000", "/p.png?x"]
)
def test_what_differs_in_nothing_that_matters_is_found(folder: Path, path: str) -> None:
    assert reply(folder, path)[1] == b"picture"


def test_names_of_urls() -> None:
    assert loose("https://www.A.example/b?d=2&c=1&_=12") == loose("http://a.example/b?c=1&d=2")
    assert loose("http://a.example/b?t=5") != loose("http://a.example/b"), "t=5 is no time but a place in a film"
    assert bare("http://a.example/api?id=1") == "", "its query says which of many things it is"


def test_a_long_name_is_told_at_once() -> None:
    assert loose(f"https://a.test/?c=jQuery{'1' * 50_000}!") != loose("https://a.test/?")
    assert loose("https://a.test/?c=jQuery12345678_a") == loose("https://a.test/")


def test_redirects_are_followed_in_the_archive_and_circles_are_told(folder: Path) -> None:
    answer, _ = reply(folder, "/moved")
    assert (answer.status, answer.headers["location"]) == (302, PLACE.address("http://a.example/"))
    answer, body = reply(folder, "/loop")
    assert answer.status == 508
    assert b"leads back to itself" in body


def test_what_is_shown_is_where_the_page_had_led_to_when_it_was_kept(folder: Path) -> None:
    log = folder / "responses" / "index.jsonl"
    said = log.read_text()
    log.write_text(
        said + next(line for line in said.splitlines() if '/404"' in line).replace("{", '{"main": true, ', 1) + "\n"
    )
    start, page = "http://a.example/", "http://a.example/404"
    index = load(folder)
    assert [index.page(start, to) for to in (page, "", f"{start}p.png", f"{start}pushed")] == [
        page,
        start,
        start,
        start,
    ]
    assert index.page(f"{start}never", "") == ""


def test_xml_that_nobody_draws_is_shown_as_its_source(folder: Path) -> None:
    assert reply(folder, "/map.xml")[0].mimetype == "text/plain; charset=utf-8"
    assert reply(folder, "/icon.xml")[0].mimetype == "application/xml"


@pytest.mark.slow
def test_a_page_that_no_parser_is_to_read_is_shown_as_its_source(folder: Path) -> None:
    answer, body = reply(folder, "/deep")
    assert (answer.status, answer.mimetype, body) == (404, "text/plain; charset=utf-8", b"<div>" * 100_000)


def test_an_answer_keeps_its_status_and_its_type(folder: Path) -> None:
    assert reply(folder, "/404")[0].status == 404
    assert reply(folder, "/list.csv")[0].mimetype == "text/plain; charset=utf-8", "else a browser would save it"


@pytest.mark.parametrize(
    ("asked", "status", "first", "length"),
    [("bytes=0-9", 206, 0, 10), ("bytes=256-", 206, 256, 2304), ("bytes=-4", 206, 2556, 4), ("bytes=9999-", 416, 0, 0)],
)
def test_parts_of_media(folder: Path, asked: str, status: int, first: int, length: int) -> None:
    answer, body = reply(folder, "/clip.mp4", range=asked)
    assert (answer.status, body) == (status, CLIP[first : first + length])


def test_of_what_was_got_in_parts_those_are_given(folder: Path) -> None:
    answer, body = reply(folder, "/film", range="bytes=10-")
    assert (answer.status, answer.headers["content-range"], body) == (206, "bytes 10-99/2560", CLIP[10:100])
    assert reply(folder, "/film", range="bytes=100-")[0].status == 416


def test_what_the_cache_gave_is_what_was_sent_before(folder: Path) -> None:
    log = folder / "responses" / "index.jsonl"
    line = next(json.loads(each) for each in log.read_text().splitlines() if "p.png" in each)
    from_cache = {**line, "source": "cache", "size": 0}
    for name in ("warc", "record", "offset", "length"):
        del from_cache[name]
    with log.open("a") as file:
        file.write(json.dumps(from_cache) + "\n")
    assert reply(folder, "/p.png?v=1&w=2")[1] == b"picture"


def test_what_is_missing_is_told_with_its_reason_and_escaped(folder: Path) -> None:
    answer, body = reply(folder, "/<b>")
    assert answer.status == 404
    assert b"/web/follow/20261122090000/http://a.example/&lt;b&gt;" in body
    assert b"ERR_CONNECTION_RESET" in reply(folder, "/gone.png")[1]


def test_a_recording_that_is_cut_off_or_gone_is_missing_and_nothing_breaks(folder: Path, tmp_path: Path) -> None:
    assert load(tmp_path / "nowhere").find("http://a.example/") is None
    (folder / "responses" / WARC).unlink()
    os.utime(folder / "responses" / "index.jsonl", ns=(0, 0))
    assert indices.of(folder).find("http://a.example/") is None


def test_styles_that_the_pages_own_policy_forbids_do_not_hold_in_its_replay(tmp_path: Path) -> None:
    meta = """<meta http-equiv="Content-Security-Policy" content="style-src 'self'"><style nonce="b">"""
    headers = (("Content-Security-Policy", "style-src https://cdn.example 'nonce-b'"),)
    record(tmp_path, {"http://a.example/": Page(meta.encode(), headers=headers)})
    answer, body = reply(tmp_path, "/")
    assert answer.policy("sandbox").startswith("sandbox, style-src 'nonce-b' 'self' 'nonce-")
    assert b"content=\"style-src 'self' 'nonce-" in body
    assert b'<style nonce="b">' in body


def test_what_scripts_had_opened_is_open_in_the_replay_without_them(tmp_path: Path) -> None:
    sheet = b":popover-open::backdrop { color: red } dialog:modal { color: red } a:hover { color: red }"
    pages = {"": Page(b"<!doctype html><p popover id=n>Note"), "s.css": Page(sheet, "text/css"), "other": Page(b"<p>")}
    record(tmp_path, {f"http://a.example/{path}": page for path, page in pages.items()})
    (tmp_path / "dom").mkdir()
    opened = {"url": "http://a.example/", "styles": {"#n": "display:block!important", "</style>": ""}}
    (tmp_path / "dom" / "opened.json").write_text(json.dumps(opened))
    _, body = reply(tmp_path, "/")
    assert re.match(rb'<!DOCTYPE html><style nonce="\w+">#n\{display:block!important\}</style>', body, re.IGNORECASE)
    assert b"<style" not in reply(tmp_path, "/other")[1]
    is_open = b":is(:popover-open,:where(#n))::backdrop"
    assert reply(tmp_path, "/s.css")[1].startswith(is_open + b" { color: red } dialog:is(:modal,:where(#n)) {")
