"""Addresses, documents, bodies and sockets of pages whose scripts run."""

import json
import re
from concurrent.futures import ThreadPoolExecutor
from html import unescape
from pathlib import Path
from uuid import UUID

import pytest

from archivebox.replay.addresses import Replay, ReplayContext, read
from archivebox.replay.recorded import RecordedRequest, reply_to
from archivebox.replay.rewriting.document import Document, DocumentKind
from archivebox.replay.rewriting.links import LinkRewriter
from archivebox.replay.rewritten import DocumentSource, open_rewritten
from archivebox.replay.scripts.exchanges import names_of, sockets_to
from archivebox.replay.scripts.memory import LARGEST, SharedViewMemory, forget_others
from archivebox.replay.scripts.offline import OfflineView
from archivebox.replay.scripts.page import rewrite_scripted
from archivebox.replay.scripts.place import ScriptPlace, label_of_host, origin_of, origin_of_view
from archivebox.replay.scripts.policy import policy_of_page, view_policy
from archivebox.replay.scripts.requests import ForbiddenError, ScriptedPage, ViewRequest
from tests.webserver.recording import Page, record_all

MAIN = "https://a.example"
PLACE = ScriptPlace(MAIN, 1, 2)
LABEL = "0123456789abcdef0123456789abcdef"


def test_a_label_names_a_host_of_its_own() -> None:
    assert label_of_host(f"v-{LABEL}.localhost:8001") == LABEL
    for host in (f"{LABEL}.localhost", "v-0.localhost", f"x.v-{LABEL}.localhost", f"v-{LABEL}0.localhost", ""):
        assert label_of_host(host) == ""
    assert origin_of_view(Replay(8001), LABEL, "127.0.0.1:8000") == f"http://v-{LABEL}.localhost:8001"
    assert origin_of_view(Replay(1, "https://*.b.example"), LABEL, "x") == f"https://v-{LABEL}.b.example"
    with pytest.raises(ValueError, match="host name of its own"):
        origin_of_view(Replay(8001), LABEL, "archive.lan")


@pytest.mark.parametrize(
    ("url", "address"),
    [
        (f"{MAIN}/b?c=d", "/b?c=d"),
        (f"{MAIN}//evil.example/b", f"/~/{MAIN}//evil.example/b"),
        (f"{MAIN}/~/http://b.example/", f"/~/{MAIN}/~/http://b.example/"),
        (f"{MAIN}.evil.example/", f"/~/{MAIN}.evil.example/"),
        ("http://a.example/b", "/~/http://a.example/b"),
        ("https://cdn.example/x.js?y", "/~/https://cdn.example/x.js?y"),
    ],
)
def test_an_address_is_the_path_of_the_pages_own_host_or_a_whole_url(url: str, address: str) -> None:
    assert PLACE.address(url) == address
    assert PLACE.url_at(address) == url
    assert PLACE.seen_from("https://b.example/").address(url) == f"/~/{url}", "of another host's documents"


def test_addresses_of_the_view_stand_for_no_url_and_merged_slashes_are_parted() -> None:
    assert PLACE.url_at("/~/shim.js") == ""
    assert PLACE.url_at("/~/https:/cdn.example/x.js") == "https://cdn.example/x.js"
    assert PLACE.url_at("/~user/") == f"{MAIN}/~user/"
    assert origin_of("javascript:1") == ""


def rewritten(html: str, url: str = f"{MAIN}/page/", origins: tuple[str, ...] = ()) -> str:
    return rewrite_scripted(
        html, LinkRewriter(PLACE.seen_from(url), url, url, lambda _url: False, scripts=True), origins
    )


