"""What the recorder keeps of a page that uses the network in every way that a page can."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote
from urllib.request import urlopen

import pytest
from warcio.archiveiterator import ArchiveIterator

from archivebox.lib.mime_sniffing import parse_content_type, type_in_use
from archivebox.plugins.base.responses import Archive, read_documents
from archivebox.plugins.base.warc_file import cut_to_whole_records, read_records
from tests.loopback import serving
from tests.plugins_bundled.browser.chain import NAVIGATE, PATIENCE, Crawl, Snapshot
from tests.site.routes import PICTURE
from tests.site.serve import Site
from tests.site.typed import ASKS_ITSELF

pytestmark = pytest.mark.browser
LAST = "/network/endless?for-ever"
ENDLESS = frozenset({"/network/endless?aborted", LAST})


def served_path(site: Site, url: str) -> str:
    return url.partition(f":{site.port}")[2]


class Recording:
    """One recorded page: its folder, and what the site says that it served."""

    def __init__(self, snapshot: Snapshot, site: Site) -> None:
        self.folder = snapshot.folder / "responses"
        self.archive = Archive(str(self.folder))
        self.site = site
        self.served = [one for one in site.served if served_path(site, one.url) not in ENDLESS]

    def assert_kept(self, path: str) -> None:
        """The body that the site served at a path is the one that is kept."""
        response = self.archive.find(self.site.url_for(path))
        assert response
        assert [response.sha256] == [one.body for one in self.served if one.url == response.url]

    @property
    def warc(self) -> Path:
        return next(self.folder.glob("*.warc"))

    def records(self) -> list[tuple[str, str, str, bytes]]:
        """Type, URL, status and body of each record, as warcio reads them."""
        found = []
        with self.warc.open("rb") as file:
            for record in ArchiveIterator(file, check_digests="raise"):
                headers = record.rec_headers
                status = record.http_headers.get_statuscode() if record.http_headers else ""
                uri = headers.get_header("WARC-Target-URI") or ""
                found.append((record.rec_type, uri, status, record.content_stream().read()))
        return found


def recorded(crawl: Crawl, site: Site, path: str, until: str = "", *, name: str = "", **settings: str) -> Recording:
    """Record one page, to the request for `until`."""
    site.forget()
    snapshot = crawl.snapshot(name or path.strip("/").replace("/", "_"), site.url_for(path), **settings)
    recorder = snapshot.record()
    snapshot.run(NAVIGATE)
    if until:
        site.wait_for_request(until)
    assert recorder.stop().status == "succeeded"
    snapshot.close()
    return Recording(snapshot, site)


@pytest.fixture(scope="module")
def network(crawl: Crawl, site: Site) -> Recording:
    return recorded(crawl, site, "/network", LAST, RESPONSES_FILES="true")


@pytest.mark.default
def test_every_answer_of_the_site_is_in_the_warc_once_with_its_bytes(network: Recording) -> None:
    kept: Counter[tuple[str, str, int, str]] = Counter()
    for response in network.archive.responses():
        if "record" in response.record and response.record["source"] == "network" and response.status:
            path = served_path(network.site, response.url)
            body = response.sha256 or hashlib.sha256().hexdigest()
            kept[response.method, path, response.status, body] += path not in ENDLESS
    redirects = {301, 302}  # the browser never gives the body of a redirect
    empty = hashlib.sha256().hexdigest()
    expected = Counter(
        (one.method, served_path(network.site, one.url), one.status, empty if one.status in redirects else one.body)
        for one in network.served
    )
    assert +kept == expected


def test_all_that_runs_in_the_page_is_listened_to(network: Recording) -> None:
    for kind in ("worker", "shared-worker"):
        assert network.archive.find(network.site.url_for(f"/data.json?of-{kind}"))
    assert network.archive.find(network.site.url_for("/network/service.js?imported"))
    assert network.archive.find(network.site.url_for("/page.txt?precached"))
    by_service_worker = network.archive.find(network.site.url_for("/network/by-service-worker"))
    assert by_service_worker
    assert network.archive.body(by_service_worker).startswith(b"{")
    assert network.archive.find(network.site.other_url + "blue")


def test_the_messages_of_web_sockets_are_kept_in_their_order(network: Recording) -> None:
    said = [json.loads(line) for line in (network.folder / "sockets.jsonl").read_text().splitlines()]
    messages = [(one["event"], one.get("text", one.get("base64"))) for one in said]
    echo = base64.b64encode(b"from the page").decode()
    sent, received = ("sent", "from the page"), [("received", "hello"), ("received", echo)]
    assert messages == [("opened", None), received[0], sent, received[1], ("closed", None)]
    assert len({one["socket"] for one in said} - {""}) == 1
    assert {one["url"] for one in said} == {network.site.url_for("/network/socket").replace("http", "ws")}


@pytest.mark.default
def test_bodies_are_read_back_from_the_warc_with_their_digests(network: Recording) -> None:
    bodies = {(kind, uri): body for kind, uri, _, body in network.records()}
    for response in network.archive.responses():
        found = network.archive.find(response.url)
        if found and found.sha256 == response.sha256:
            assert hashlib.sha256(network.archive.body(found)).hexdigest() == found.sha256
            if "record" in found.record and not found.record.get("revisit"):
                assert hashlib.sha256(bodies["response", found.url]).hexdigest() == found.sha256


def test_a_body_that_is_there_already_is_referred_to(network: Recording) -> None:
    first, second = (network.archive.find(network.site.url_for(f"/image.png?{name}")) for name in "ab")
    assert first
    assert second
    assert {bool(first.record.get("revisit")), bool(second.record.get("revisit"))} == {False, True}
    assert network.archive.body(first) == network.archive.body(second)


def test_what_the_cache_confirmed_is_an_answer_of_304(network: Recording) -> None:
    statuses = [response.status for response in network.archive.responses() if response.url.endswith("/etag")]
    assert statuses == [200, 304]
    assert ("revisit", network.site.url_for("/etag"), "304", b"") in network.records()


def test_bodies_that_never_end_are_kept_as_far_as_they_came(network: Recording) -> None:
    endless = {response.url: response for response in network.archive.responses() if "endless" in response.url}
    reasons = {url.partition("?")[2]: response.truncated for url, response in endless.items()}
    assert reasons == {"aborted": "disconnect", "for-ever": "time"}
    for response in endless.values():
        assert response.size
        assert set(network.archive.body(response)) == {ord("x")}


def test_what_was_posted_is_in_the_request(network: Recording) -> None:
    posted = [body for kind, uri, _, body in network.records() if kind == "request" and "/echo" in uri]
    assert b"posted by fetch" in posted
    assert any(b'name="field"' in body and b"posted as a form" in body for body in posted)


def test_what_failed_is_told(network: Recording) -> None:
    failures = [uri for kind, uri, _, body in network.records() if kind == "metadata" and b"fetchError: net::" in body]
    assert failures == ["http://127.0.0.1:9/refused"]


def test_each_body_is_a_file_where_that_is_asked_for(network: Recording) -> None:
    style = network.archive.find(network.site.url_for("/style.css"))
    assert style
    assert (network.folder / style.record["file"]).read_bytes() == network.archive.body(style)
    assert {link.resolve().parent.name for link in (network.folder / "stylesheet").iterdir()} == {"all"}


def test_a_shared_worker_of_another_page_is_none_of_this_one_nor_is_its_end(crawl: Crawl, site: Site) -> None:
    site.forget()
    page, other = (crawl.snapshot(f"beside_{path}", site.url_for(f"/{path}")) for path in ("colour", "network"))
    recorder = page.record()
    assert other.navigate().status == "succeeded"
    site.wait_for_request("/data.json?of-shared-worker")
    other.close()
    assert page.run(NAVIGATE).status == "succeeded"
    assert recorder.stop().status == "succeeded"
    page.close()
    assert not [response.url for response in Recording(page, site).archive.responses() if "shared" in response.url]


@pytest.mark.parametrize("path", ["/file.pdf", "/image.png", "/clip.webm", "/huge.bin?mb=3"])
def test_a_file_is_asked_for_once_and_kept_whole(crawl: Crawl, site: Site, path: str) -> None:
    recording = recorded(crawl, site, path)
    assert site.hits(path) == 1
    recording.assert_kept(path)


def test_of_a_pdf_in_a_page_the_file_is_recorded_and_not_the_browsers_viewer(crawl: Crawl, site: Site) -> None:
    recording = recorded(crawl, site, "/embedded-pdf")
    paths = ("/file.pdf", "/file.pdf?embed", "/file.pdf?frame")
    for path in paths:
        recording.assert_kept(path)
    answers = [one for one in recording.archive.responses() if "/file.pdf" in one.url]
    assert [one.mime for one in answers] == ["application/pdf"] * len(paths)
    facts = read_documents(str(recording.folder))
    assert {facts[site.url_for(path)].mime for path in paths} == {"application/pdf"}


@pytest.mark.parametrize("path", ["/js-redirect", "/bad-encoding"])
def test_a_page_that_leaves_at_once_or_is_no_text_is_kept_as_it_came(crawl: Crawl, site: Site, path: str) -> None:
    recorded(crawl, site, path).assert_kept(path)


def test_a_body_above_the_limit_is_cut_there(crawl: Crawl, site: Site) -> None:
    recording = recorded(crawl, site, "/huge.bin?mb=2", RESPONSES_MAX_FILE_SIZE="1m")
    response = recording.archive.find(site.url_for("/huge.bin?mb=2"))
    assert response
    assert (response.size, response.truncated) == (1_000_000, "length")


@pytest.mark.parametrize("path", ["/slow-file", "/no-type.bin"])
def test_a_file_that_takes_longer_than_a_page_may_or_has_no_type_is_kept_whole(
    crawl: Crawl, site: Site, path: str
) -> None:
    recording = recorded(crawl, site, path)
    response = recording.archive.find(site.url_for(path))
    assert response
    assert (response.is_main, response.truncated, response.error) == (True, "", "")
    assert len([one for one in recording.served if one.url == response.url]) == 2
    # `served` is in the order in which answers end: the one that the browser leaves may end after the whole one.
    with urlopen(response.url) as whole:
        assert response.sha256 == hashlib.sha256(whole.read()).hexdigest()


def test_the_navigation_to_a_large_file_does_not_wait_for_it(crawl: Crawl, site: Site) -> None:
    site.forget()
    url = site.url_for("/huge.bin?mb=48")  # 50 MB
    snapshot = crawl.snapshot("large", url)
    recorder = snapshot.record()
    assert snapshot.run(NAVIGATE).status == "succeeded"
    response = Recording(snapshot, site).archive.find(url)
    assert response is None or not response.sha256
    assert snapshot.run("staticfile/on_Snapshot__31_staticfile.py").status == "succeeded"
    recorder.stop()
    snapshot.close()
    (file,) = (snapshot.folder / "staticfile").glob("huge*")
    assert file.stat().st_size == 48 << 20


@pytest.fixture
def busy() -> Iterator[None]:
    """More at work than there are processors."""
    at_work = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(2 * (os.cpu_count() or 1))]
    yield
    for one in at_work:
        one.kill()
        one.wait()


@pytest.mark.parametrize("path", ["/roots/missing", "/roots/short-frames"])
@pytest.mark.usefixtures("busy")
def test_what_the_page_gives_up_is_kept_on_a_busy_machine(crawl: Crawl, site: Site, path: str) -> None:
    recording = recorded(crawl, site, path)
    answered = [response for response in recording.archive.responses() if response.status]
    served = {one.url: one.body for one in recording.served}
    assert len(answered) > 20
    assert [response.url for response in answered if response.sha256 != served[response.url]] == []


def test_a_document_that_loads_itself_again_is_kept_each_time(crawl: Crawl, site: Site) -> None:
    site.forget()
    snapshot = crawl.snapshot("reloading", site.url_for("/reload"))
    recorder = snapshot.record()
    snapshot.run(NAVIGATE)
    site.wait_for_request("/reload", times=3)
    assert recorder.stop().status == "succeeded"
    snapshot.close()
    recording = Recording(snapshot, site)
    bodies = [body for kind, uri, _, body in recording.records() if kind == "response" and uri.endswith("/reload")]
    documents = [one for one in recording.archive.responses() if served_path(site, one.url) == "/reload" and one.status]
    whole = [one for one in documents if not one.truncated]
    assert len(whole) > 1
    assert len(documents) <= len(whole) + 1, "the last one may have been on its way when recording ended"
    assert sum(b"location.reload()" not in body for body in bodies) <= len(documents) - len(whole)
    served = {one.body for one in recording.served if served_path(site, one.url) == "/reload"}  # some broken off
    (kept,) = {(one.status, one.sha256) for one in whole}
    assert kept in {(200, body) for body in served}


@pytest.mark.usefixtures("busy")
def test_what_a_service_worker_makes_is_kept_on_a_busy_machine(crawl: Crawl, site: Site) -> None:
    recording = recorded(crawl, site, "/roots/made", "/page.txt?all-made")
    for number in range(10):
        url = site.url_for(f"/network/made?{number}")
        (response,) = (one for one in recording.archive.responses() if one.url == url)
        assert recording.archive.body(response).decode() == f"made by the service worker for {url}"


def test_a_document_whose_load_was_stopped_is_kept_whole(crawl: Crawl, site: Site) -> None:
    site.forget()
    page = crawl.snapshot("stopped", site.url_for("/huge.html?mb=40"), CHROME_PAGELOAD_TIMEOUT="1")
    recorder = page.record()
    navigation = page.run(NAVIGATE)
    deadline = time.monotonic() + PATIENCE
    while not (response := Recording(page, site).archive.find(page.url)) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert recorder.stop().status == "succeeded"
    page.close()
    assert navigation.result is not None
    assert "stopped: still loading" in navigation.result["output_str"]
    assert response
    assert (response.size, response.truncated) == (40 << 20, "")


class SlowPictures(BaseHTTPRequestHandler):
    """A page of 30 pictures, each half a second late, and of one that never comes."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        body = b"".join(b"<img src=/%d.png>" % number for number in range(31))
        if self.path != "/":
            time.sleep(PATIENCE if self.path == "/30.png" else 0.5)
            body = PICTURE
        self.send_response(200)
        self.send_header("Content-Type", "image/png" if self.path != "/" else "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


def test_files_that_a_stopped_page_did_not_get_are_fetched_or_said_to_be_missing(crawl: Crawl) -> None:
    with serving(ThreadingHTTPServer(("127.0.0.1", 0), SlowPictures)) as address:
        page = crawl.snapshot("cut-off", f"{address}/", CHROME_PAGELOAD_TIMEOUT="1")
        recorder = page.record()
        page.run(NAVIGATE)
        archive, deadline = Archive(str(page.folder / "responses")), time.monotonic() + PATIENCE
        while len(whole := {one.url for one in archive.responses() if one.size == len(PICTURE)}) < 30:
            assert time.monotonic() < deadline, sorted(whole)
            time.sleep(0.1)
        ended = recorder.stop()
        page.close()
    assert any(one.error == "net::ERR_ABORTED" for one in archive.responses()), "the page was stopped before"
    assert ended.result is not None
    assert (ended.status, ended.result["reason"], ended.result["output_json"]["lacking"]) == (
        "succeeded", "files_missing", 1,
    )  # fmt: skip


def test_a_torn_end_is_cut_to_whole_records(network: Recording, tmp_path: Path) -> None:
    whole = network.warc.read_bytes()
    torn = tmp_path / "torn.warc"
    ends = [record.offset + record.length for record in read_records(str(network.warc))]
    for size in (ends[2] + 1, ends[2] + 200, ends[3] - 1):
        torn.write_bytes(whole[:size])
        assert cut_to_whole_records(str(torn)) == ends[2]
        assert torn.read_bytes() == whole[: ends[2]]


@pytest.mark.default
def test_a_recorder_goes_on_after_one_that_was_killed(crawl: Crawl, site: Site) -> None:
    first = recorded(crawl, site, "/colour")
    whole = first.warc.read_bytes()
    first.warc.write_bytes(whole + b"WARC/1.1\r\nWARC-Type: response\r\nContent-Le")
    index = first.folder / "index.jsonl"
    index.write_bytes(index.read_bytes() + b'{"url": "http://half')
    second = recorded(crawl, site, "/colour")
    assert (first.folder / first.archive.responses()[0].record["warc"]).read_bytes() == whole
    (page,) = (response for response in second.archive.latest() if response.is_main)
    assert page.record["revisit"], "the same bytes are there from the first time"
    assert second.archive.body(page).startswith(b"<!doctype html>")


def test_cookies_that_the_site_sets_are_in_no_file(crawl: Crawl, site: Site) -> None:
    recording = recorded(crawl, site, "/cookies")
    assert all(b"http_only-value" not in path.read_bytes() for path in recording.folder.iterdir())


def test_a_body_that_an_earlier_page_left_in_the_cache_is_kept_with_this_one(crawl: Crawl, site: Site) -> None:
    first, second = (recorded(crawl, site, "/etag", name=name) for name in ("etag-1", "etag-2"))
    assert [one.status for one in second.served if one.url.endswith("/etag")] == [304]
    page, again = (recording.archive.find(site.url_for("/etag")) for recording in (first, second))
    assert page
    assert again
    assert second.archive.body(again) == first.archive.body(page)


@pytest.mark.parametrize(
    ("charset", "named"), [("windows-1251", "windows-1251"), ("shift_jis", "Shift_JIS"), ("gb18030", "GBK")]
)
def test_what_the_browser_takes_documents_for_is_kept(crawl: Crawl, site: Site, charset: str, named: str) -> None:
    recording = recorded(crawl, site, f"/charset/{charset}", f"/charset/{charset}/said.js")
    recording.assert_kept(f"/charset/{charset}")
    facts = recording.archive.facts(site.url_for(f"/charset/{charset}"))
    assert (facts.mime, facts.charset) == ("text/html", named)


def test_frames_are_documents_too(crawl: Crawl, site: Site) -> None:
    recording = recorded(crawl, site, "/iframe", "/frame")
    for path in ("/iframe", "/frame"):
        facts = recording.archive.facts(site.url_for(path))
        assert (facts.mime, facts.charset) == ("text/html", "UTF-8")


@pytest.mark.parametrize(
    "type_", ["text/html%20charset=utf-8", "text/html(x", "text/html,*/*", "text/plain,text/html", "text/xsl", ""]
)
def test_types_are_read_as_the_browser_reads_them(crawl: Crawl, site: Site, type_: str) -> None:
    path = f"/typed?type={type_}"
    recording = recorded(crawl, site, path, name=f"typed_{hashlib.md5(type_.encode()).hexdigest()}")
    facts = recording.archive.facts(site.url_for(path))
    declared = parse_content_type(unquote(type_)).essence
    assert facts.mime == type_in_use(declared, b"<h1>Typed</h1>", use="Document", nosniff=False)


def test_a_page_that_asks_for_itself_is_kept_once_and_referred_to(crawl: Crawl, site: Site) -> None:
    recording = recorded(crawl, site, "/asks-itself")
    url = site.url_for("/asks-itself")
    assert [(kind, body) for kind, uri, _, body in recording.records() if uri == url and kind != "request"] == [
        ("response", ASKS_ITSELF),
        ("revisit", b""),
    ]


@pytest.mark.parametrize("sent", [0, 300])
def test_a_page_that_is_stopped_before_its_end_is_not_recorded_as_whole(crawl: Crawl, site: Site, sent: int) -> None:
    page = crawl.snapshot(f"halted-{sent}", site.url_for(f"/stall?bytes={sent}"), CHROME_PAGELOAD_TIMEOUT="2")
    recorder = page.record()
    page.run(NAVIGATE)
    recorder.stop()
    (main,) = [one for one in Archive(str(page.folder / "responses")).responses() if one.is_main]
    assert main.truncated, main.record
    assert main.size <= sent
