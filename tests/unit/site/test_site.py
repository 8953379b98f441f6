"""Owns the proof that every page of the local web answers as its table says."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import zlib
from collections.abc import Iterator
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from urllib.parse import urlsplit
from xml.etree import ElementTree as ET

import pytest

from tests.site import pictures, tree, trouble
from tests.site.routes import ROUTES
from tests.site.serve import Site
from tests.site.wire import Route

SERVE = Path(__file__).parents[2] / "site" / "serve.py"
LISTED = ("/article", "/colour", "/unicode", "/tree/", "/dup?x=1&y=2")
FINITE = [route for route in ROUTES if not route.unending]


@pytest.fixture(scope="module")
def web() -> Iterator[Site]:
    with Site() as running:
        yield running


class Answer:
    """A response read to its end, redirects not followed."""

    def __init__(self, response: HTTPResponse) -> None:
        self.body = response.read()
        self.status = response.status
        self.headers = response.headers
        self.type = response.headers.get("Content-Type")

    @property
    def text(self) -> str:
        return self.body.decode()


def ask(url: str, method: str = "GET", body: bytes | None = None, **headers: str) -> Answer:
    parts = urlsplit(url)
    connection = HTTPConnection(parts.netloc, timeout=30)
    target = parts.path + (f"?{parts.query}" if parts.query else "")
    connection.request(method, target, body, {name.replace("_", "-"): value for name, value in headers.items()})
    answer = Answer(connection.getresponse())
    connection.close()
    return answer


def begin(site: Site, path: str) -> tuple[socket.socket, bytes]:
    """Ask for `path` and return the connection with the first kilobytes that came, leaving the rest unread."""
    connection = socket.create_connection(("127.0.0.1", site.port), timeout=30)
    connection.sendall(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{site.port}\r\n\r\n".encode())
    received = b""
    while b"\r\n\r\n" not in received or not received.partition(b"\r\n\r\n")[2]:
        received += connection.recv(4096)
    return connection, received


@pytest.mark.parametrize("route", FINITE, ids=lambda route: route.path)
def test_route_answers_as_its_table_says(web: Site, route: Route) -> None:
    if route.path == "/git/*" and shutil.which("git") is None:
        pytest.skip("git is not installed")
    answer = ask(web.url_for(route.link))
    assert (answer.status, answer.type) == (route.status, route.type)
    assert answer.headers["Content-Length"] == (None if route.status == 204 else str(len(answer.body)))
    assert b"%SITE%" not in answer.body
    assert route.about


@pytest.mark.parametrize("route", [route for route in FINITE if route.path != "/no-head"], ids=lambda route: route.path)
def test_head_tells_the_same_without_the_body(web: Site, route: Route) -> None:
    url = web.url_for(route.link) + ("?key=head" if route.path == "/rate-limited" else "")
    answer = ask(url, "HEAD")
    assert (answer.status, answer.type, answer.body) == (route.status, route.type, b"")
    assert route.status == 204 or int(answer.headers["Content-Length"]) > 0


def test_every_file_of_pages_is_served_and_ends_up_in_the_index(web: Site) -> None:
    index = ask(web.url).text
    assert "<title>The Local Web</title>" in index
    assert all(f'href="{route.link}"' in index for route in ROUTES)
    assert len({route.path for route in ROUTES}) == len(ROUTES)
    served = {hashlib.sha256(ask(web.url_for(route.link)).body).digest() for route in FINITE}
    origins = (b"%SITE%", web.url), (b"%OTHER%", web.other_url), (b"%THIRD%", web.third_url)
    for file in (SERVE.parent / "pages").iterdir():
        body = file.read_bytes()
        if file.suffix not in {".webm", ".mp4"}:
            for word, origin in origins:
                body = body.replace(word, origin.rstrip("/").encode())
        assert hashlib.sha256(body).digest() in served, file.name


def test_unknown_paths_and_methods_are_refused(web: Site) -> None:
    assert ask(web.url_for("/no-such-page")).status == 404
    assert ask(web.url_for("/git/../../etc/passwd")).status == 404
    assert ask(web.url_for("/article"), "POST", b"x").status == 405


def test_redirects_lead_to_the_article(web: Site) -> None:
    first = ask(web.url_for("/redirect"))
    second = ask(web.url_for(first.headers["Location"]))
    assert (first.status, second.status, second.headers["Location"]) == (301, 302, "/article")
    there = ask(web.url_for("/redirect-loop")).headers["Location"]
    assert ask(web.url_for(there)).headers["Location"] == "/redirect-loop"


def test_cookies_carry_their_attributes_and_come_back(web: Site) -> None:
    sent = ask(web.url_for("/cookies")).headers.get_all("Set-Cookie", [])
    assert len(sent) == 6
    assert {"HttpOnly", "Secure", "SameSite=Strict", "Max-Age=86400"} <= {
        part.strip() for line in sent for part in line.split(";")
    }
    assert "plain=&lt;1&gt;" in ask(web.url_for("/cookies"), Cookie="plain=<1>").text


def test_login_opens_the_page(web: Site) -> None:
    assert ask(web.url_for("/auth-basic")).headers["WWW-Authenticate"].startswith("Basic ")
    word = base64.b64encode(b"archive:box").decode()
    assert ask(web.url_for("/auth-basic"), Authorization=f"Basic {word}").status == 200


def test_rate_limit_gives_in_at_the_third_request_of_each_client(web: Site) -> None:
    def statuses(agent: str) -> list[int]:
        return [ask(web.url_for("/rate-limited"), User_Agent=agent).status for _ in range(4)]

    assert statuses("one") == statuses("two") == [429, 429, 200, 429]
    assert ask(web.url_for("/rate-limited?key=x")).headers["Retry-After"] == "2"


def test_etag_is_honoured(web: Site) -> None:
    tag = ask(web.url_for("/etag")).headers["ETag"]
    assert ask(web.url_for("/etag"), If_None_Match=f"W/{tag}").status == 304
    assert ask(web.url_for("/etag"), If_None_Match='"else"').status == 200


def test_echo_and_headers_tell_what_was_sent(web: Site) -> None:
    echoed = json.loads(ask(web.url_for("/echo"), "POST", b"a=1").body)
    assert (echoed["body"], echoed["length"]) == ("a=1", 3)
    assert json.loads(ask(web.url_for("/headers"), X_Word="yes").body)["x-word"] == "yes"


@pytest.mark.parametrize("code", [200, 204, 302, 304, 403, 418, 451, 503, 599])
def test_status_is_the_one_asked_for(web: Site, code: int) -> None:
    assert ask(web.url_for(f"/status/{code}")).status == code


def test_status_refuses_what_is_not_a_final_status(web: Site) -> None:
    assert {ask(web.url_for(f"/status/{word}")).status for word in ("100", "700", "x", "")} == {404}


def test_connection_is_kept_across_requests_of_every_method(web: Site) -> None:
    connection = HTTPConnection("127.0.0.1", web.port, timeout=30)
    sockets = set()
    for method, path in (("GET", "/article"), ("HEAD", "/huge.html"), ("GET", "/status/204"), ("POST", "/echo")):
        connection.request(method, path, b"12" if method == "POST" else None)
        connection.getresponse().read()
        sockets.add(connection.sock.getsockname() if connection.sock else None)
    connection.close()
    assert len(sockets) == 1
    assert None not in sockets


def test_tree_has_thirteen_pages_all_reachable_in_two_steps(web: Site) -> None:
    assert len(set(tree.PAGES)) == 13
    assert {ask(web.url_for(path)).status for path in tree.PAGES} == {200}
    root, b = ask(web.url_for("/tree/")).text, ask(web.url_for("/tree/b/")).text
    assert all(f'href="{branch}/"' in root for branch in "abc")
    assert all(f'href="b{number}"' in b for number in (1, 2, 3))
    assert all(word in root for word in ("mailto:", "javascript:", "utm_source=", 'href="a/#part"', 'href="#here"'))
    assert web.other_url in b
    assert '<base href="/tree/a/">' in ask(web.url_for("/tree/c/c3")).text
    assert ask(web.url_for("/tree/a")).headers["Location"] == "/tree/a/"
    assert ask(web.url_for("/tree/z")).status == 404


@pytest.mark.parametrize("path", ["/urls.txt", "/urls.csv", "/urls.jsonl", "/links.md"])
def test_text_lists_name_the_same_five_pages(web: Site, path: str) -> None:
    text = ask(web.url_for(path)).text
    assert all(web.url_for(listed) in text for listed in LISTED)


def test_feeds_name_the_same_five_pages(web: Site) -> None:
    wanted = [web.url_for(listed) for listed in LISTED]
    rss = ET.fromstring(ask(web.url_for("/feed.rss")).body)
    atom = ET.fromstring(ask(web.url_for("/feed.atom")).body)
    space = "{http://www.w3.org/2005/Atom}"
    assert [item.findtext("link") for item in rss.iter("item")] == wanted
    assert [link.get("href") for entry in atom.iter(f"{space}entry") for link in entry.iter(f"{space}link")] == wanted
    assert [item["url"] for item in json.loads(ask(web.url_for("/feed.json")).body)["items"]] == wanted


def test_outline_and_sitemap_are_well_formed(web: Site) -> None:
    opml = ET.fromstring(ask(web.url_for("/opml")).body)
    feeds = [line.get("xmlUrl") for line in opml.iter("outline") if line.get("xmlUrl")]
    assert feeds == [web.url_for(path) for path in ("/feed.rss", "/feed.atom", "/feed.json")]
    sitemap = ET.fromstring(ask(web.url_for("/sitemap.xml")).body)
    places = [place.text for place in sitemap.iter("{http://www.sitemaps.org/schemas/sitemap/0.9}loc")]
    assert places == [web.url_for("/article"), *(web.url_for(path) for path in tree.PAGES)]


def test_pages_name_the_origin_they_were_asked_on(web: Site) -> None:
    assert web.other_url + "article" in ask(f"{web.other_url}urls.txt").text
    frames = ask(web.url_for("/iframe")).text
    assert f'src="{web.other_url}blue"' in frames


def test_picture_is_one_flat_colour(web: Site) -> None:
    picture = ask(web.url_for("/image.png?any")).body
    start = picture.index(b"IDAT")
    length = int.from_bytes(picture[start - 4 : start])
    rows = zlib.decompress(picture[start + 4 : start + 4 + length])
    assert rows == (b"\0" + bytes.fromhex(pictures.TEAL[1:]) * 400) * 300


def test_pdf_table_points_at_its_objects(web: Site) -> None:
    pdf = ask(web.url_for("/file.pdf")).body
    table = int(pdf.rpartition(b"startxref\n")[2].split()[0])
    assert pdf[table:].startswith(b"xref\n0 6\n")
    places = [int(line.split()[0]) for line in pdf[table:].split(b"\n")[3:8]]
    assert [pdf[place:].split(b" ")[0] for place in places] == [b"1", b"2", b"3", b"4", b"5"]


def test_broken_pages_are_broken_in_the_way_they_say(web: Site) -> None:
    broken = ask(web.url_for("/broken.html")).body
    assert b"\0" in broken
    with pytest.raises(UnicodeDecodeError):
        broken.decode("utf-8")
    with pytest.raises(UnicodeDecodeError):
        ask(web.url_for("/bad-encoding")).body.decode("utf-8")
    assert "文字化け" in ask(web.url_for("/bad-encoding")).body.decode("shift_jis")
    assert ask(web.url_for("/big-dom")).body.count(b"<b>") * 2 == trouble.NODES


def test_gzip_bomb_is_small_until_opened(web: Site) -> None:
    packed = ask(web.url_for("/gzip-bomb"))
    assert packed.headers["Content-Encoding"] == "gzip"
    assert len(packed.body) < 200_000
    assert len(gzip.decompress(packed.body)) == trouble.BOMB


def test_huge_pages_are_as_long_as_asked(web: Site) -> None:
    assert len(ask(web.url_for("/huge.html?mb=2")).body) == 2 * trouble.MB
    assert len(ask(web.url_for("/huge.bin?mb=3")).body) == 3 * trouble.MB


def test_endless_page_has_forty_batches(web: Site) -> None:
    batches = [json.loads(ask(web.url_for(f"/endless/batch?n={n}")).body) for n in (0, 39, 40)]
    assert [(len(batch["items"]), batch["last"]) for batch in batches] == [(10, False), (10, True), (0, True)]


@pytest.mark.parametrize("path", ["/huge.html", "/huge.bin?mb=4096", "/stall", "/trickle"])
def test_giant_and_unending_bodies_begin_before_they_end(path: str) -> None:
    with Site() as site:
        connection, received = begin(site, path)
        head, _, body = received.partition(b"\r\n\r\n")
        length = int(head.lower().partition(b"content-length: ")[2].split()[0])
        connection.close()
    assert 0 < len(body) < length


def test_trickle_gives_single_bytes(web: Site) -> None:
    connection, received = begin(web, "/trickle")
    following = [connection.recv(4096) for _ in range(3)]
    connection.close()
    assert [len(part) for part in following] == [1, 1, 1], received


def test_slow_page_answers(web: Site) -> None:
    assert "after 20 ms" in ask(web.url_for("/slow?ms=20")).text


def test_stop_ends_those_who_wait_without_leaving_thread_or_port() -> None:
    before = set(threading.enumerate())
    site = Site().start()
    waiting = [socket.create_connection(("127.0.0.1", site.port), timeout=30) for _ in range(4)]
    for connection, path in zip(waiting, ("/never", "/stall", "/slow?ms=60000", "/huge.bin?mb=900"), strict=True):
        connection.sendall(f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
    idle, _ = begin(site, "/article")
    site.stop()
    assert set(threading.enumerate()) <= before
    for host in ("127.0.0.1", "127.0.0.2", "127.0.0.3"):
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection((host, site.port), timeout=5)
    with Site(port=site.port) as again:
        assert ask(again.url_for("/page.txt")).status == 200
    for connection in (*waiting, idle):
        connection.close()


def test_two_sites_run_side_by_side_and_count_apart() -> None:
    with Site() as one, Site() as two:
        ask(one.url_for("/article"))
        ask(f"{one.other_url}article?x=1")
        assert one.port != two.port
        assert (one.hits("/article"), one.hits("/article?x=1"), two.hits("/article")) == (2, 1, 0)
        method, path, headers = one.requests[0]
        assert (method, path, headers["host"]) == ("GET", "/article", f"127.0.0.1:{one.port}")
        one.forget()
        assert one.hits("/article") == 0


def test_taken_port_is_an_error() -> None:
    with Site() as site, pytest.raises(OSError, match="in use"):
        Site(port=site.port).start()


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_repository_can_be_cloned_and_has_three_commits(web: Site, tmp_path: Path) -> None:
    alone = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "GIT_CONFIG_NOSYSTEM": "1"}
    url = web.url_for("/git/repo.git")
    subprocess.run(["git", "clone", "--quiet", url, tmp_path / "copy"], check=True, env=alone)
    log = ["git", "-C", str(tmp_path / "copy"), "rev-list", "--count", "main"]
    assert subprocess.run(log, check=True, env=alone, capture_output=True, text=True).stdout == "3\n"
    assert (tmp_path / "copy" / "README.md").read_text() == "# Local\n\nTwice.\n"


def test_script_prints_its_url_and_serves_until_term(tmp_path: Path) -> None:
    command = [sys.executable, "-I", str(SERVE), "--print-url"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=tmp_path, text=True) as script:
        assert script.stdout is not None
        url = script.stdout.readline().strip()
        assert ask(url).status == 200
        script.send_signal(signal.SIGTERM)
        rest, _ = script.communicate(timeout=30)
    assert (script.returncode, rest) == (0, "")