def test_the_shim_comes_before_all_scripts_with_what_it_needs_to_know() -> None:
    html = rewritten("<!--a--><!DOCTYPE html><!--<head>--><html lang='de'><script>1</script>")
    assert html.startswith('<!--a--><!DOCTYPE html><script src="/~/shim.js" data-page="'), "none has a quirk"
    found = re.search(r'data-page="([^"]*)"', html)
    assert found
    page = json.loads(unescape(found[1]))
    about = {"clock": 1, "seed": 2, "has_service_worker": False, "is_plain": True}
    assert page == {"url": f"{MAIN}/page/", "main": MAIN, **about}
    assert '<html lang="de">' in html


def test_what_scripts_need_stays_and_what_would_refuse_them_goes() -> None:
    html = rewritten(
        '<base href="/app/" target="_top"><script src="x.js" integrity="sha256-x" crossorigin nonce="n"></script>'
        '<meta http-equiv="Content-Security-Policy" content="script-src none">'
        '<a href="https://b.example/" target="_top">'
    )
    assert '<base href="/app/">' in html
    assert '<script src="/app/x.js" nonce="n"></script>' in html
    assert '<meta http-equiv="Content-Security-Policy" content="script-src ' in html, "which scripts run it still says"
    assert '<a href="/~/https://b.example/">' in html


def test_a_document_within_a_document_has_the_shim_too() -> None:
    html = rewritten("<iframe srcdoc='<script>1</script>'></iframe>")
    found = re.search(r'srcdoc="([^"]*)"', html)
    assert found
    inner = unescape(found[1])
    assert inner.index('<script src="/~/shim.js" data-page=') < inner.index("<script>1</script>")


def test_the_module_map_leads_to_recorded_hosts_and_has_the_pages_own() -> None:
    imports, scopes = (
        '{"x": "https://cdn.example/x.js", "y": "./y.js"}',
        '{"https://cdn.example/lib/": {"z": "./z.js"}}',
    )
    own = f'<script type="importmap">{{"imports": {imports}, "scopes": {scopes}}}</script>'
    html = rewritten(own, origins=("https://cdn.example", MAIN))
    found = re.findall(r'<script type="importmap">(.*?)</script>', html)
    assert len(found) == 1
    assert json.loads(found[0]) == {
        "imports": {
            "https://cdn.example/": "/~/https://cdn.example/",
            f"{MAIN}/": "/",
            "x": "/~/https://cdn.example/x.js",
            "y": "/page/y.js",
        },
        "scopes": {"/~/https://cdn.example/lib/": {"z": "/page/z.js"}},
    }


def test_a_large_document_is_rewritten_for_its_place_in_a_process_of_its_own(tmp_path: Path) -> None:
    document = Document(DocumentKind.SCRIPTED, "text/html", str(tmp_path), f"{MAIN}/", PLACE, scripts=True)
    file = tmp_path / "page.html"
    file.write_bytes(b"<p>x<a href=/y>y</a>")
    with file.open("rb") as source:
        made = open_rewritten(
            document, DocumentSource("page", file.stat().st_size, descriptor=source.fileno()), apart=True
        )
    with made.file:
        assert made.filled.read(1 << 20) == document.rewrite(file.read_bytes())


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (b'{"a": 1, "b": [2]}', b'{"b":[2],"a":1}'),
        (b"a=1&b=2", b"b=2&a=1"),
        (b'------x\r\nname="a"\r\n------x--', b'------y\r\nname="a"\r\n------y--'),
        (b'{"a":1}\n{"b":2,"c":3}', b'{"a": 1}\n{"c":3,"b":2}'),
    ],
)
def test_bodies_that_say_the_same_are_the_same(one: bytes, other: bytes) -> None:
    assert names_of(one).exact == names_of(other).exact


def test_bodies_that_differ_in_what_is_random_are_alike_and_no_others() -> None:
    random = [
        b'{"t": 1795432755210, "id": "7d9e2f60-3c1b-4c7e-9a55-0123456789ab", "q": "x"}',
        b'{"t": 1795432799999, "id": "00000000-3c1b-4c7e-9a55-0123456789ab", "q": "x"}',
    ]
    assert names_of(random[0]).exact != names_of(random[1]).exact
    assert names_of(random[0]).alike == names_of(random[1]).alike
    assert names_of(random[0]).alike != names_of(random[0].replace(b'"x"', b'"y"')).alike
    assert names_of(b"[" * 100_000).exact == names_of(b"[" * 100_000).exact, "what is not JSON is text"


CLOCK = 1795338000000
"""2026-11-22T09:00:00Z"""
NOW = "2026-11-22T09:00:05"
NAME, THERE = "a5c41fe5-3c1b-4c7e-9a55-0123456789ab", "7d9e2f60-3c1b-4c7e-9a55-aaaaaaaaaaaa"


@pytest.mark.parametrize(
    ("asked", "recorded"),
    [
        (f"/a?id={NAME}", f"/a?id={THERE}"),
        (f"/{NAME}/b", f"/{THERE}/b"),
        ("/a?x=a5c41fe5000000000000000000000001", "/a?x=0b1c2d3e4f5a6b7c8d9e0f1a2b3c4d5e"),
        (f"/{CLOCK + 5000}/b", f"/{CLOCK + 100}/b"),
        (f"/a?at={CLOCK // 1000 + 5}.25", f"/a?at={CLOCK // 1000}.5"),
        (f"/a?at={NOW}.123Z", f"/a?at={NOW}.456Z"),
        (f"/a?at={NOW.replace(':', '%3A')}Z", "/a?at=2026-11-22T09%3A00%3A00Z"),
        ("/a?r=0.84374981", "/a?r=0.1234567890123456"),
    ],
)
def test_an_address_that_a_script_makes_anew_is_found_by_what_is_the_same(
    tmp_path: Path, asked: str, recorded: str
) -> None:
    record_all(tmp_path, [(f"{MAIN}{recorded}", Page(b"1")), (f"{MAIN}/other{recorded}", Page(b"2"))])
    page = ScriptedPage(tmp_path, ScriptPlace(MAIN, CLOCK))
    reply = page.reply(ViewRequest(asked, destination="empty", document="d"))
    assert (reply.status, reply.read(9)) == (200, b"1")


@pytest.mark.parametrize(
    ("asked", "recorded"),
    [
        (f"/items/{THERE}", f"/items/{THERE[:-1]}b"),
        (f"/a?id={NAME}&b=1", f"/a?id={THERE}&b=2"),
        ("/a/1395338000000", f"/a/{CLOCK}"),
    ],
)
def test_an_address_that_was_in_the_recording_means_itself_alone(tmp_path: Path, asked: str, recorded: str) -> None:
    record_all(tmp_path, [(f"{MAIN}{recorded}", Page(b"1"))])
    page = ScriptedPage(tmp_path, ScriptPlace(MAIN, CLOCK))
    assert page.reply(ViewRequest(asked, destination="empty", document="d")).status == 404


@pytest.fixture
def scripted(tmp_path: Path) -> ScriptedPage:
    stream = Page(b"data: 1\n\n", "text/event-stream")
    moved = Page(status=307, to=f"{MAIN}/there", method="POST", sent=b"x")
    record_all(tmp_path, [(f"{MAIN}/", Page(b"<p>Home")), (f"{MAIN}/events", stream), (f"{MAIN}/moved", moved)])
    return ScriptedPage(tmp_path, PLACE)


FORBIDS = "default-src 'none'; img-src 'self'"


@pytest.mark.parametrize(
    ("policy", "written"),
    [
        (FORBIDS, "script-src 'nonce-n'; worker-src 'none'; style-src 'nonce-n'"),
        (
            "style-src 'nonce-a' https://b.example; style-src-attr 'none'",
            "style-src 'nonce-a' 'self' 'nonce-n'; style-src-attr 'none'",
        ),
        ("style-src 'sha256-YQ=='", ""),
        (
            "script-src 'self' https://cdn.example 'unsafe-inline'",
            "script-src 'unsafe-inline' 'self'; worker-src 'self'",
        ),
        ("script-src 'unsafe-inline'; worker-src data:", "script-src 'unsafe-inline' 'self'; worker-src data: blob:"),
        (
            "script-src 'nonce-a' 'unsafe-inline' 'report-sample'; script-src-attr 'none'",
            "script-src 'nonce-a' 'unsafe-inline' 'nonce-n'; script-src-attr 'none'; worker-src 'none'",
        ),
        ("img-src *, script-src 'sha256-YQ=='", "script-src 'sha256-YQ==' 'nonce-n'; worker-src 'none'"),
        ("sandbox allow-forms", "script-src 'none'"),
        ("sandbox allow-scripts; report-uri https://b.example/", ""),
        ("frame-ancestors 'none'; ", ""),
    ],
)
def test_what_a_page_forbids_its_scripts_is_forbidden_by_the_view(policy: str, written: str) -> None:
    assert policy_of_page(policy, "n") == written


def test_the_pages_own_policy_is_sent_beside_that_of_the_view(tmp_path: Path) -> None:
    meta = """<meta http-equiv="Content-Security-Policy" content="script-src 'nonce-a' https://b.example">"""
    body = f"<head>{meta}<script nonce=a>1</script><iframe srcdoc='<script>2</script>'></iframe>".encode()
    headers = (("Content-Security-Policy", FORBIDS), ("Content-Security-Policy", "script-src 'nonce-a'"))
    record_all(tmp_path, [(f"{MAIN}/", Page(body, headers=headers))])
    view = OfflineView(tmp_path, UUID(int=7), f"{MAIN}/")
    document = view.answer(view.address, "Document")
    html = document.read(document.size).decode()
    own = re.findall(r'<script [^>]*nonce="([0-9a-f]{64})"', html)
    assert len(own) == 2, "the shim, and the map of modules"
    ours = f"'nonce-{own[0]}'"
    policies = document.headers["content-security-policy"].split(", ")
    assert policies[0].endswith("sandbox allow-scripts allow-same-origin")
    assert policies[1:] == [
        f"script-src {ours}; worker-src 'none'; style-src {ours}",
        f"script-src 'nonce-a' {ours}; worker-src 'none'",
    ]
    assert f"content=\"script-src 'nonce-a' 'self' {ours}; worker-src 'self'\"" in html
    assert '<script nonce="a">' in html
    assert f"nonce=&quot;{own[0]}&quot;" in html, "in a document within it as well"


def test_each_frame_of_one_address_shows_what_it_got(tmp_path: Path) -> None:
    frame = f"{MAIN}/frame"
    record_all(
        tmp_path,
        [
            (
                f"{MAIN}/",
                Page(b"<iframe src=/frame></iframe><iframe src='/frame#x'></iframe><iframe src=/one></iframe>"),
            ),
            *((frame, Page(text, loaded_as="Document", initiator=f"{MAIN}/")) for text in (b"<p>1", b"<p>2")),
            (f"{MAIN}/one", Page(b"<p>one", loaded_as="Document")),
        ],
    )
    view = OfflineView(tmp_path, UUID(int=7), f"{MAIN}/")
    origin = view.address.removesuffix("/")

    def shown(path: str) -> str:
        reply = view.answer(origin + path, "Document")
        return reply.read(reply.size).decode()

    addresses = re.findall(r'src="(/[^"]*)"></iframe>', shown("/"))
    assert addresses == [f"/~/1~{frame}", f"/~/2~{frame}#x", "/one"]
    assert ["<p>1" in shown(addresses[0]), "<p>2" in shown(f"/~/2~{frame}"), "<p>2" in shown(f"/~/3~{frame}")] == [
        True
    ] * 3
    assert f"{frame}&quot;" in shown(addresses[0]), "its URL is without the number"

    place = ReplayContext("token", "http://127.0.0.1:8000", "20261122090000")
    reply = reply_to(tmp_path, RecordedRequest(place, f"{MAIN}/"))
    found = re.findall(r'src="/token/([^"]*)"></iframe>', reply.read(reply.size).decode())
    address = read("token", found[1].partition("#")[0])
    assert (address.place, address.shown, address.frame) == (place, frame, 2)
    assert reply_to(tmp_path, RecordedRequest(place, frame, frame=address.frame)).read(1000).count(b"<p>2") == 1


def test_all_web_servers_of_a_collection_remember_the_same_of_a_view(scripted: ScriptedPage, tmp_path: Path) -> None:
    kept = tmp_path / "views" / "view"
    one, other = (ScriptedPage(scripted.folder, PLACE, SharedViewMemory(kept)) for _ in range(2))
    asked = ViewRequest("/events", destination="empty", document="d")
    assert [page.reply(asked).status for page in (one, other)] == [200, 204]
    said = json.dumps({"url": f"{MAIN}/items/2", "document": f"{MAIN}/"}).encode()
    one.reply(ViewRequest("/~/route", "POST", "empty", body=said))
    again = json.dumps({"url": f"{MAIN}/items/3", "document": f"{MAIN}/items/2"}).encode()
    other.reply(ViewRequest("/~/route", "POST", "empty", body=again))
    assert other.reply(ViewRequest("/items/2", destination="iframe")).status == 200
    assert one.reply(ViewRequest("/items/3", destination="iframe")).status == 200
    with ThreadPoolExecutor(4) as pool:
        assert sorted(pool.map(lambda _: SharedViewMemory(kept).count("a"), range(40))) == list(range(40))
    kept.write_bytes(b"x" * (LARGEST + 1))
    assert [SharedViewMemory(kept).count("a") for _ in range(2)] == [0, 1], "what grew too large begins anew"
    forget_others(kept.parent, [])
    assert not kept.exists()
    (tmp_path / "file").touch()
    assert SharedViewMemory(tmp_path / "file" / "view").count("a") == 0, "it is shown all the same"


def test_where_a_page_shows_a_pdf_stands_the_way_to_it(tmp_path: Path) -> None:
    html = (
        b"<iframe src=a.pdf width=300></iframe><embed src=a.pdf id=e type=application/pdf><object data=moved></object>"
    )
    pdf, moved = Page(b"%PDF-1.7", "application/pdf"), Page(status=301, to=f"{MAIN}/a.pdf")
    record_all(
        tmp_path,
        [(f"{MAIN}/", Page(html + b"<embed src=/s.svg>")), (f"{MAIN}/a.pdf", pdf), (f"{MAIN}/moved", moved)],
    )
    place = ReplayContext("token", "http://127.0.0.1:8000", "20261122090000")
    reply = reply_to(tmp_path, RecordedRequest(place, f"{MAIN}/"))
    shown = reply.read(reply.size).decode()
    frames = re.findall(r"<iframe([^>]*)></iframe>", shown)
    assert len(frames) == 3
    assert 'width="300"' in frames[0]
    assert 'id="e"' in frames[1]
    for frame, path in zip(frames, ("a.pdf", "a.pdf", "moved"), strict=True):
        link = f'<a href="{place.address(f"{MAIN}/{path}")}" target="_top">Open the PDF {path}</a>'
        assert link in unescape(frame)
    assert f'<embed src="{place.address(f"{MAIN}/s.svg")}">' in shown
    view = OfflineView(tmp_path, UUID(int=7), f"{MAIN}/")
    scripted = view.answer(view.address, "Document")
    assert "Stop the scripts above, then open it." in scripted.read(scripted.size).decode()


def test_a_stream_is_played_once(scripted: ScriptedPage) -> None:
    asked = ViewRequest("/events", destination="empty", document="d")
    assert [scripted.reply(asked).status for _ in range(3)] == [200, 204, 204]
    assert scripted.reply(ViewRequest("/events", destination="empty", document="e")).status == 200


def test_a_redirected_request_keeps_its_method(scripted: ScriptedPage) -> None:
    reply = scripted.reply(ViewRequest("/moved", "POST", "empty", body=b"x"))
    assert (reply.status, reply.headers["location"]) == (307, "/there")


def test_an_address_that_a_script_made_shows_its_document_when_it_is_loaded_again(scripted: ScriptedPage) -> None:
    deep = ViewRequest("/items/2", destination="iframe")
    assert scripted.reply(deep).status == 404
    said = json.dumps({"url": f"{MAIN}/items/2", "document": f"{MAIN}/"}).encode()
    assert scripted.reply(ViewRequest("/~/route", "POST", "empty", body=said)).status == 204
    assert scripted.reply(deep).status == 200
    assert scripted.reply(ViewRequest("/items/2", destination="empty")).status == 404, "only as a document"
    elsewhere = json.dumps({"url": "https://b.example/x", "document": f"{MAIN}/"}).encode()
    scripted.reply(ViewRequest("/~/route", "POST", "empty", body=elsewhere))
    assert scripted.reply(ViewRequest("/~/https://b.example/x", destination="iframe")).status == 404


def test_a_browser_without_a_network_gets_what_the_listener_would_send(scripted: ScriptedPage) -> None:
    view = OfflineView(scripted.folder, UUID(int=7), f"{MAIN}/")
    document = view.answer(view.address, "Document")
    assert b'<script src="/~/shim.js"' in document.read(document.size)
    assert document.headers["content-security-policy"].endswith("sandbox allow-scripts allow-same-origin")
    origin = view.address.removesuffix("/")
    asked = {"Archived-Document": "d"}
    assert [view.answer(f"{origin}/events", "Fetch", headers=asked).status for _ in range(2)] == [200, 204]
    assert view.answer(f"{origin}/moved", "XHR", "POST", body=b"x").headers["location"] == "/there"
    assert view.answer(f"{origin}/~/violations", "CSPViolationReport", "POST").status == 204
    assert view.violation_count == 1
    shim = view.answer(f"{origin}/~/shim.js", "Script")
    assert "script-src 'none'" in shim.headers["content-security-policy"]


@pytest.mark.parametrize("target", ["/~/", "/~/x", "/~/violations", "/~/route"])
def test_nothing_else_is_answered(scripted: ScriptedPage, target: str) -> None:
    with pytest.raises(ForbiddenError):
        scripted.reply(ViewRequest(target))


def test_messages_of_sockets_are_told_apart(tmp_path: Path) -> None:
    (tmp_path / "responses").mkdir()
    url = "wss://a.example/s"
    lines = [
        {"event": "opened", "url": url, "socket": 1},
        {"event": "opened", "url": url, "socket": 2},
        {"event": "sent", "url": url, "socket": 2, "text": "b"},
        {"event": "received", "url": url, "socket": 1, "base64": "AA=="},
        {"event": "closed", "url": url, "socket": 1},
        {"event": "received", "url": "wss://b.example/", "socket": 3, "text": "other"},
    ]
    (tmp_path / "responses" / "sockets.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    first, second = sockets_to(tmp_path, url)
    assert (first.messages, first.is_closed) == ([["received", "base64", "AA=="]], True)
    assert (second.messages, second.is_closed) == ([["sent", "text", "b"]], False)
    assert sockets_to(tmp_path / "none", url) == []


def test_only_the_app_frames_a_view_and_only_documents_and_workers_run() -> None:
    host = f"v-{LABEL}.localhost:8001"
    running = view_policy(host, "text/html", scripts=True, is_clean=True)
    assert "frame-ancestors 'self' http://localhost:* http://127.0.0.1:*;" in running
    assert "form-action 'none'" in running
    assert "https:" not in running
    still = view_policy(host, "image/svg+xml", scripts=False, is_clean=False)
    assert "script-src 'none'; connect-src 'none'; worker-src 'none'" in still
    assert still.endswith("; sandbox")
    assert "sandbox" not in view_policy(host, "application/pdf", scripts=False, is_clean=False)
